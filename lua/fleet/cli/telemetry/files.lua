-- The files of the verbs of `fleet telemetry`: those that options name, else those of one directory.

local core = require "fleet.core"
local options = require "fleet.cli.options"
local private_authority = require "fleet.telemetry.private_authority"
local usage_error = require "fleet.cli.usage_error"

local M = {}

M.directory_option = {
  name = "directory", type = "string", placeholder = "DIR", doc = "of authority.pem, chain.pem, key.pem and vehicle-ca.pem; by default "
    .. "'telemetry' beside the configuration file",
}

local ca_option = { name = "ca", type = "string", placeholder = "FILE",
  doc = "what the configuration gives vehicles to verify the chain; by default authority.pem" }
local host_option = { name = "host", type = "string", placeholder = "NAME",
  doc = "the name that vehicles connect to; by default the certificate's" }

--- The options of a receiver.
M.receiver_options = {
  M.directory_option,
  { name = "certificate", type = "string", placeholder = "FILE", doc = "the chain that vehicles see; by default chain.pem" },
  { name = "certificate_key", type = "string", placeholder = "FILE", doc = "its key; by default key.pem" },
  { name = "client_ca", type = "string", placeholder = "FILE", environment = "FLEET_VEHICLE_CA",
    doc = "Tesla's file with the authorities of vehicles; by default vehicle-ca.pem" },
  { name = "port", type = "integer", doc = "the port, by default 8443" },
}

--- The options of a receiver and of the configuration that leads vehicles to it.
M.options = { ca_option, host_option }
for i, option in ipairs(M.receiver_options) do table.insert(M.options, i, option) end

M.PORT = 8443

--- The directory of the files. A shell that points at a simulator uses a directory of the simulator.
function M.directory(environment, given)
  if given.directory then return given.directory end
  local simulator = environment.getenv("FLEET_SIM_DIRECTORY")
  if simulator then return simulator .. "/telemetry" end
  local path = options.config_path(environment)
  if not path then usage_error.raise("there is no home directory: give --directory", { "telemetry" }) end
  return (string.gsub(path, "/[^/]*$", "")) .. "/telemetry"
end

--- Whether the shell points at a simulator.
function M.simulated(environment) return environment.getenv("FLEET_SIM_CONTROL") ~= nil end

local function advice(name, directory)
  if name == "client_ca" then
    return require("fleet.telemetry.check").TESLAS_FILE .. ", and save it as " .. directory .. "/vehicle-ca.pem"
  end
  return "'fleet telemetry certificate HOST' makes it"
end

local function certificates_of(pem) return require("fleet.util.optional_module").need("stream").certificates(pem) end

--- The texts and paths of the files: { certificate =, certificate_key =, ca =, client_ca = texts, paths = by name, host =, port = }.
--- wanted: names of files. Raises where one is missing or has no certificate.
function M.read(environment, given, wanted)
  local directory = M.directory(environment, given)
  local kept = private_authority.paths(directory)
  local paths = {
    certificate = given.certificate or kept.certificate, certificate_key = given.certificate_key or kept.key,
    ca = given.ca or kept.authority,
    client_ca = given.client_ca or environment.getenv("FLEET_VEHICLE_CA") or directory .. "/vehicle-ca.pem",
  }
  local found = { paths = paths, port = given.port or M.PORT, directory = directory }
  for _, name in ipairs(wanted) do
    local option, verbs = string.gsub(name, "_", "-"), { name == "client_ca" and "telemetry check" or "telemetry certificate" }
    found[name] = private_authority.read(paths[name])
    if not found[name] then
      usage_error.raise(string.format("--%s: cannot read %s: %s", option, paths[name], advice(name, directory)), verbs)
    elseif name ~= "certificate_key" and not certificates_of(found[name]) then
      usage_error.raise(string.format("--%s: no certificate can be read in %s: %s", option, paths[name], advice(name, directory)), verbs)
    end
  end
  found.host = given.host or M.host_of(found.certificate)
  return found
end

--- The first name in a certificate; nil when it has none.
function M.host_of(pem)
  local list = pem and certificates_of(pem)
  return list and list[1].hosts[1] or nil
end

--- UTC seconds.
function M.now() return math.floor((select(2, core.clock()))) end

return M
