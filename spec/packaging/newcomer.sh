#!/bin/sh
# newcomer.sh DIRECTORY [SOURCE]: the steps of a new user in a fresh clone and with an empty environment: demo, WITH_TESTS=1 make test,
# installation, simulator, first calls, a script of one's own, the proxy by curl, the rock from the source archive,
# removal. It prints each step with its seconds and ends with the first that fails.
set -eu
directory=$1
source=${2:-$(cd "$(dirname "$0")/../.." && pwd)}
rm -rf "$directory"
mkdir -p "$directory/home"
chmod 700 "$directory"
exec </dev/null
clean() { env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME="$directory/home" LANG=C.UTF-8 \
  XDG_RUNTIME_DIR="$directory/home" "$@"; }

begun=0
step() {
  begun=$(date +%s)
  what=$1
}
done_with() { # what was printed, what it must hold
  case $1 in
    *"$2"*) printf '%-34s %3d s\n' "$what" "$(($(date +%s) - begun))" ;;
    *) printf 'FAILED: %s\n%s\n(wanted: %s)\n' "$what" "$1" "$2"; exit 1 ;;
  esac
}

step "clone"
git clone -q "$source" "$directory/fleet"
cd "$directory/fleet"
done_with "$(ls)" "README.md"

step "make demo"
done_with "$(clean make demo 2>&1)" "signed horn:           done (signed"

if [ "${WITH_TESTS:-}" ]; then
  lua=$(readlink /etc/alternatives/lua-interpreter || true)
  step "make test"
  output=$(clean make test 2>&1) || { printf '%s\n' "$output"; exit 1; }
  done_with "$output" "all specs: "
  printf '%s\n' "$output" | sed -n '/^Specs that wait/,$p'
  step "nothing else has changed"
  services=$(find /etc/systemd/system -path '*multi-user.target.wants/*' | grep -E 'nginx|haproxy|redis|mosquitto' || true)
  done_with "lua $(readlink /etc/alternatives/lua-interpreter), services: $services." "lua ${lua:-/usr/bin/lua5.4}, services: ."
fi

step "make install"
prefix=$directory/prefix
clean make -s install PREFIX="$prefix" >"$directory/log" 2>&1 || { cat "$directory/log"; exit 1; }
done_with "$(ls "$prefix/bin")" "fleet"
fleet() { clean $shell "$prefix/bin/fleet" "$@" 2>&1; }
shell=

step "fleet sim --env"
eval_lines=$(fleet sim --env)
names=$(printf '%s\n' "$eval_lines" | sed -n 's/^export \([A-Z_]*\)=.*/\1/p')
eval "$eval_lines"
for name in $names; do eval "shell=\"\$shell $name=\$$name\""; done
shell="env $shell"
trap 'fleet sim stop >/dev/null || true' EXIT
done_with "$names" "FLEET_BASE_URL"

step "fleet vehicles"
done_with "$(fleet vehicles)" "online"

step "fleet honk_horn"
done_with "$(fleet honk_horn 000001)" "done (signed)"

step "fleet setup keeps no simulator"
done_with "$(fleet setup --yes --paste --app third_party --domain app.example.com --regions na || true)" "points at a simulator"

step "the first script of the README"
sed -n '/^```lua$/,/^```$/p' README.md | sed '/^```/d' >"$directory/script.lua"
lua_paths="LUA_PATH=$prefix/share/lua/5.4/?.lua;$prefix/share/lua/5.4/?/init.lua;; LUA_CPATH=$prefix/lib/lua/5.4/?.so;;"
done_with "$(clean $shell $lua_paths lua5.4 "$directory/script.lua" 2>&1)" "online"

step "the proxy by curl"
socket=$directory/home/proxy.sock
clean $shell sh -c 'echo $$ >"$0"; exec "$@"' "$directory/pid" "$prefix/bin/fleet" proxy --listen "unix:$socket" >"$directory/proxy" 2>&1 &
tries=0
until [ -s "$directory/proxy" ] || [ $tries = 300 ]; do tries=$((tries + 1)); sleep 0.1; done
vin=$(fleet vehicles --json | sed -n 's/.*"vin":"\([A-Z0-9]*000001\)".*/\1/p')
answer=$(clean curl -s --unix-socket "$socket" -H 'Content-Type: application/json' -d '{}' \
  "http://localhost/api/1/vehicles/$vin/command/flash_lights" || cat "$directory/proxy")
kill "$(cat "$directory/pid")"
wait
done_with "$answer" '"result":true'

step "luarocks from the archive"
command -v luarocks >/dev/null || clean sh spec/support/harness/deps.sh luarocks >/dev/null
clean make -s dist >/dev/null
mkdir -p "$directory/rock" && cp fleet-*-1.rockspec "$directory/rock" && rm -f "$directory/rock/fleet-scm-1.rockspec"
mkdir -p "$directory/rock/build/dist" && cp build/dist/*.tar.gz "$directory/rock/build/dist"
cd "$directory/rock"
clean luarocks --lua-version 5.4 install --deps-mode none --tree "$directory/tree" fleet-*-1.rockspec >"$directory/log" 2>&1 || true
done_with "$(clean "$directory/tree/bin/fleet" version 2>&1; tail -n 3 "$directory/log")" "fleet  "

step "make uninstall leaves nothing"
cd "$directory/fleet"
fleet sim stop >/dev/null
trap - EXIT
clean make -s uninstall PREFIX="$prefix"
done_with "left: $(find "$prefix" -type f)" "left: "
[ -z "$(find "$prefix" -type f)" ] || { echo "FAILED: files are left"; find "$prefix" -type f; exit 1; }
echo "a newcomer got through"
