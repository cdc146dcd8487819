local core = require "fleet.core"
local probe = require "probe_signing"
local process = require "spec.support.harness.process"

local VIN = "5YJ30123456789ABC"

local function run(command)
  local pipe = assert(io.popen("(" .. command .. ") 2>&1"))
  local text = pipe:read("a")
  return text, pipe:close()
end

local function lines(path)
  local list = {}
  for line in io.lines(path) do list[#list + 1] = line end
  return list
end

describe("the message definitions", function()
  -- package.Message.field -> { type, number, label } of our .proto files
  local function definitions()
    local found, files = {}, run("ls src/signing/wire/proto/*.proto")
    for path in files:gmatch("%S+") do
      local package, stack = nil, {}
      for _, line in ipairs(lines(path)) do
        local text = line:gsub("//.*", "")
        package = package or text:match("^package fleet%.([%w.]+);")
        local message = text:match("^%s*message ([%w_]+) {")
        local other = text:match("^%s*enum [%w_]+ {") or text:match("^%s*oneof [%w_]+ {")
        local repeated = text:match("^%s*repeated ") ~= nil
        local kind, name, number = text:gsub("^%s*repeated ", ""):match("^%s*([%w_.]+) ([%w_]+) = (%d+)[^;]*;")
        if message and not text:find("}", 1, true) then
          stack[#stack + 1] = message
        elseif other then
          stack[#stack + 1] = false
        elseif text:match("^%s*}") then
          table.remove(stack)
        elseif kind then
          local parts = { package }
          for _, part in ipairs(stack) do parts[#parts + 1] = part or nil end
          parts[#parts + 1] = name
          found[table.concat(parts, ".")] = { kind:match("[%w_]+$"), tonumber(number), repeated }
        end
      end
    end
    return found
  end

  -- Actions that other clients send and the published messages lack, with their members and values.
  local unpublished = {
    "NavigationRequest", "NavigationSuperchargerRequest", "NavigationGpsRequest", "NavigationWaypointsRequest",
    "UiSetUpcomingCalendarEntries", "BoomboxAction", "AutoStwHeatAction", "StwHeatLevelAction", "NavigationOrder",
  }

  it("are those of the published table, member for member", function()
    local ours, count = definitions(), 0
    for name, member in pairs(ours) do
      for _, message in ipairs(unpublished) do
        local inside = name:find("^CarServer%." .. message .. "%.")
        if inside or name:find("^CarServer%.VehicleAction%.") and member[1] == message then ours[name] = nil end
      end
    end
    for i, line in ipairs(lines("spec/vectors/messages.tsv")) do
      local kind, package, message, field, number, type, label = line:match("^(.-)\t(.-)\t(.-)\t(.-)\t(.-)\t(.-)\t(.-)\t")
      if i > 1 and kind == "field" then
        local name = ("%s.%s.%s"):format(package, message, field)
        assert.is_table(ours[name], name)
        assert.same({ type:match("[%w_]+$"), tonumber(number), label:match("^repeated") ~= nil }, ours[name], name)
        count = count + 1
      end
    end
    assert.is_true(count > 700)
    for _ in pairs(ours) do count = count - 1 end
    assert.equal(0, count)
  end)

  it("and the C made from them belong together", function()
    if run("command -v protoc-c") == "" then return end
    local folder = os.tmpname()
    os.remove(folder)
    run(("mkdir '%s' && cd src/signing/wire/proto && protoc-c --c_out='%s' *.proto"):format(folder, folder))
    for path in run(("cd '%s' && ls"):format(folder)):gmatch("%S+") do
      assert.equal("", (run(("diff '%s/%s' src/signing/wire/proto/%s"):format(folder, path, path))), "run `make proto`")
    end
    run(("rm -r '%s'"):format(folder))
  end)
end)

describe("the module", function()
  it("shows no symbol of its messages", function()
    local names = run("nm -D --defined-only " .. os.getenv("FLEET_BUILD") .. "/lib/fleet/core.so")
    assert.is_nil(names:find("fleet__", 1, true))
    assert.is_nil(names:find("protobuf_c", 1, true))
  end)

  it("plays client and vehicle in the example", function()
    local text = run(process.lua .. " examples/client_and_vehicle.lua")
    assert.matches("vehicle received:%s+set_charge_limit%s+80", text)
    assert.matches("was done:%s+true", text)
    assert.matches("again:%s+nil%s+INVALID_TOKEN_OR_COUNTER", text)
    assert.matches("restart:%s+15%s+true%s+refused", text)
    assert.matches("signed again:%s+true", text)
  end)
end)

describe("the editor's types", function()
  it("name every method of keys, sessions and receivers, and no other", function()
    local text = require "doc.generate.types_signing"
    local internal = {} -- which only the client can use
    for _, method in ipairs { "sign_request", "handshake_request", "read", "prepare", "due", "send", "take" } do internal[method] = true end
    local key = core.key.generate()
    local objects = {
      key = key, session = core.session { key = key, vin = VIN, domain = "infotainment" },
      receiver = core.receiver { key = key, vin = VIN, domain = "infotainment", keys = {} },
    }
    for name, object in pairs(objects) do
      local described, real = {}, {}
      for method in text:gmatch("\nfunction " .. name .. ":([%w_]+)") do described[method] = true end
      for method, value in pairs(getmetatable(object).__index) do
        real[method] = type(value) == "function" and not internal[method] or nil
      end
      assert.same(real, described)
    end
    for call in text:gmatch("\nfunction fleet%.([%w_.]+)") do
      local value = require "fleet"
      for part in call:gmatch("[^.]+") do value = value[part] end
      assert.is_function(value, call)
    end
  end)
end)

describe("session:command", function()
  local key, vehicle, receiver, s

  before_each(function()
    key, vehicle = core.key.generate(), core.key.generate()
    receiver = core.receiver { key = vehicle, vin = VIN, domain = "infotainment", keys = { key:public_bytes() } }
    s = core.session { key = key, vin = VIN, domain = "infotainment" }
    assert(s:accept((receiver:handle(s:handshake()))))
  end)

  it("writes what command, sign and base64 write", function()
    local text, id = assert(s:command("set_charge_limit", { percent = 80 }))
    local reply, payload = receiver:handle(core.unbase64(text))
    assert.equal(core.command("set_charge_limit", { percent = 80 }).payload, payload)
    local answer, answered = s:open(reply)
    assert.same({ "\10\0", id }, { answer, answered })
  end)

  it("takes the options of sign", function()
    local text = assert(s:command("honk_horn", nil, { method = "gcm", encrypt_response = false }))
    local message = core.json_decode(core.message_json("UniversalMessage.RoutableMessage", core.unbase64(text)))
    assert.is_table(message.signature_data.AES_GCM_Personalized_data)
    assert.is_nil(message.flags)
    assert.error_matches(function() s:command("honk_horn", nil, { metod = "gcm" }) end, "unknown option 'metod'")
  end)

  it("raises for the caller's mistakes, before a counter is drawn", function()
    local before = s:counter()
    assert.error_matches(function() s:command("honk_hor") end, "honk_horn")
    assert.error_matches(function() s:command("set_charge_limit", { percent = 400 }) end, "percent")
    assert.error_matches(function() s:command("set_charge_limit", { percnt = 80 }) end, "percent")
    assert.equal(before, s:counter())
  end)

  it("refuses a command of the other domain, of no domain and of no published form, with nothing sent", function()
    for name, kind in pairs { door_lock = "invalid", take_drivenote = "unsupported", remote_boombox = "unsupported" } do
      local text, err, said = s:command(name, name == "take_drivenote" and { note = "x" } or nil)
      assert.same({ nil, kind, "not_sent" }, { text, said, err.outcome })
    end
    assert.is_string(s:command("remote_boombox", { sound = 0 }, { unpublished = true }))
    local fresh = core.session { key = key, vin = VIN, domain = "infotainment" }
    local _, err = fresh:command("honk_horn")
    assert.equal("not_sent", err.outcome)
  end)

  it("keeps separate buffers when a parameter's metatable signs another command in between", function()
    local inner
    local params = setmetatable({}, { __index = function(_, name)
      inner = s:command("set_charge_limit", { percent = 55 })
      return name == "percent" and 80 or nil
    end })
    local text = assert(s:command("set_charge_limit", params))
    for _, case in ipairs { { inner, 55 }, { text, 80 } } do
      local _, payload = receiver:handle(core.unbase64(case[1]))
      local _, values = core.decode_command("infotainment", payload)
      assert.equal(case[2], values.percent)
    end
  end)
end)

describe("sessions and receivers", function()
  local function pair()
    local key, vehicle = core.key.generate(), core.key.generate()
    local s = core.session { key = key, vin = VIN, domain = "infotainment" }
    local r = core.receiver { key = vehicle, vin = VIN, domain = "infotainment", keys = { key:public_bytes() } }
    return s, r
  end

  it("name what is missing when they are made", function()
    for _, make in ipairs { core.session, core.receiver } do
      local ok, text = pcall(make, { vin = VIN, domain = "infotainment", keys = nil })
      assert.is_false(ok)
      assert.matches("option 'key' must be a key: what fleet.key.load or fleet.key.generate gives", text)
    end
  end)

  it("print nothing secret, close twice and are refused when closed", function()
    local s, r = pair()
    assert.equal("fleet.session", tostring(s))
    assert.equal("fleet.receiver", tostring(r))
    s:close() s:close() r:close() r:close()
    assert.equal("fleet.session (closed)", tostring(s))
    assert.equal("fleet.receiver (closed)", tostring(r))
    assert.has_error(function() s:handshake() end)
    assert.has_error(function() r:handle("") end)
    assert.has_error(function() core.session.handshake(r) end)
  end)

  it("close at the end of their block", function()
    if _VERSION < "Lua 5.4" then return pending "to-be-closed variables begin with 5.4" end
    local kept
    do
      local s <close> = pair()
      kept = s
    end
    assert.equal("fleet.session (closed)", tostring(kept))
  end)

  it("of different vehicles share the kept contexts without mixing them up", function()
    local pairs_, honk = {}, core.command("honk_horn").payload
    for i = 1, 100 do
      local s, r = pair()
      assert(s:accept((r:handle(s:handshake()))))
      pairs_[i] = { s, r }
    end
    for _ = 1, 3 do
      for _, p in ipairs(pairs_) do
        assert.equal(honk, select(2, p[2]:handle((p[1]:sign(honk)))))
      end
    end
    for i = 1, 100, 2 do pairs_[i][1]:close() end
    for i = 2, 100, 2 do assert.equal(honk, select(2, pairs_[i][2]:handle((pairs_[i][1]:sign(honk))))) end
  end)

  it("draw nothing twice", function()
    local s, r = pair()
    assert(s:accept((r:handle(s:handshake()))))
    local seen = {}
    for _ = 1, 2000 do
      local m = probe.read((s:sign("x")))
      assert.is_nil(seen[m.uuid])
      assert.is_nil(seen[m.from_address])
      seen[m.uuid], seen[m.from_address] = true, true
    end
  end)
end)

describe("when memory runs out", function()
  it("at any allocation, the call fails and nothing is lost", function()
    local struggle = require("probe_memory").struggle
    local n = 0
    while not struggle(n) do
      n = n + 1
      assert.is_true(n < 500, "never enough")
    end
    assert.is_true(n > 20)
    assert.is_true(struggle(-1))
  end)
end)

describe("a forked child", function()
  it("draws other bytes than its parent", function()
    local fork = require "probe_fork"
    local key = core.key.generate()
    local s = core.session { key = key, vin = VIN, domain = "infotainment" }
    s:handshake() -- the state has drawn in advance by now
    local path = os.tmpname()
    local status = fork(function()
      local file = assert(io.open(path, "w"))
      file:write(probe.read(s:handshake()).uuid)
      file:close()
    end)
    assert.equal(0, status)
    local file = assert(io.open(path))
    local childs = file:read("a")
    file:close()
    os.remove(path)
    assert.equal(16, #childs)
    assert.not_equal(childs, probe.read(s:handshake()).uuid)
  end)
end)

describe("fleet.base64", function()
  -- RFC 4648 section 10
  local rows = { { "", "" }, { "f", "Zg==" }, { "fo", "Zm8=" }, { "foo", "Zm9v" }, { "foob", "Zm9vYg==" }, { "fooba", "Zm9vYmE=" },
    { "foobar", "Zm9vYmFy" }, { "\0\255\254", "AP/+" } }

  it("is RFC 4648, both ways", function()
    for _, row in ipairs(rows) do
      assert.equal(row[2], core.base64(row[1]))
      assert.equal(row[1], core.unbase64(row[2]))
    end
  end)

  it("refuses text that is not canonical", function()
    for _, bad in ipairs { "Zg", "Zg=", "Zh==", "Zg==\n", "Z g=", "Zm9v=", "-_-_", "=", "====" } do
      local bytes, _, kind = core.unbase64(bad)
      assert.is_nil(bytes, bad)
      assert.equal("protocol", kind)
    end
  end)
end)
