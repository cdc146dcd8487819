#!/bin/sh
# The signing proxy before a simulated vehicle: commands by curl, over a Unix socket and over TCP. Needs `fleet` in PATH
# (eval "$(make -s env)").
set -eu
eval "$(fleet sim --env)"
work=$(mktemp -d)
export XDG_RUNTIME_DIR="$work" XDG_STATE_HOME="$work"
fleet proxy >"$work/local" & local=$!
fleet proxy --listen 127.0.0.1:0 --audit "$work/audit" >"$work/tcp" & tcp=$!
trap 'kill $local $tcp; fleet sim stop >/dev/null; rm -rf "$work"' EXIT
until [ -s "$work/local" ] && [ -s "$work/tcp" ]; do sleep 0.1; done

vehicle=/api/1/vehicles/5YJ3FLEE9RF000001
curl -s --unix-socket "$XDG_RUNTIME_DIR/fleet-proxy.sock" -X POST "http://localhost$vehicle/command/honk_horn"
echo

url=$(sed 's/.*"url":"\([^"]*\)".*/\1/' "$work/tcp")
curl -s -o /dev/null -w 'without the secret: %{http_code}\n' -X POST "$url$vehicle/command/honk_horn"
secret=$(cat "$work/fleet/proxy-secret")
curl -s -H "Authorization: Bearer $secret" -H "Content-Type: application/json" -d '{"percent":70}' "$url$vehicle/command/set_charge_limit"
echo
for again in 1 2; do # the second is not sent: it gets the first one's result
  curl -s -H "Authorization: Bearer $secret" -H "Idempotency-Key: monday" -X POST "$url$vehicle/command/honk_horn"
  echo
done
cat "$work/audit"
