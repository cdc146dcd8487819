-- What the verb `proxy` needs besides its options: the options of fleet.proxy from words and files, the audit file, and clients that are
-- made anew at each SIGHUP.

local core = require "fleet.core"
local options = require "fleet.cli.options"
local tables = require "fleet.util.tables"
local usage_error = require "fleet.cli.usage_error"

local M = {}

local largest_file = 1048576

-- ---- addresses ----

local function default_socket(environment)
  local directory = environment.getenv("XDG_RUNTIME_DIR")
  if directory and string.sub(directory, 1, 1) == "/" then return "unix:" .. directory .. "/fleet-proxy.sock" end
  usage_error.raise("XDG_RUNTIME_DIR names no directory for the socket: give --listen, such as --listen unix:/run/fleet/proxy.sock",
    { "proxy" })
end

local function default_secret(environment)
  local directory = options.state_directory(environment)
  if not directory then return nil end
  core.directory_make(directory)
  return directory .. "/proxy-secret"
end

-- ---- files ----

-- { name = { rows =, vins =, per_minute =, secret =, … }, … }
local function read_callers(path)
  if not path then return nil end
  local text, facts = core.file_read(path, largest_file)
  if not text then error(facts, 0) end
  if not facts.mine or facts.mode % 64 ~= 0 then
    usage_error.raise("--callers: " .. path .. " may hold secrets: it has to be yours, with mode 0600", { "proxy" })
  end
  local callers = core.json_decode(text)
  if type(callers) ~= "table" or callers[1] ~= nil then
    usage_error.raise("--callers: " .. path .. " is not a JSON object of callers", { "proxy" })
  end
  return callers
end

-- Bytes of an audit line. A line is written in one call, so that several processes can append to the file.
local longest_line = 8192

--- Where audit lines go: a file that is opened again at each call of reopen, or standard error. Returns write(entry), reopen(). write
--- returns true, or nil and why; the first failure after a success is reported on standard error.
function M.audit(environment, path)
  local file, failing
  local function reopen()
    if not path then return end
    local opened, why = io.open(path, "a")
    if not opened then usage_error.raise("--audit: " .. tostring(why), { "proxy" }) end
    if file then file:close() end
    file = opened
    file:setvbuf("full", longest_line)
  end
  local function write(entry)
    local stream = file or environment.stderr
    local written, why = stream:write(core.json_encode(entry) .. "\n")
    if written then written, why = stream:flush() end
    if file and not written and not failing then
      environment.stderr:write("fleet: --audit ", path, ": ", tostring(why), ". Commands go on, and their lines are lost.\n")
    end
    failing = not written
    return written and true or nil, why
  end
  reopen()
  return write, reopen
end

-- ---- clients ----

-- One client per account, on one store: the first account is that of the command line.
local function open_clients(context, given, names)
  local function open(settings)
    local made, err, kind = context:check(context.environment.new, settings)
    if made then core.context(made).logs_attempts = context.options.verbose ~= nil end -- without --verbose its log leaves out attempts
    return made, err, kind
  end
  local client, err, kind = open(tables.copy(given))
  if not client then return nil, err, kind end
  local accounts = {}
  for _, name in ipairs(names or {}) do
    accounts[name], err = open(tables.copy(given, { account = name, store = core.context(client).store }))
    if not accounts[name] then return nil, err, err.kind end
  end
  return client, accounts
end

--- The options of fleet.proxy.new, with new clients, from the command line and the files as they are now. kept: { audit =, metrics = },
--- which are reused across reloads. Returns nil, err, kind on failure.
function M.options(context, given, kept)
  local environment = context.environment
  local settings = options.for_client(environment, context.options)
  settings.log, settings.metrics = context:log(), kept.metrics
  local client, accounts, kind = open_clients(context, settings, given.accounts)
  if not client then return nil, accounts, kind end
  return {
    client = client, accounts = accounts, listen = given.listen or default_socket(environment),
    secret_file = given.secret_file or default_secret(environment), secret_file_given = given.secret_file ~= nil,
    certificate = given.certificate, certificate_key = given.certificate_key, client_ca = given.client_ca, names = given.host,
    pass_through = given.pass_through, callers = read_callers(given.callers), per_minute = given.per_minute,
    audit = kept.audit, max_connections = given.max_connections,
    log = context:log(), getenv = environment.getenv,
  }
end

--- Closes the clients that M.options made.
function M.close(made)
  made.client:close()
  for _, client in pairs(made.accounts) do client:close() end
end

return M
