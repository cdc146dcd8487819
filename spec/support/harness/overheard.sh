#!/bin/sh
# overheard.sh FILE COMMAND …: runs the specs and copies into FILE what they print, and every process that they start. A word
# "canary" in it is a secret that was shown: the specs give every secret that word.
out=$1
shift
unset MAKEFLAGS MFLAGS MAKELEVEL # a spec that runs make is no part of this one
# What a shell of `fleet sim --env` sets belongs to its user, not to the specs.
unset FLEET_BASE_URL FLEET_AUTH_URL FLEET_TOKEN_URL FLEET_PROXY_URL FLEET_CLIENT_ID FLEET_CLIENT_SECRET FLEET_REDIRECT_URI FLEET_KEY \
  FLEET_STORE FLEET_TOKEN FLEET_DOMAIN FLEET_REGION FLEET_CA_FILE FLEET_TIMEOUT FLEET_SIM_CONTROL FLEET_SIM_DIRECTORY FLEET_SIM_TOKEN \
  FLEET_VEHICLE_CA
run() {
  { "$@" 2>&1; echo $? >"$out.status"; } | tee "$out"
}

# The same command, where LeakSanitizer does not look into the storage of threads.
run_without_threads() {
  for word; do
    shift
    case $word in LSAN_OPTIONS=*) word=$word:use_tls=0 ;; esac
    set -- "$@" "$word"
  done
  run "$@"
}

run "$@"
# LeakSanitizer itself now and then fails over the storage of a thread, and then has looked at nothing.
for attempt in run run_without_threads; do
  grep -q "LeakSanitizer has encountered a fatal error" "$out" || break
  $attempt "$@"
done
if grep -i -q canary "$out"; then
  echo "A secret was printed, or a spec about one failed: see $out" >&2
  exit 1
fi
exit "$(cat "$out.status")"
