#!/bin/sh
# The command line against the simulator: sign in, look, command, fail. Needs `fleet` in PATH (eval "$(make -s env)").
set -eu
work=$(mktemp -d)
trap 'kill "$sim" 2>/dev/null; rm -rf "$work"' EXIT

fleet sim --port 0 >"$work/sim" & sim=$!
until [ -s "$work/sim" ]; do sleep 0.1; done
address() { sed "s/.*\"$1\":\"\([^\"]*\)\".*/\1/" "$work/sim"; }
export FLEET_BASE_URL="$(address base_url)" FLEET_AUTH_URL="$(address auth_url)" FLEET_TOKEN_URL="$(address token_url)"
export FLEET_STORE="$work/store" FLEET_CLIENT_ID=app FLEET_CLIENT_SECRET=secret FLEET_REDIRECT_URI="http://localhost:$((20000 + $$ % 20000))/back"

# A person opens the printed address in a browser; here curl is the browser.
fleet login --scopes openid,offline_access,vehicle_device_data,vehicle_cmds </dev/null >"$work/login" & login=$!
until grep -q 'sign in: ' "$work/login"; do sleep 0.1; done
curl -sL -o /dev/null "$(sed -n 's/^Open this address to sign in: //p' "$work/login")"
wait "$login"
tail -n 1 "$work/login"

fleet vehicles
fleet set_charge_limit 5YJSFLEE9KF000002 percent=70
fleet set_charge_limit 5YJSFLEE9KF000002 percent=70 # nothing changes, and nothing is wrong
fleet vehicle_data 5YJSFLEE9KF000002 endpoints=charge_state --json | grep -o '"charge_limit_soc":[0-9]*'
fleet set_charge_limit 5YJSFLEE9KF000002 percnt=80 || echo "status $?"
