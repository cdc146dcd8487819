-- A simulator in the background, for `eval "$(fleet sim --env)"`: starts it, signs in to it, prints the lines that point a shell at it, and
-- ends it.
--
-- It has a directory of its own, so that it touches no token of a real account. It ends by order, or when it has received no call for a
-- day.

local core = require "fleet.core"
local usage_error = require "fleet.cli.usage_error"

local M = {}

local IDLE = 86400

-- ---- text for a shell ----

local function quote(text)
  return "'" .. string.gsub(text, "'", "'\\''") .. "'"
end

M.quote = quote

local NAMES = {
  "FLEET_BASE_URL", "FLEET_AUTH_URL", "FLEET_TOKEN_URL", "FLEET_CLIENT_ID", "FLEET_CLIENT_SECRET", "FLEET_REDIRECT_URI",
  "FLEET_STORE", "FLEET_KEY", "FLEET_SIM_CONTROL", "FLEET_SIM_TOKEN", "FLEET_SIM_DIRECTORY", "FLEET_VEHICLE_CA",
}

-- Variables that would override the lines above.
local HIDES = "FLEET_TOKEN FLEET_REGION FLEET_CA_FILE"

--- Lines that point a shell at the simulator. variables: by name; a variable without a value is unset.
function M.exports(variables)
  local lines = {}
  for _, name in ipairs(NAMES) do
    lines[#lines + 1] = variables[name] and string.format("export %s=%s", name, quote(variables[name])) or "unset " .. name
  end
  lines[#lines + 1] = "unset " .. HIDES
  return table.concat(lines, "\n") .. "\n"
end

--- Lines that undo all of it.
function M.unsets()
  return "unset " .. table.concat(NAMES, " ") .. "\n"
end

-- ---- the process ----

-- setsid: Ctrl-C in the terminal does not reach the simulator.
local script = [[
away=$(command -v setsid)
$away "$interpreter" "$program" sim "$@" </dev/null >"$directory/first" 2>"$directory/errors" &
pid=$!
tries=0
while [ ! -s "$directory/first" ] && kill -0 $pid 2>/dev/null && [ $tries -lt 100 ]; do
  sleep 0.1
  tries=$((tries + 1))
done
cat "$directory/first" "$directory/errors"
]]

local function base_directory(environment)
  return environment.getenv("XDG_RUNTIME_DIR") or environment.getenv("TMPDIR") or "/tmp"
end

--- Makes a directory for a simulator's files that only its owner can read. Returns nil, err, kind on failure.
function M.new_directory(environment)
  local directory = base_directory(environment) .. "/fleet-sim-"
    .. string.gsub(core.sha256(core.random_text(24)), "^(" .. ("."):rep(16) .. ").*$", "%1")
  local made, err, kind = core.directory_make(directory)
  if not made then return nil, err, kind end
  return directory
end

-- Returns the addresses, or nil and the output of the process.
local function launch(environment, directory, arguments)
  local program = environment.program or { arg[-1], arg[0] }
  local words = { "set --" }
  for _, word in ipairs(arguments) do words[#words + 1] = quote(word) end
  local pipe = assert(io.popen(string.format("interpreter=%s program=%s directory=%s\n%s\n%s", quote(program[1]),
    quote(program[2]), quote(directory), table.concat(words, " "), script), "r"))
  local text = pipe:read("*a")
  pipe:close()
  local addresses = core.json_decode(string.match(text, "^[^\n]*"))
  if type(addresses) ~= "table" then return nil, text end
  return addresses
end

-- ---- credentials ----

local function pair(client, addresses, key)
  local browser = require "fleet.sim.test_browser"
  local public = key:public_pem()
  local done, err, kind = true, nil, nil
  for car in client:vehicles() do
    local vin = done and select(3, core.context(car))
    if vin then done, err, kind = browser.control(addresses, { event = "pair_key", vin = vin, public_key = public }) end
  end
  return done, err, kind
end

local function prepare(environment, addresses, directory, garage)
  local garages = require "fleet.sim.garage"
  local app, key_file = garages.app(garages.load(garage)), directory .. "/key.pem"
  local key = require("fleet").key.generate()
  local saved, err, kind = key:save(key_file)
  if not saved then return nil, err, kind end
  local client = environment.new {
    base_url = addresses.base_url, auth_url = addresses.auth_url, token_url = addresses.token_url, client_id = app.client_id,
    client_secret = app.client_secret, redirect_uri = app.redirect_uri, store = directory .. "/store",
    scopes = app.scopes or require("fleet.sim.oauth").OWNER_SCOPES,
  }
  local done
  done, err, kind = require("fleet.sim.test_browser").sign_in(client)
  if done then done, err, kind = pair(client, addresses, key) end
  client:close()
  key:close()
  if not done then return nil, err, kind end
  return M.exports {
    FLEET_BASE_URL = addresses.base_url, FLEET_AUTH_URL = addresses.auth_url, FLEET_TOKEN_URL = addresses.token_url,
    FLEET_CLIENT_ID = app.client_id, FLEET_CLIENT_SECRET = app.client_secret, FLEET_REDIRECT_URI = app.redirect_uri,
    FLEET_STORE = directory .. "/store", FLEET_KEY = key_file, FLEET_SIM_CONTROL = addresses.control_url,
    FLEET_SIM_TOKEN = addresses.control_token, FLEET_SIM_DIRECTORY = directory,
    FLEET_VEHICLE_CA = addresses.telemetry_ca,
  }
end

local function remove(directory)
  if string.find(directory, "/fleet%-sim%-%x+$") and core.directory_list(directory) then os.execute("rm -r -- " .. quote(directory)) end
end

local function has_option(arguments, name)
  for _, word in ipairs(arguments) do
    if word == name then return true end
  end
  return false
end

--- Starts a simulator with the arguments of `fleet sim`, signs in and pairs a key. Returns the lines for a shell, or nil, err, kind.
function M.start(environment, arguments, garage)
  if not has_option(arguments, "--idle") then
    arguments[#arguments + 1] = "--idle"
    arguments[#arguments + 1] = tostring(IDLE)
  end
  local directory, err, kind = M.new_directory(environment)
  if not directory then return nil, err, kind end
  if has_option(arguments, "--telemetry") and not has_option(arguments, "--telemetry-ca") then
    arguments[#arguments + 1] = "--telemetry-ca"
    arguments[#arguments + 1] = directory .. "/vehicle-ca.pem"
  end
  local addresses, output = launch(environment, directory, arguments)
  if not addresses then
    remove(directory)
    err = core.err { kind = "service", message = "the simulator did not start: " .. (output == "" and "it printed nothing" or output) }
    return nil, err, "service"
  end
  local lines
  lines, err, kind = prepare(environment, addresses, directory, garage)
  if lines then return lines end
  M.stop { control_url = addresses.control_url, control_token = addresses.control_token, directory = directory }
  return nil, err, kind
end

-- ---- its files, and configurations that point at a simulator ----

local function is_directory_of_ours(path)
  return type(path) == "string" and string.find(path, "/fleet%-sim%-%x+$") ~= nil
end

local function is_loopback(address)
  return type(address) == "string" and string.find(address, "^http://127%.0%.0%.1%f[^%d]") ~= nil
end

--- The simulator's address in the configuration file at path. Returns nil without path, when the file names no simulator, or when command
--- line or environment name the service. A simulator has both service and sign-in on this machine.
function M.kept_address(environment, texts, path)
  if not path or texts.base_url or environment.getenv("FLEET_BASE_URL") then return nil end
  local kept = require("fleet.client.config_file").read(path)
  if type(kept) ~= "table" or not is_loopback(kept.base_url) or not is_loopback(kept.auth_url) then return nil end
  return kept.base_url
end

-- The addresses that the simulator of a directory printed.
local function addresses_in(directory)
  local text = core.file_read(directory .. "/first", 65536)
  local addresses = text and core.json_decode(string.match(text, "^[^\n]*"))
  return type(addresses) == "table" and type(addresses.control_url) == "string" and addresses or nil
end

--- The simulators in the background, ordered by name: a list of { directory =, base_url =, running =, current = the shell points at it,
--- control_url =, control_token = }.
function M.all(environment)
  local list, base = {}, base_directory(environment)
  for _, name in ipairs(core.directory_list(base) or {}) do
    local directory = base .. "/" .. name
    local addresses = is_directory_of_ours(directory) and addresses_in(directory)
    if addresses then
      list[#list + 1] = {
        directory = directory, base_url = addresses.base_url, control_url = addresses.control_url,
        control_token = addresses.control_token, running = M.order(addresses, { advance = 0 }) ~= nil,
        current = addresses.control_url == environment.getenv("FLEET_SIM_CONTROL"),
      }
    end
  end
  table.sort(list, function(a, b) return a.directory < b.directory end)
  return list
end

-- ---- the simulator of this shell ----

--- The variable that points the shell at a simulator, even one that has ended; nil when none does.
function M.variable(environment)
  for _, name in ipairs { "FLEET_SIM_CONTROL", "FLEET_SIM_DIRECTORY", "FLEET_SIM_TOKEN" } do
    if (environment.getenv(name) or "") ~= "" then return name end
  end
  local store = environment.getenv("FLEET_STORE")
  return store and string.find(store, "/fleet%-sim%-%x+/store$") and "FLEET_STORE" or nil
end

--- { control_url =, control_token =, directory = } from the variables, or from the files of the directory that they name; nil when neither
--- has a control address.
function M.known(environment)
  local directory = environment.getenv("FLEET_SIM_DIRECTORY")
  local written = is_directory_of_ours(directory) and addresses_in(directory) or {}
  local known = {
    control_url = environment.getenv("FLEET_SIM_CONTROL") or written.control_url,
    control_token = environment.getenv("FLEET_SIM_TOKEN") or written.control_token, directory = directory,
  }
  return known.control_url and known.control_token and known or nil
end

--- The same; raises when the shell points at no simulator.
function M.named(environment)
  local named = M.known(environment)
  if not named then
    usage_error.raise("no simulator: FLEET_SIM_CONTROL and FLEET_SIM_TOKEN say where it is; eval \"$(fleet sim --env)\" starts one",
      { "sim" })
  end
  return named
end

--- Sends an order to it. Returns its answer, or nil, err, kind.
function M.order(named, order)
  return require("fleet.sim.test_browser").control(named, order)
end

-- The process exits shortly after its answer.
local function wait_until_gone(named)
  for _ = 1, 100 do
    if not M.order(named, { advance = 0 }) then return end
    core.pause(0.02)
  end
end

--- Ends a simulator and removes its files, also when it has ended already. Returns true, or nil, err, kind.
function M.stop(named)
  local done, err, kind = M.order(named, { stop = true })
  if not done and kind ~= "network" then return nil, err, kind end
  if done then wait_until_gone(named) end
  if named.directory then remove(named.directory) end
  return true
end

return M
