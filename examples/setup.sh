#!/bin/sh
# `fleet setup` against the simulator, unattended: from nothing to a first read. Needs `fleet` in PATH (eval "$(make -s env)").
set -eu
work=$(mktemp -d)
trap 'kill "$sim" 2>/dev/null; rm -rf "$work"' EXIT

fleet sim --port 0 >"$work/sim" & sim=$!
until [ -s "$work/sim" ]; do sleep 0.1; done
address() { sed "s/.*\"$1\":\"\([^\"]*\)\".*/\1/" "$work/sim"; }
export FLEET_BASE_URL="$(address base_url)" FLEET_AUTH_URL="$(address auth_url)" FLEET_TOKEN_URL="$(address token_url)"
export XDG_CONFIG_HOME="$work/config" XDG_STATE_HOME="$work/state" FLEET_CLIENT_ID=app FLEET_CLIENT_SECRET=secret
export FLEET_REDIRECT_URI="http://localhost:$((20000 + $$ % 20000))/back"

# A person opens the printed address in a browser; here curl is the browser.
fleet setup --yes --app third_party </dev/null >"$work/setup" & setup=$!
until grep -q 'sign in: ' "$work/setup"; do sleep 0.1; done
curl -sL -o /dev/null "$(sed -n 's/^Open this address to sign in: //p' "$work/setup")"
wait "$setup"
cat "$work/setup"

fleet doctor || echo "status $?" # what is left to do, line by line
