-- What `fleet doctor` checks on this machine: configuration, certificates, key and store.

local core = require "fleet.core"
local usage_error = require "fleet.cli.usage_error"
local options = require "fleet.cli.options"
local simulator = require "fleet.cli.simulator"
local lines = require "fleet.cli.doctor.lines"

local M = {}

local add, failed = lines.add, lines.failed

local function open_to_others(facts)
  return facts.mode % 64 ~= 0
end

function M.configuration(report, environment, texts)
  local path = texts.config or options.config_path(environment)
  local text, facts, kind
  if path then text, facts, kind = core.file_read(path, 1e6) end
  if not path or kind == "not_found" then
    return add(report, "configuration", nil, "no file" .. (path and " " .. path or ""), "run 'fleet setup' to write one")
  end
  if not text then return failed(report, "configuration", facts, "make it a plain file of your own") end
  local ok, found = pcall(options.for_client, environment, texts)
  if ok then report.given = found end
  if not ok and not usage_error.is(found) then error(found, 0) end
  if not ok and not open_to_others(facts) then
    return add(report, "configuration", false, found.message, "mend it, or remove it and run 'fleet setup'")
  end
  if open_to_others(facts) then
    return add(report, "configuration", false, path .. " is open to others, and holds secrets", "chmod 600 " .. path)
  end
  local kept = simulator.kept_address(environment, texts, path)
  if kept then
    return add(report, "configuration", false, string.format("%s holds a simulator's address (%s)", path, kept),
      "remove the file and run 'fleet setup': rm " .. path)
  end
  add(report, "configuration", true, path)
end

-- Shows the options of the command line and the environment, which apply even when the configuration file is unusable.
function M.other_options(report, environment, texts)
  if report.given then return end
  local ok, found = pcall(options.for_client, environment, texts)
  if not ok and not usage_error.is(found) then error(found, 0) end
  report.given = ok and found or {}
end

--- Warns that the variables of `fleet sim --env` override the configuration.
function M.simulator(report, environment)
  if not simulator.variable(environment) then return end
  local message = "this shell points at a simulator, " .. (environment.getenv("FLEET_BASE_URL") or "which has no address")
  local leave = "eval \"$(fleet sim stop --env)\" leaves it"
  local named = simulator.known(environment)
  if named and simulator.order(named, { advance = 0 }) then return add(report, "simulator", nil, message .. "; " .. leave) end
  add(report, "simulator", false, message .. ", which has ended", leave)
end

function M.certificates(report)
  local path = report.given.ca_file
  if not path then return add(report, "certificates", true, "the system's certificates") end
  local file, why = io.open(path, "rb")
  local text = file and file:read(1e6) or ""
  if file then file:close() end
  if not file then return add(report, "certificates", false, why, "name a PEM file with --ca-file") end
  if not string.find(text, "-----BEGIN CERTIFICATE-----", 1, true) then
    return add(report, "certificates", false, path .. " holds no certificate", "name a PEM file of certificates with --ca-file")
  end
  add(report, "certificates", true, path)
end

function M.key(report)
  local given = report.given
  if not given.key then return end
  local key, err = core.key.load(given.key, nil, { insecure_key_mode = given.insecure_key_mode })
  if key then
    report.key = { bytes = key:public_bytes() }
    return key:close()
  end
  report.key, given.key = { problem = err.message }, nil -- the client works without it
end

-- Files of the store that other users could read, each named once.
local function store_files(directory, warnings)
  for _, name in ipairs(core.directory_list(directory) or {}) do
    local _, facts = core.file_read(directory .. "/" .. name, 2e6)
    if type(facts) == "table" and facts.mode and open_to_others(facts) then
      warnings[#warnings + 1] = "the file " .. name .. " is open to others: chmod 600 it"
    end
  end
end

-- A store that several machines share: what its operator must know.
local function shared_store(report, text)
  local ran, opened, err = pcall(require("fleet.store").open, text)
  if not ran then opened, err = nil, { message = tostring(opened) } end
  local found
  if opened then
    found, err = opened:findings()
    opened:close()
  end
  if not found then
    report.given.store = nil
    return failed(report, "store", err, "try the same address with redis-cli; doc/manual/many_machines.md says how to write it")
  end
  add(report, "store", true, text .. " answers")
  for _, line in ipairs(found) do add(report, line.name, line.ok, line.message, line.fix) end
end

function M.store(report)
  local directory = report.given.store
  if type(directory) ~= "string" then return add(report, "store", nil, "none: the token is given from outside") end
  if string.find(directory, "^rediss?[:+]") then return shared_store(report, directory) end
  if string.find(directory, "^%l+:") or directory == "memory" then
    return add(report, "store", nil, directory .. " is not checked")
  end
  local warnings = {}
  local opened, err = require("fleet.store").open(directory, { warn = function(text) warnings[#warnings + 1] = text end })
  if not opened then
    report.given.store = nil
    return failed(report, "store", err, "name a directory of your own with --store")
  end
  local ticket, full = opened:reserve("doctor", 16384)
  if ticket then ticket:close() end
  opened:close()
  if not ticket then
    return failed(report, "store", full, "make room there, and make it writable: a token that cannot be saved is lost")
  end
  store_files(directory, warnings)
  if warnings[1] then
    return add(report, "store", false, table.concat(warnings, "; "), "make it readable by its owner only: it holds tokens")
  end
  add(report, "store", true, directory .. " (yours alone, writable)")
end

return M
