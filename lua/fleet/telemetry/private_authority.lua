-- Makes a private certificate authority, valid for ten years, and a receiver's certificate signed by it. Cars get the authority, so that a
-- renewed certificate needs no new configuration. The files: authority.pem, authority-key.pem, chain.pem, key.pem; keys are readable by
-- their owner only.

local atomic_file = require "fleet.util.atomic_file"
local core = require "fleet.core"
local errors = require "fleet.util.errors"
local optional_module = require "fleet.util.optional_module"

local M = { YEARS = 10, DAYS = 730 }

local LARGEST = 1048576

local function read(path)
  local real = core.real_path(path)
  return real and (core.file_read(real, LARGEST)) or nil
end

M.read = read

-- Returns { certificate =, key = }, made = true for a new one; or nil, err, kind.
local function authority(stream, directory, host)
  local certificate, key = read(directory .. "/authority.pem"), read(directory .. "/authority-key.pem")
  if certificate and key then return { certificate = certificate, key = key } end
  if certificate or key then
    return errors.failure("conflict", directory .. " has one of authority.pem and authority-key.pem, which belong together: "
      .. "remove it, or name another directory")
  end
  certificate, key = stream.issue { subject = "Telemetry CA of " .. host, authority = true, days = math.floor(M.YEARS * 365.25) }
  if not certificate then return nil, key, key.kind end
  return { certificate = certificate, key = key, made = true }
end

--- The paths in a directory: authority, authority_key, certificate, key.
function M.paths(directory)
  return {
    authority = directory .. "/authority.pem", authority_key = directory .. "/authority-key.pem", certificate = directory .. "/chain.pem",
    key = directory .. "/key.pem",
  }
end

-- The host that the certificate in a directory is for; nil when there is none.
local function earlier_host(stream, directory)
  local chain = read(M.paths(directory).certificate)
  local list = chain and stream.certificates(chain)
  return list and list[1].hosts[1]
end

--- Makes or renews the certificate of a host (a name or an address) in a directory, signed by the authority there or a new one. days: its
--- validity (730). Returns { host =, earlier_host =, new_authority =, until_utc =, paths … }, or nil, err, kind.
function M.issue(directory, host, days)
  local problem = core.hostname.host_problem(host)
  local is_address = string.find(host, "^[%d.]+$") or string.find(host, "^%x*:[%x:]+$")
  if problem and not is_address then return errors.failure("invalid", "the host '" .. host .. "': " .. problem) end
  local stream, why = optional_module.find "stream"
  if not stream then return errors.failure("unsupported", why) end
  local ca, err, kind = authority(stream, directory, host)
  if not ca then return nil, err, kind end
  local earlier = earlier_host(stream, directory)
  local certificate, key = stream.issue {
    subject = host, host = host, usage = "serverAuth", days = days or M.DAYS, issuer = ca.certificate, issuer_key = ca.key,
  }
  if not certificate then return nil, key, key.kind end
  local made
  made, err, kind = core.directory_make(directory)
  if not made then return nil, err, kind end
  local paths = M.paths(directory)
  local texts = { { paths.key, key }, { paths.certificate, certificate .. ca.certificate } }
  if ca.made then texts = { { paths.authority_key, ca.key }, { paths.authority, ca.certificate }, texts[1], texts[2] } end
  for _, file in ipairs(texts) do
    made, err, kind = atomic_file.write(file[1], file[2])
    if not made then return nil, err, kind end
  end
  paths.earlier_host = earlier
  paths.host, paths.new_authority, paths.until_utc = host, ca.made == true, stream.certificates(certificate)[1].until_utc
  return paths
end

return M
