# A proxy before a simulator, three thousand connections that say nothing, and one that asks. The proxy stands still until all have
# found their place in the listening queue, or for $2 seconds. Prints how many have, the status of the answer, the most memory of
# the proxy in kB, and its descriptors.
home=$1
fleet() { "$FLEET" "$@"; }
export XDG_RUNTIME_DIR=$home XDG_CONFIG_HOME=$home XDG_STATE_HOME=$home
eval "$(fleet sim --env)" || exit 1
"$FLEET" proxy --listen 127.0.0.1:0 >"$home/first" 2>"$home/err" & proxy=$!
trap 'kill -CONT $proxy; kill $proxy $crowd 2>/dev/null; fleet sim stop >/dev/null' EXIT
until [ -s "$home/first" ]; do sleep 0.05; done
url=$(sed 's/.*"url":"\([^"]*\)".*/\1/' "$home/first")
kill -STOP $proxy
lua5.4 spec/support/servers/silent_crowd.lua "${url##*:}" 3000 "$2" >"$home/crowd" & crowd=$!
until [ -s "$home/crowd" ]; do sleep 0.05; done
kill -CONT $proxy
code=$(curl -s --max-time 60 -o /dev/null -w '%{http_code}' -X POST -H "Authorization: Bearer $(cat "$home/fleet/proxy-secret")" \
  "$url/api/1/vehicles/5YJ3FLEE9RF000001/command/honk_horn")
echo "$(cat "$home/crowd") $code $(sed -n 's/^VmHWM:[^0-9]*\([0-9]*\).*/\1/p' /proc/$proxy/status) $(ls /proc/$proxy/fd | wc -l)"
