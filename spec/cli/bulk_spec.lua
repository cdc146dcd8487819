-- A vehicle's verb for many vehicles: which ones, what it costs, what becomes of each, and how a run that was stopped goes on.

local cli = require "spec.support.harness.cli"
local core = require "fleet.core"
local support = require "spec.support.fixtures.stores"

local A, B, C = "5YJ3E1EA7KF000001", "5YJYE1EA7KF000002", "5YJ3E1EA7KF000003"
local vehicles = core.json_encode { response = {
  { vin = A, id_s = "1", display_name = "Blue", state = "online" }, { vin = B, id_s = "2", display_name = "Red", state = "online" },
  { vin = C, id_s = "3", display_name = "Green", state = "asleep" },
}, count = 3 }

describe("a verb for many vehicles", function()
  local directory, sent
  before_each(function() directory, sent = support.directory(), {} end)
  after_each(function() support.remove(directory) end)

  local function write(name, text)
    local file = assert(io.open(directory .. "/" .. name, "wb"))
    file:write(text)
    file:close()
    return directory .. "/" .. name
  end

  local function read(name)
    local file = assert(io.open(directory .. "/" .. name, "rb"))
    local text = file:read("a")
    file:close()
    return text
  end

  local done = { status = 200, headers = {}, body = '{"response":{"result":true,"reason":""}}' }
  local refused = { status = 200, headers = {}, body = '{"response":{"result":false,"reason":"disconnected"}}' }
  local broken = { status = 500, headers = {}, body = "" }

  -- answers: VIN -> reply of a command; sent lists the commands in the order of their VINs.
  local function run(words, answers, more)
    local arguments = { "--store", directory .. "/store" }
    for i, word in ipairs(words) do table.insert(arguments, i, word) end
    more = more or {}
    local result = cli.run(arguments, { env = { FLEET_TOKEN = "a-token" }, stdin = more.stdin, new = function(options)
      options.budgets = more.budgets
      options.http = function(request)
        local path = request.url:gsub("^https?://[^/]+", "")
        if path:find("^/api/1/vehicles%?") then return { status = 200, headers = {}, body = vehicles } end
        local vin, command = path:match("vehicles/(%w+)/?(.*)$")
        sent[#sent + 1] = command:gsub("^command/", "") .. " " .. vin .. " " .. (request.body or "")
        table.sort(sent)
        local answer = answers and answers[vin] or done
        if type(answer) == "function" then return answer() end
        return answer
      end
      return require("fleet").new(options)
    end })
    result.lines = {}
    for line in result.out:gmatch("[^\n]+") do result.lines[#result.lines + 1] = core.json_decode(line) end
    table.sort(result.lines, function(a, b) return (a.vin or "~"):sub(-1) < (b.vin or "~"):sub(-1) end)
    return result
  end

  local function outcomes(result)
    local list = {}
    for _, line in ipairs(result.lines) do
      if line.vin then list[#list + 1] = line.vin:sub(-1) .. " " .. line.outcome end
    end
    return table.concat(list, ", ")
  end

  it("goes to all of the account, and prints each in a table", function()
    local result = run { "set_charge_limit", "--all", "percent=80" }
    assert.equal(0, result.status, result.err)
    assert.same({ 'set_charge_limit ' .. A .. ' {"percent":80}', 'set_charge_limit ' .. C .. ' {"percent":80}',
      'set_charge_limit ' .. B .. ' {"percent":80}' }, sent)
    assert.matches("^vin +name +outcome", result.out)
    for _, words in ipairs { A .. "  Blue   done", B .. "  Red    done", C .. "  Green  done" } do
      assert.is_truthy(result.out:find(words, 1, true), result.out)
    end
  end)

  it("goes to the VINs of a file, of standard input, of a state, of a model, and of both", function()
    local file = write("vins", "# mine\n" .. A .. ",Blue\n\n  " .. C .. " # green\r\n" .. A .. "\n")
    local function reaches(words, stdin)
      sent = {}
      local arguments = { "honk_horn", "--json" }
      for _, word in ipairs(words) do arguments[#arguments + 1] = word end
      local result = run(arguments, nil, { stdin = stdin })
      assert.equal(0, result.status, result.err .. result.out)
      return (outcomes(result):gsub(" done", ""))
    end
    assert.equal("1, 3", reaches { "--vins", file })
    assert.equal("2", reaches({ "--vins", "-" }, B .. "\n"))
    assert.equal("1, 2", reaches { "--state", "online" })
    assert.equal("1, 3", reaches { "--model", "m3" })
    assert.equal("1", reaches { "--state", "online", "--model", "m3" })
    assert.equal("3", reaches { "--vins", file, "--state", "asleep" })
    assert.equal("2", reaches({ "--vins", "-", "--model=my" }, A .. "\n" .. B .. "\n"))
  end)

  it("refuses what it cannot take for a choice, before anything is sent", function()
    local file = write("vins", A .. "\nBlue\n")
    for _, case in ipairs {
      { { "honk_horn", "--vins", file }, "line 2: 'Blue' is no VIN", 2 },
      { { "honk_horn", "--state", "onlin" }, "did you mean 'online'", 2 }, { { "honk_horn", "--model", "m4" }, "one of", 2 },
      { { "honk_horn", "--all", "--concurrency", "0" }, "concurrency must be 1 to 256", 2 },
      { { "honk_horn", "--all", A }, "one word too many", 2 }, { { "honk_horn", A, "--csv" }, "is for many vehicles: add --all", 2 },
      { { "products", "--all" }, "is not one of 'products'", 2 }, { { "honk_horn", "--state", "offline" }, "no vehicle fits", 16 },
      { { "set_charge_limit", "--all" }, "needs percent=", 2 }, { { "set_charge_limit", "--all", "percent=200" }, "percent", 2 },
      { { "honk_horn", "--vins", directory .. "/none" }, "No such file", 2 },
    } do
      local result = run(case[1])
      assert.equal(case[3], result.status, table.concat(case[1], " ") .. ": " .. result.err)
      assert.is_truthy(result.err:find(case[2], 1, true), result.err)
    end
    assert.same({}, sent)
  end)

  it("ends with the status of the worst outcome, and prints each as a line of JSON", function()
    local result = run({ "charge_start", "--all", "--json" }, { [A] = refused, [B] = broken })
    assert.equal("1 refused, 2 unknown, 3 done", outcomes(result))
    assert.equal("disconnected", result.lines[1].reason)
    local last = result.lines[#result.lines]
    assert.equal("charge_start: 3 vehicles: 1 unknown, 1 refused, 1 done", last.message)
    assert.equal("unknown", last.outcome)
    local exits = {}
    for _, kind in ipairs(core.kinds()) do exits[kind.name] = kind.exit end
    assert.equal(exits.service, result.status)
    assert.equal(exits.refused, run({ "charge_start", "--all", "--json" }, { [A] = refused }).status)
  end)

  it("prints each as a line of CSV", function()
    local result = run({ "charge_start", "--vins", "-", "--csv" }, { [A] = refused }, { stdin = A .. "\n" })
    assert.equal("vin,name,outcome,changed,reason,kind,message\r\n" .. A .. ",,refused,,disconnected,refused,"
      .. "charge_start: refused: disconnected. No charger is connected: plug in the cable first.\r\n", result.out)
  end)

  it("gives what a read returns", function()
    local result = run({ "info", "--all", "--json" }, {
      [A] = { status = 200, headers = {}, body = '{"response":{"vin":"x","state":"online"}}' },
      [B] = { status = 404, headers = {}, body = "{}" }, [C] = { status = 200, headers = {}, body = '{"response":{"state":"asleep"}}' },
    })
    assert.equal("1 done, 2 failed, 3 done", outcomes(result))
    assert.equal("asleep", result.lines[3].value.state)
  end)

  it("prints what it would cost, and sends nothing", function()
    local budgets = { per_day = { command = 2 }, usd_per_month = 9 }
    local result = run({ "set_charge_limit", "--all", "percent=80", "--dry-run" }, nil, { budgets = budgets })
    assert.equal(0, result.status, result.err)
    assert.same({}, sent)
    assert.equal("set_charge_limit for 3 vehicles: 0.003 USD; spent this month: 0.002 USD; "
      .. "beyond the budget per_day.command (2 calls left)\n", result.out)
    local json = run({ "wake_up", "--all", "--dry-run", "--json" }).json
    assert.same({ wake = 3 }, json.calls)
    assert.near(0.06, json.usd, 1e-12)
    assert.same({}, json.beyond)
    local woken = run({ "honk_horn", "--vins", "-", "--wake", "--dry-run", "--json" }, nil, { stdin = A }).json
    assert.near(0.001, woken.usd, 1e-12)
    assert.near(0.022, woken.usd_at_most, 1e-12)
  end)

  it("names each budget that would stop it, of the account and of a vehicle, and those that wakes may go beyond", function()
    local function tried(budgets, ...)
      return run({ "honk_horn", "--all", "--dry-run", ... }, nil, { budgets = budgets })
    end
    assert.matches("; beyond the budget usd_per_day %(0.002 USD left%)\n$", tried({ usd_per_day = 0.004 }).out)
    assert.matches("; beyond the budget per_vehicle_day.command %(0 calls left%)\n$", tried({ per_vehicle_day = { command = 0 } }).out)
    assert.matches("; beyond the budget per_month.command %(2 calls left%)\n$", tried({ per_month = { command = 2 } }).out)
    assert.matches("; handshakes and wakes may go beyond the budget usd_per_day %(0.012 USD left%)\n$",
      tried({ usd_per_day = 0.02 }, "--wake").out) -- each run lists the account's vehicles for 0.002
    assert.matches("; handshakes and wakes may go beyond the budget per_vehicle_month.wake %(0 calls left%)\n$",
      tried({ per_vehicle_month = { wake = 0 } }, "--wake").out)
    local found = tried({ usd_per_day = 0.03, per_day = { command = 1 } }, "--wake", "--json").json
    assert.same({ { "per_day.command" }, { "usd_per_day" } }, { found.beyond, found.may_go_beyond })
    assert.same({ usd_per_day = 0.018, ["per_day.command"] = 1 }, found.left)
    assert.is_nil(tried({ usd_per_day = 9, per_vehicle_day = { command = 5 } }, "--wake").out:find("beyond"))
  end)

  it("resumes a stopped run: what is done is left out, what is unknown is reported and not repeated", function()
    local path = directory .. "/run"
    local first = run({ "honk_horn", "--all", "--json", "--resume", path }, { [A] = broken, [B] = refused })
    assert.equal("1 unknown, 2 refused, 3 done", outcomes(first))
    sent = {}
    local second = run { "honk_horn", "--all", "--json", "--resume", path }
    assert.equal("1 unknown, 2 done", outcomes(second))
    assert.is_true(second.lines[1].earlier)
    assert.matches("not repeated", second.lines[1].message)
    assert.same({ "honk_horn " .. B .. " {}" }, sent)
    sent = {}
    assert.equal("1 unknown", outcomes(run { "honk_horn", "--all", "--json", "--resume", path }))
    assert.same({}, sent)
    assert.matches("for 0 vehicles", run({ "honk_horn", "--all", "--resume", path, "--dry-run" }).out)
  end)

  it("takes a call whose run died for unknown, also where the last line is cut", function()
    local path = directory .. "/run"
    run { "honk_horn", "--vins", write("one", C), "--resume", path }
    write("run", read("run") .. '{"vin":"' .. A .. '"}\n{"vin":"' .. B)
    sent = {}
    local result = run { "honk_horn", "--all", "--json", "--resume", path }
    assert.equal("1 unknown, 2 done", outcomes(result))
    assert.same({ "honk_horn " .. B .. " {}" }, sent)
    assert.equal("1 unknown", outcomes(run { "honk_horn", "--all", "--json", "--resume", path }))
  end)

  it("resumes when the very first line was cut", function()
    local path = directory .. "/run"
    write("run", '{"args":"{}","ru')
    run { "honk_horn", "--vins", write("one", C), "--resume", path }
    sent = {}
    assert.equal("1 done, 2 done", outcomes(run { "honk_horn", "--all", "--json", "--resume", path }))
    assert.equal(2, #sent)
  end)

  it("does not go on with a record that another run is at work on", function()
    local path = directory .. "/run"
    run { "honk_horn", "--vins", write("one", C), "--resume", path }
    local store = assert(require("fleet").store.file(directory .. "/store"))
    local lease = assert(store:lease("bulk/" .. core.sha256(core.real_path(path)), 60))
    sent = {}
    local result = run { "honk_horn", "--all", "--resume", path }
    assert.equal(2, result.status)
    assert.matches("another run is at work on", result.err)
    assert.same({}, sent)
    lease:release()
    store:close()
    assert.equal(2, run({ "charge_start", "--all", "--resume", path }).status)
    assert.equal("1 done, 2 done", outcomes(run { "honk_horn", "--all", "--json", "--resume", path }))
  end)

  it("does not take the record of another run for its own, and writes no secret into one", function()
    local path = directory .. "/run"
    run { "set_charge_limit", "--all", "percent=80", "--resume", path }
    sent = {}
    local result = run { "set_charge_limit", "--all", "percent=90", "--resume", path }
    assert.equal(2, result.status)
    assert.matches("is the record of another run: of 'set_charge_limit' {\"percent\":80}", result.err)
    assert.equal(2, run({ "honk_horn", "--all", "--resume", path }).status)
    assert.same({}, sent)
    run { "speed_limit_activate", "--all", "pin=@" .. write("pin", "4711"), "--resume", directory .. "/secret" }
    assert.is_nil(read("secret"):find("4711", 1, true))
    assert.equal(3, #sent)
  end)

  it("is known to help and completion", function()
    local help = cli.run({ "help", "honk_horn" }).out
    for _, option in ipairs { "--all", "--vins FILE", "--state", "--model", "--dry-run", "--resume FILE", "--csv", "--concurrency" } do
      assert.is_truthy(help:find(option, 1, true), option)
    end
    assert.is_nil(cli.run({ "help", "products" }).out:find("--vins", 1, true))
    local after = require("fleet.cli.completion").after(require("fleet.cli.verbs").by_name.honk_horn)
    local words = table.concat(after.words, " ") .. " " .. table.concat(after.choices, " ")
    for _, word in ipairs { "--all", "--vins", "--state=online", "--model=m3", "--dry-run" } do
      assert.is_truthy(words:find(word, 1, true), word)
    end
  end)
end)
