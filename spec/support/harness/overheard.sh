#!/bin/sh
# overheard.sh FILE COMMAND …: runs the specs and copies into FILE what they print, and every process that they start. A word
# "canary" in it is a secret that was shown: the specs give every secret that word.
out=$1
shift
unset MAKEFLAGS MFLAGS MAKELEVEL # a spec that runs make is no part of this one
{ "$@" 2>&1; echo $? >"$out.status"; } | tee "$out"
if grep -i -q canary "$out"; then
  echo "A secret was printed, or a spec about one failed: see $out" >&2
  exit 1
fi
exit "$(cat "$out.status")"
