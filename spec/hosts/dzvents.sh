# A simulator, two proxies before it (loopback with a secret, a Unix socket), and events of a host like dzVents. Prints what each
# event's script said.
home=$1 vin=5YJ3FLEE9RF000001
fleet() { "$FLEET" "$@"; }
export XDG_RUNTIME_DIR=$home XDG_CONFIG_HOME=$home XDG_STATE_HOME=$home
eval "$(fleet sim --env)" || exit 1
"$FLEET" proxy --listen 127.0.0.1:0 >"$home/first" 2>"$home/err" & proxy=$!
"$FLEET" proxy >"$home/second" 2>"$home/err2" & second=$!
trap 'kill $proxy $second 2>/dev/null; fleet sim stop >/dev/null' EXIT
tries=0
until [ -s "$home/first" ] && [ -s "$home/second" ]; do sleep 0.05; tries=$((tries+1)); [ $tries -lt 400 ] || { cat "$home"/err*; exit 1; }; done
export fleet_proxy=$(sed 's/.*"url":"\([^"]*\)".*/\1/' "$home/first")
export fleet_secret=$(cat "$home/fleet/proxy-secret") fleet_vin=$vin

event() { lua5.4 spec/hosts/dzvents.lua "$@"; }
# One event of a device, the host's call, and the event of the reply.
charging() {
  words=$(event examples/hosts/dzvents.lua device "$1" | sed -n 's/^open //p')
  eval "curl -s -i -m 20 $words" >"$home/reply"
  event examples/hosts/dzvents.lua response "$home/reply"
}

fleet --vin $vin wake >/dev/null 2>&1
echo "on: $(charging On)"
echo "off: $(charging Off)"
echo "off again: $(charging Off)"
fleet_secret=wrong; echo "wrong secret: $(charging On)"

# A host whose sandbox has os.execute reaches the Unix socket by curl, in the background: it has no time to wait.
cat >"$home/socket.lua" <<'S'
return { on = {}, execute = function(domoticz)
  os.execute("curl -s -m 20 --unix-socket " .. os.getenv "XDG_RUNTIME_DIR" .. "/fleet-proxy.sock -o " .. os.getenv "XDG_RUNTIME_DIR"
    .. "/horn -X POST http://localhost/api/1/vehicles/" .. domoticz.variables("fleet_vin").value .. "/command/honk_horn &")
  domoticz.log "asked"
end }
S
echo "socket: $(event "$home/socket.lua" device On)"
tries=0; until [ -s "$home/horn" ] || [ $tries -ge 200 ]; do sleep 0.1; tries=$((tries+1)); done
echo "horn: $(cat "$home/horn")"

echo 'return { execute = function() require "fleet" end }' >"$home/module.lua"
echo "module: $(event "$home/module.lua" device On)"
echo 'return { execute = function() while true do end end }' >"$home/slow.lua"
echo "slow: $(event "$home/slow.lua" device On)"
