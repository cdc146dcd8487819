-- Certificates as vehicles have them, made with the openssl command: authorities by the names that the receiver knows, vehicles below them,
-- and a chain for the receiver. Throw-away keys.
--
--   local pki = require("spec.support.servers.vehicle_pki").new()
--   pki.authorities                      PEM of all authorities that the receiver is to trust
--   pki.server.certificate, .key, pki.server_ca
--   pki.vehicle(vin, { issuer =, oid =, usage =, days = }) → { certificate =, key = }
-- issuer: "product" (default), "products" (its only extended key usage is "any"), "foreign" (the product issuer's name, another key),
-- "unlisted".

local process = require "spec.support.harness.process"

local files = require "spec.support.harness.files"
local read, write = files.read, files.write

local M = {}

local names = { product = "Tesla Motors Product Issuing CA", products = "Tesla Motors Products CA",
  foreign = "Tesla Motors Product Issuing CA", unlisted = "Some Other Issuing CA" }
local vehicle_oid = "1.3.6.1.4.1.49279.2.5.1"

function M.new()
  local directory = process.temporary "pki"
  local count = 0
  local function openssl(words)
    process.execute("cd " .. process.quote(directory) .. " && openssl " .. words .. " 2>>openssl.log")
  end
  local function issue(name, subject, issuer, extensions, days)
    write(directory .. "/" .. name .. ".ext", extensions)
    openssl("ecparam -name prime256v1 -genkey -noout -out " .. name .. ".key")
    openssl("req -new -key " .. name .. ".key -subj " .. process.quote("/O=Test/CN=" .. subject) .. " -out " .. name .. ".csr")
    openssl(string.format("x509 -req -days %d -in %s.csr -CA %s.pem -CAkey %s.key -CAcreateserial -extfile %s.ext -out %s.pem", days or 30,
      name, issuer, issuer, name, name))
    return { certificate = read(directory .. "/" .. name .. ".pem"), key = read(directory .. "/" .. name .. ".key") }
  end
  local function root(name, subject)
    openssl("req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 30 -subj " .. process.quote("/O=Test/CN=" .. subject)
      .. " -keyout " .. name .. ".key -out " .. name .. ".pem")
    return read(directory .. "/" .. name .. ".pem")
  end
  local authority = "basicConstraints=critical,CA:TRUE\nkeyUsage=critical,keyCertSign,cRLSign\n"
  local pki = {}
  local trusted = { root("root", "Test Product Root CA") }
  for name, subject in pairs(names) do
    if name == "foreign" then
      root("foreign-root", "Another Root CA")
      issue(name, subject, "foreign-root", authority)
    else
      local usage = name == "products" and "extendedKeyUsage=2.5.29.37.0\n" or ""
      local one = issue(name, subject, "root", authority .. usage)
      trusted[#trusted + 1] = one.certificate
    end
  end
  pki.authorities = table.concat(trusted)
  pki.server_ca = root("server-root", "Receiver Root CA")
  pki.server = issue("server", "localhost", "server-root", "subjectAltName=DNS:localhost,IP:127.0.0.1\n")

  function pki.vehicle(vin, given)
    given = given or {}
    count = count + 1
    local usage = given.usage
    if usage == nil then usage = given.issuer == "products" and "clientAuth" or "clientAuth," .. (given.oid or vehicle_oid) end
    local extensions = "basicConstraints=CA:FALSE\nkeyUsage=critical,digitalSignature\n"
      .. (usage and "extendedKeyUsage=" .. usage .. "\n" or "")
    return issue("vehicle" .. count, vin, given.issuer or "product", extensions, given.days)
  end

  function pki.close() process.execute("rm -rf " .. process.quote(directory)) end
  return pki
end

return M
