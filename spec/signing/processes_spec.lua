-- Eight processes, one vehicle, one directory: counters never collide, nothing runs twice, and the security domain keeps
-- its order. The vehicle, in a process of its own, wrote down what reached it.

local core = require "fleet.core"
local fleet = require "fleet"
local process = require "spec.support.harness.process"
local stores = require "spec.support.fixtures.stores"
local browser = require "fleet.sim.test_browser"

local VIN = "5YJ3FLEE9RF000001"

local function hex(bytes)
  return (bytes:gsub(".", function(c) return ("%02x"):format(c:byte()) end))
end

local write = require("spec.support.harness.files").write

-- In a child: the vehicle of the simulator in `...`.
local prelude = [[
  local fleet = require "fleet"
  local url, token, key, directory, vin = ...
  local client = assert(fleet.new {
    base_url = url, token = token, key = key, store = assert(fleet.store.file(directory)), timeout = 120, commands = "signed",
  })
  local car = client:vehicle(vin)
]]

describe("one vehicle, several processes", function()
  local directory, pipe, pid, arguments

  local function sign_in(addresses)
    local client = fleet.new {
      base_url = addresses.base_url, auth_url = addresses.auth_url, token_url = addresses.token_url, client_id = "c",
      client_secret = "s", redirect_uri = "http://localhost:8000/callback", scopes = { "openid", "vehicle_cmds" },
      store = "file:" .. directory .. "/tokens",
    }
    local address, pending = client:authorize_url()
    assert(client:authorize(assert(browser.consent(address)), pending))
    client:close()
    local store = assert(fleet.store.file(directory .. "/tokens"))
    return core.json_decode((store:get "token/default/user")).access_token
  end

  before_each(function()
    directory = stores.directory()
    local key = fleet.key.generate()
    assert(key:save(directory .. "/key.pem"))
    write(directory .. "/garage.json", core.json_encode {
      vehicles = { { vin = VIN, keys = { hex(key:public_bytes()) } } },
    })
    pipe = io.popen(("echo $$; exec " .. process.lua .. " lua/fleet/cli/fleet sim --port 0 --garage %s --log %s"):format(
      process.quote(directory .. "/garage.json"), process.quote(directory .. "/log")))
    pid = pipe:read("l")
    local addresses = assert(core.json_decode(pipe:read("l") or ""), "the simulator did not start")
    arguments = { addresses.base_url, sign_in(addresses), directory .. "/key.pem", directory .. "/store", VIN }
  end)
  after_each(function()
    os.execute("kill " .. pid)
    pipe:close()
    stores.remove(directory)
  end)

  -- What reached the vehicle, in order: { accepted =, domain =, counter =, fault = }.
  local function arrived()
    local list = {}
    for line in io.lines(directory .. "/log") do
      local entry = core.json_decode(line)
      if entry.signed then list[#list + 1] = entry.signed end
    end
    return list
  end

  local function count(list, name, value)
    local n = 0
    for _, entry in ipairs(list) do
      if entry[name] == value then n = n + 1 end
    end
    return n
  end

  local function assert_sound(list)
    local used, last = {}, 0
    for _, entry in ipairs(list) do
      assert.is_nil(entry.fault)
      if entry.counter then
        local mark = entry.domain .. entry.counter
        assert.is_nil(used[mark], mark .. " was used twice")
        used[mark] = true
        if entry.domain == "vehicle_security" then
          assert.is_true(entry.counter > last)
          last = entry.counter
        end
      end
    end
  end

  it("use every counter once, in order where order matters", function()
    local outputs = stores.processes(8, prelude .. [[
      local done = 0
      local function work(first, second)
        for i = 1, 6 do
          assert(car[i % 2 == 0 and first or second](car))
          done = done + 1
        end
      end
      fleet.run(function()
        local tasks = { fleet.spawn(work, "door_lock", "door_unlock"), fleet.spawn(work, "flash_lights", "honk_horn"),
          fleet.spawn(work, "honk_horn", "flash_lights") }
        for _, task in ipairs(tasks) do task:wait() end
      end)
      client:close()
      io.write(done, "\n")
    ]], arguments)
    assert.equal(("18\n"):rep(8), table.concat(outputs))
    local list = arrived()
    assert_sound(list)
    assert.equal(8 * 12, count(list, "accepted", "honk_horn") + count(list, "accepted", "flash_lights"))
    assert.equal(8 * 6, count(list, "accepted", "door_lock") + count(list, "accepted", "door_unlock"))
    assert.equal(2, count(list, "counter", nil)) -- one handshake per domain
  end)

  it("lose nothing when one of them is killed while its command is under way", function()
    local text, ended = stores.process(prelude .. [[
      assert(car:door_lock())
      fleet.spawn(function() car:door_unlock() end)
      for _ = 1, 20 do fleet.loop.step() end
      os.execute("kill -9 $PPID")
    ]], arguments)
    assert.equal("signal 9", ended, text)
    assert.equal("done\n", (stores.process(prelude .. [[
      assert(car:door_lock())
      client:close()
      io.write("done\n")
    ]], arguments)))
    local list = arrived()
    assert_sound(list)
    assert.is_true(count(list, "accepted", "door_unlock") <= 1)
    assert.equal(2, count(list, "accepted", "door_lock"))
    assert.equal(1, count(list, "counter", nil))
  end)
end)
