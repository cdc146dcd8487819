-- What `fleet doctor` looks at, one function per subject. Each adds lines { name =, ok = true, false or nil (could not be
-- looked at), message =, fix =, cause = } to the report; none changes anything, and none ends the others.

local core = require "fleet.core"
local tables = require "fleet.util.tables"
local usage_error = require "fleet.cli.usage_error"
local options = require "fleet.cli.options"
local partner = require "fleet.registration.partner"
local granting = require "fleet.cli.scopes"

local M = {}

local clock_tolerance = 60 -- seconds

-- ---- lines ----

local function add(report, name, ok, message, fix)
  local line = { name = name, ok = ok, message = message, fix = fix }
  report.lines[#report.lines + 1] = line
  return line
end

local function failed(report, name, err, fix)
  add(report, name, false, err.message or tostring(err), fix)
end

-- ---- this machine ----

local function open_to_others(facts)
  return facts.mode % 64 ~= 0
end

local function config_file(report, environment, texts)
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
  add(report, "configuration", true, path)
end

-- What stands on the command line and in the environment serves also where the file is unusable.
local function other_options(report, environment, texts)
  if report.given then return end
  local ok, found = pcall(options.for_client, environment, texts)
  if not ok and not usage_error.is(found) then error(found, 0) end
  report.given = ok and found or {}
end

local function ca_file(report)
  local path = report.given.ca_file
  if not path then return add(report, "certificates", true, "those of the system") end
  local file, why = io.open(path, "rb")
  local text = file and file:read(1e6) or ""
  if file then file:close() end
  if not file then return add(report, "certificates", false, why, "name a PEM file with --ca-file") end
  if not string.find(text, "-----BEGIN CERTIFICATE-----", 1, true) then
    return add(report, "certificates", false, path .. " holds no certificate", "name a PEM file of certificates with --ca-file")
  end
  add(report, "certificates", true, path)
end

local function local_key(report)
  local given = report.given
  if not given.key then return end
  local key, err = core.key.load(given.key, nil, { insecure_key_mode = given.insecure_key_mode })
  if key then
    report.key = { bytes = key:public_bytes() }
    return key:close()
  end
  report.key, given.key = { problem = err.message }, nil -- the client works without it
end

-- Files of the store that others could read, each named once.
local function store_files(directory, warnings)
  for _, name in ipairs(core.directory_list(directory) or {}) do
    local _, facts = core.file_read(directory .. "/" .. name, 2e6)
    if type(facts) == "table" and facts.mode and open_to_others(facts) then
      warnings[#warnings + 1] = "the file " .. name .. " is open to others: chmod 600 it"
    end
  end
end

local function store(report)
  local directory = report.given.store
  if type(directory) ~= "string" then return add(report, "store", nil, "none: the token is given from outside") end
  if string.find(directory, "^%l+:") or directory == "memory" then
    return add(report, "store", nil, directory .. " is not looked at")
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
  if warnings[1] then return add(report, "store", false, table.concat(warnings, "; "), "nobody else may read it: it holds tokens") end
  add(report, "store", true, directory .. " (yours alone, writable)")
end

-- ---- the service, without a token ----

local months = {
  Jan = 1, Feb = 2, Mar = 3, Apr = 4, May = 5, Jun = 6, Jul = 7, Aug = 8, Sep = 9, Oct = 10, Nov = 11, Dec = 12,
}

--- UTC seconds of a Date header (RFC 9110 5.6.7, the form that is sent today), or nil.
function M.date_of(headers)
  local day, month, year, time = string.match("\n" .. headers, "\ndate: %a+, (%d%d) (%a%a%a) (%d%d%d%d) (%d%d:%d%d:%d%d) GMT")
  if not day or not months[month] then return nil end
  return core.time(string.format("%s-%02d-%sT%sZ", year, months[month], day, time))
end

local function clock(report, headers, before, after)
  local there = M.date_of(headers)
  if not there then return add(report, "clock", nil, "the service sent no date to compare with") end
  local off = there < before - 1 and there - before or there > after and there - after or 0
  if math.abs(off) <= clock_tolerance then return add(report, "clock", true, "agrees with the service's") end
  add(report, "clock", false, string.format("this machine is %.0f s %s", math.abs(off), off > 0 and "behind" or "ahead"),
    "set the clock: tokens and signed commands carry times")
end

local function service(report, context)
  local account = core.account(context:client())
  if account.unix_path then return add(report, "service", nil, "a Unix socket is not looked at") end
  local base = require("fleet.region").describe(account)
  local _, before = core.clock()
  local answer = require("fleet.call").fetch(account, account.base_url .. account.vendor.health_path, 15, 65536)
  local _, after = core.clock()
  if answer.failure then
    local fix = answer.failure == "tls" and "look at --ca-file, and at the clock" or "look at the network, the name server and --proxy"
    return add(report, "service", false, base .. ": " .. (answer.message or answer.failure), fix)
  end
  report.reached = true
  add(report, "service", true, base)
  clock(report, answer.headers, before, after)
end

-- ---- the account ----

local function tokens(report, context)
  local slots, err = context:client():token_info()
  if not slots then return failed(report, "sign-in", err, "look at the store") end
  local user = slots.user
  if not user then return add(report, "sign-in", false, "nobody is signed in", "run 'fleet login'") end
  report.user = user
  if user.refresh_by then
    return add(report, "sign-in", true, os.date("!to be refreshed by %Y-%m-%d", math.floor(user.refresh_by)))
  end
  if report.given.token then return add(report, "sign-in", nil, "the token is given from outside") end
  add(report, "sign-in", false, "there is no refresh token: the sign-in ends with this access token",
    "add offline_access and openid to the scopes and run 'fleet login'")
end

local function scopes(report)
  if not report.user then return end
  local granted = tables.set(report.user.scopes)
  if next(granted) == nil then return add(report, "scopes", nil, "the token does not say what was granted") end
  local missing = {}
  for _, scope in ipairs(report.given.scopes or {}) do
    if not granted[scope] then missing[#missing + 1] = scope end
  end
  if missing[1] then
    return add(report, "scopes", false, "not granted: " .. table.concat(missing, " "),
      "run '" .. granting.ask_again(report.given) .. "', or take them out of scopes")
  end
  add(report, "scopes", true, table.concat(report.user.scopes, " "))
end

local function region(report, context)
  if not report.user or not report.reached then return end
  local client = context:client()
  local _, err, kind = client.user:region()
  if not err then return add(report, "account", true, "answers at " .. require("fleet.region").describe(core.account(client))) end
  local fixes = {
    auth = "run 'fleet login'", scope = "run '" .. granting.ask_again(report.given, err.scope) .. "'",
    unregistered = "run 'fleet setup'; 'fleet region --discover' looks in all regions",
    region = "run 'fleet region --discover'",
  }
  failed(report, "account", err, fixes[kind] or "try again later")
end

-- ---- the key: here, hosted, registered ----

local function add_lines(report, lines)
  for _, line in ipairs(lines) do report.lines[#report.lines + 1] = tables.copy(line) end
end

-- Without a domain nothing is signed for vehicles: only the file here can be told.
local function key_places(report, context, key_url)
  local account = core.account(context:client())
  local domain = account.config.domain
  report.key_lines = {}
  if not domain then
    if report.key then
      local bytes = report.key.bytes
      add(report, "key", bytes ~= nil, report.key.problem or "fingerprint " .. string.sub(partner.fingerprint(bytes), 1, 16))
    end
    return add(report, "domain", nil, "none is set: hosting and registration are not looked at", "set it with --domain")
  end
  local facts = { domain = domain, region = require("fleet.region").describe(account), key = report.key }
  facts.hosted = require("fleet.registration.well_known_key").fetch(account, domain, { url = key_url })
  if account.config.client_secret and report.reached then
    facts.registered = partner.registered(context:client().partner:public_key { domain = domain })
  end
  report.key_lines = partner.findings(facts)
  add_lines(report, report.key_lines)
end

--- The registration in further regions: { name = region, registered = as partner.registered } each, into lines.
function M.registrations(report, domain, found)
  for _, one in ipairs(found) do
    local name, bytes = "registration " .. one.name, one.registered.bytes
    local fix = "run 'fleet setup --regions " .. one.name .. "'"
    if one.registered.missing then
      add(report, name, false, domain .. " is not registered there", fix).cause = "not_registered"
    elseif not bytes then
      add(report, name, nil, "could not be looked at: " .. one.registered.problem)
    elseif report.key and report.key.bytes and report.key.bytes ~= bytes then
      add(report, name, false, "another key is registered there", fix).cause = "replaced"
    else
      add(report, name, true, domain)
    end
  end
end

local function other_regions(report, context, names)
  local account = core.account(context:client())
  if not names or not account.config.domain or not account.config.client_secret or account.config.base_url then return end
  local found = {}
  for _, name in ipairs(names) do
    local client = require("fleet.cli.regions").client(context, report.given, name)
    local registered = partner.registered(client.partner:public_key { domain = account.config.domain })
    found[#found + 1] = { name = name, registered = registered }
    client:close()
  end
  M.registrations(report, account.config.domain, found)
end

-- ---- vehicles ----

local function vins_of(client, given)
  if given[1] then return given end
  local records, err = client:vehicles():collect()
  if not records then return nil, err end
  local vins = {}
  for _, record in ipairs(records) do vins[#vins + 1] = record.vin end
  return vins
end

local function vehicles(report, context, given)
  if not report.user or not report.reached then return end
  local client = context:client()
  local vins, err = vins_of(client, given)
  if not vins then return failed(report, "vehicles", err, "see the lines above") end
  if not vins[1] then return add(report, "vehicles", nil, "the account has none") end
  local status, status_err = context:check(client.fleet_status, client, vins)
  if status_err then return failed(report, "vehicles", status_err, "see the lines above") end
  local domain = core.account(client).config.domain
  for _, vin in ipairs(vins) do
    local facts = { scopes = report.user.scopes, link = domain and client:pairing_url { domain = domain, vin = vin } }
    add_lines(report, { partner.pairing(vin, status, report.key_lines, facts) })
  end
end

-- An option that no client can be made of is a line, too, and ends the list.
local function usable_options(report, context)
  local ok, err = pcall(context.client, context, report.given)
  if ok then return true end
  if not usage_error.is(err) and type(err) ~= "table" then error(err, 0) end
  failed(report, "options", err, "mend it in the configuration, the environment or on the command line")
end

--- Looks at everything. given: vins (list), key_url, regions (list of names). Returns the lines.
function M.examine(context, texts, given)
  local report = { lines = {} }
  config_file(report, context.environment, texts)
  other_options(report, context.environment, texts)
  ca_file(report)
  local_key(report)
  store(report)
  if not usable_options(report, context) then return report.lines end
  for _, part in ipairs {
    { "the service", service }, { "the sign-in", tokens }, { "the scopes", scopes }, { "the account", region },
    { "the key", key_places, given.key_url }, { "the regions", other_regions, given.regions },
    { "the vehicles", vehicles, given.vins },
  } do
    context.progress("looking at " .. part[1])
    part[2](report, context, part[3])
  end
  context.progress()
  return report.lines
end

return M
