-- Two proxies on one store, as processes, before vehicles of this one; one of them is killed under load, and its callers ask the
-- other with the same Idempotency-Key. FLEET_KILLS says how often, FLEET_KEYS how many commands each caller sends.
local files = require "spec.support.harness.files"
local process = require "spec.support.harness.process"
local redis = require "spec.support.servers.redis"
local signed_sim = require "spec.support.servers.signed_sim"
local sim_process = require "spec.support.servers.sim_process"

local kills = tonumber(os.getenv("FLEET_KILLS") or 2)
local keys = tonumber(os.getenv("FLEET_KEYS") or 12)
local callers = 4

-- The proxies A and B; killer kills A and starts it again, so often. Each caller goes through its keys; what one proxy does not
-- answer the other is asked.
local script = [[
cd "$directory" || exit 1
trap 'kill -9 $(cat A.pid B.pid) 2>/dev/null' EXIT
start() {
  "$fleet" proxy --listen "unix:$directory/$1.sock" --config "$directory/config.json" >$1.first 2>>$1.err &
  echo $! >$1.pid
  until [ -s $1.first ]; do sleep 0.02; done
}
ask() { curl -s --max-time 30 -o "answer.$2" -D "head.$2" -w '%{http_code}' --unix-socket "$1.sock" -X POST -H "Idempotency-Key: $2" \
  "http://localhost/api/1/vehicles/$3/command/honk_horn"; }
caller() {
  for n in $(seq $keys); do
    key="$1-$n"
    code=$(ask A $key $2)
    while [ "$code" = 000 ] || [ "$code" = "" ]; do code=$(ask B $key $2); done
    outcome=$(sed -n 's/^x-fleet-outcome: \([a-z_]*\).*/\1/p' head.$key)
    echo "$key $code ${outcome:-done}" >>result.$1
  done
}
start A; start B
i=0
for vin in $vins; do i=$((i + 1)); caller $i $vin & loads="$loads $!"; done
for k in $(seq $kills); do
  sleep 0.3
  kill -9 $(cat A.pid)
  [ ! -e after ] || . ./after
  : >A.first
  sleep 0.1
  start A
done
wait $loads
cat result.* >results
kill -9 $(cat A.pid B.pid)
mv results done
]]

local function configure(directory, sim, store, timeout)
  assert(sim.key:save(directory .. "/key.pem"))
  files.write(directory .. "/config.json", require("fleet.core").json_encode {
    base_url = sim.sim.base_url, auth_url = sim.sim.auth_url, token_url = sim.sim.token_url, client_id = "c", client_secret = "s",
    key = directory .. "/key.pem", store = store, timeout = timeout,
  })
  process.execute("chmod 600 " .. process.quote(directory .. "/config.json"))
end

local function run(directory, vins)
  files.write(directory .. "/script", script)
  local line = "export directory=%s fleet=%s keys=%d kills=%d vins=%s; setsid bash %s/script >%s/said 2>&1 &"
  process.execute(line:format(process.quote(directory),
    sim_process.fleet, keys, kills, process.quote(table.concat(vins, " ")), directory, directory))
  signed_sim.wait(function() return files.find(directory .. "/done") ~= nil end, 60 + kills * keys)
end

local function check(directory, ran, least)
  local outcomes, answers = {}, 0
  for key, code, outcome in files.read(directory .. "/done"):gmatch("(%S+) (%d+) (%S+)\n") do
    outcomes[outcome], answers = (outcomes[outcome] or 0) + 1, answers + 1
    assert.is_true(code == "200" or outcome ~= "done", key .. " " .. code)
  end
  assert.equal(callers * keys, answers)
  local done, unknown = outcomes.done or 0, outcomes.unknown or 0
  assert.is_true(ran <= answers, ("%d honks for %d keys"):format(ran, answers))
  assert.is_true(ran >= done and ran <= done + unknown, ("%d honks: %d done, %d unknown"):format(ran, done, unknown))
  assert.is_true(done >= least, ("only %d done"):format(done))
  if os.getenv("FLEET_FIGURES") then print(("%d kills: %d done, %d unknown, %d honks"):format(kills, done, unknown, ran)) end
end

-- place(directory) -> where the store is, and what puts it away; timeout: of a call; least: commands that are done
local function kill_under_load(place, timeout, least)
  local directory = process.temporary("proxy-killed")
  process.execute("chmod 700 " .. process.quote(directory))
  local vins = { signed_sim.VIN, "5YJ3FLEE9RF000002", "5YJ3FLEE9RF000003", "5YJ3FLEE9RF000004" }
  local store, stop = place(directory)
  local sim = signed_sim.start({ table.unpack(vins, 2) }, store)
  sim:fault("slow", 1000000, { seconds = 0.05, row = "signed_command" }) -- so that most are killed on the way
  configure(directory, sim, store, timeout)
  run(directory, vins)
  check(directory, #sim.ran, least)
  sim:close()
  if stop then stop() end
  process.execute("rm -rf " .. process.quote(directory))
end

-- Nobody sees in Redis that the holder of a lease has died: his vehicles are busy until its time is over, that of a call. Here it is at
-- once, also for the proxy that lives and has to notice.
local end_leases = [[
for key in $(redis-cli -s %s --raw keys 'fleet/*'); do
  [ "$(redis-cli -s %s --raw hexists $key o 2>/dev/null)" != 1 ] || redis-cli -s %s hset $key u 0 >/dev/null
done
]]

describe("a proxy that is killed under load", function()
  it("leaves no command done twice, and every caller with an answer", function()
    kill_under_load(function(directory) return directory .. "/store" end, 20, callers * keys - 2 * callers * kills)
  end)

  local missing, name = redis.missing(), "leaves the same where both have their store in Redis"
  if missing then return pending(name .. ": " .. missing) end
  it(name, function()
    kill_under_load(function(directory)
      local server = redis.start { settings = { "appendonly yes", "appendfsync always", "maxmemory-policy noeviction" } }
      files.write(directory .. "/after", (end_leases:gsub("%%s", function() return process.quote(server.path) end)))
      return server.address .. "?settle=0.3", server.stop
    end, 10, callers * keys - 4 * callers * kills)
  end)
end)
