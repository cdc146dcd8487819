# A proxy before a simulator, three thousand connections that say nothing, and one that asks. Prints the status of its answer, the
# seconds until it was connected, the most memory of the proxy in kB, and its descriptors.
home=$1
fleet() { "$FLEET" "$@"; }
export XDG_RUNTIME_DIR=$home XDG_CONFIG_HOME=$home XDG_STATE_HOME=$home
eval "$(fleet sim --env)" || exit 1
"$FLEET" proxy --listen 127.0.0.1:0 >"$home/first" 2>"$home/err" & proxy=$!
trap 'kill $proxy $crowd 2>/dev/null; fleet sim stop >/dev/null' EXIT
until [ -s "$home/first" ]; do sleep 0.05; done
url=$(sed 's/.*"url":"\([^"]*\)".*/\1/' "$home/first")
lua5.4 spec/support/servers/silent_crowd.lua "${url##*:}" 3000 >"$home/crowd" & crowd=$!
until [ -s "$home/crowd" ]; do sleep 0.05; done
code=$(curl -s --max-time 60 -o /dev/null -w '%{http_code} %{time_connect}' -X POST -H "Authorization: Bearer $(cat "$home/fleet/proxy-secret")" \
  "$url/api/1/vehicles/5YJ3FLEE9RF000001/command/honk_horn")
echo "$code $(sed -n 's/^VmHWM:[^0-9]*\([0-9]*\).*/\1/p' /proc/$proxy/status) $(ls /proc/$proxy/fd | wc -l)"
