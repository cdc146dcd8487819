-- The sample call of a row as a command line. The row has it as Lua; here it is converted to what a person types.

local core = require "fleet.core"
local row_words = require "fleet.cli.row_words"

local M = {}

-- The samples of verbs that are not rows, by name.
local of_verbs = {
  status = "status", help = "help set_charge_limit", explain = "explain key_not_paired", version = "version --verbose",
  endpoints = "endpoints --json", commands = "commands", setup = "setup", login = "login", ["token.info"] = "token info",
  refresh = "refresh", keep_alive = "keep_alive", business_login = "business_login --scopes vehicle_device_data",
  region = "region --discover", keygen = "keygen fleet-key.pem", jws = "jws @claims.json", pair = "pair 000001 --wait 300",
  doctor = "doctor 000001", sim = "sim --port 0", ["sim.event"] = "sim event plug 000001", ["sim.fault"] = "sim fault asleep:2",
  ["sim.advance"] = "sim advance 3600", ["sim.set"] = "sim set 000001 charge_state.battery_level=20", ["sim.stop"] = "sim stop",
  ["sim.list"] = "sim list", logout = "logout", locate = "locate 000001",
  navigate = "navigate 000001 'Main Street 1, Springfield'", signed_data = "signed_data 000001 charge climate",
  keys = "keys 000001", body_controller_state = "body_controller_state 000001",
  signed_nearby_charging_sites = "signed_nearby_charging_sites 000001 count=3",
  wait_until = "wait_until 000001 charge_state.charging_state=Complete",
  wake = "wake 000001 --timeout 90", ["tariff.check"] = "tariff check tariff.json", ["tariff.show"] = "tariff show tariff.json",
  ["tariff.plot"] = "tariff plot tariff.json --output tariff.svg", ["tariff.diff"] = "tariff diff old.json new.json",
  chart = "chart 1234567890 month=2026-10 --output october.svg", cost = "cost --month 2026-10", run = "run automations.lua",
  ["telemetry.serve"] = "telemetry serve", ["telemetry.watch"] = "telemetry watch 000001",
  ["telemetry.setup"] = "telemetry setup 000001 --host car.example.com --template charging",
  ["telemetry.check"] = "telemetry check", ["telemetry.certificate"] = "telemetry certificate car.example.com",
  ["telemetry.cost"] = "telemetry cost charging", ["telemetry.errors"] = "telemetry errors 000001",
  ["telemetry.decode"] = "telemetry decode message.bin", ["telemetry.plot"] = "telemetry plot records.jsonl --output drive.svg",
  mqtt = "mqtt --broker mqtt://localhost", proxy = "proxy", completion = "completion zsh",
}

--- The sample command line of a verb that is not a row.
function M.of_verb(verb)
  return "fleet " .. of_verbs[verb.name]
end

M.vin, M.site = "5YJ3E1EA7KF000001", "1234567890"

-- The arguments of the sample call. Running its text is safe: it comes from our own tables.
local function arguments_of(row)
  return { assert(load("return " .. row.example, "=" .. row.name, "t", {}))() }
end

local function text_of(param, value)
  if param.secret then return "@" .. param.name .. ".txt" end
  if param.type == "bytes" then return "@message.bin" end
  if param.type == "public_key" then return "@driver.pem" end
  if type(value) ~= "table" then return tostring(value) end
  if param.type == "object" or param.type == "tariff" then return core.json_encode(value, table.concat(param.lists or {}, " ")) end
  local words = {}
  for i, item in ipairs(value) do words[i] = tostring(item) end
  return table.concat(words, ",")
end

-- The values of the example by parameter name.
local function values_of(row, bare)
  local arguments, values = arguments_of(row), {}
  local i = 1
  for _, param in ipairs(bare) do
    if param.implied then
      values[param.name] = row.handle == "vehicle" and M.vin or M.site
    else
      values[param.name] = arguments[i]
      i = i + 1
    end
  end
  for name, value in pairs(type(arguments[i]) == "table" and arguments[i] or {}) do values[name] = value end
  return values
end

--- The words of the sample command line, "fleet" left out.
function M.words(row)
  local bare, named = row_words.parameters(row)
  local values, words = values_of(row, bare), {}
  for word in string.gmatch(row.name, "[^.]+") do words[#words + 1] = word end
  local function take(param)
    local value = values[param.name]
    values[param.name] = nil
    return value ~= nil and text_of(param, value) or nil
  end
  for _, param in ipairs(bare) do words[#words + 1] = take(param) end
  for _, param in ipairs(named) do
    local text = take(param)
    if text then words[#words + 1] = param.name .. "=" .. text end
  end
  if row.flags.body_as_given then
    local names = {}
    for name in pairs(values) do names[#names + 1] = name end
    table.sort(names)
    for _, name in ipairs(names) do words[#words + 1] = name .. "=" .. tostring(values[name]) end
  end
  return words
end

-- A word, quoted for a shell.
local function quoted(word)
  if string.match(word, "^[%w_@%%+=:,./-]+$") then return word end
  return "'" .. string.gsub(word, "'", "'\\''") .. "'"
end

local longest_json = 60

-- A long value is shown as a file, as a person would pass it.
local function in_file(word)
  local name, json = string.match(word, "^([%w_]*)=?(%b{})$")
  if not json or #json <= longest_json then return word end
  return name == "" and "@tariff.json" or string.format("%s=@%s.json", name, name)
end

--- The sample command line as text.
function M.text(row)
  local words = M.words(row)
  for i, word in ipairs(words) do words[i] = quoted(in_file(word)) end
  return "fleet " .. table.concat(words, " ")
end

return M
