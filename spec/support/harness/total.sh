#!/bin/sh
# total.sh FOLDER: what the specs waited for, by reason, then the summaries of all processes of busted added up.
sed 's/\x1b\[[0-9;]*m//g' "$1"/* | awk '
  /^[0-9]+ success(es)? \/ / { successes += $1; failures += $4; errors += $7; pending += $10 }
  /^Pending / { getline name; getline message
    reason = message ~ /^[^ ]*busted:[0-9]+: / ? message : name
    if (match(reason, /[A-Za-z0-9._-]+ (is not installed|has no [a-z]+ ?[a-z]*)|no [a-z-]+ here|without [a-z]+$/))
      reason = substr(reason, RSTART, RLENGTH)
    else sub(/.*: /, "", reason)
    waits[reason]++ }
  END {
    if (pending) print "\nSpecs that wait (make test-all installs every program that it can):"
    for (reason in waits) printf "  %3d  %s\n", waits[reason], reason
    printf "\nall specs: %d successes / %d failures / %d errors / %d pending\n", successes, failures, errors, pending
  }'
