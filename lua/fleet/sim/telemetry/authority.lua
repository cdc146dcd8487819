-- The certificate authorities of simulated cars, made anew by every simulator: the names are those of real cars' authorities, the keys are
-- not. One car in three has a certificate of the authority whose only extended key usage is "any", which OpenSSL rejects by default.

local M = {}
M.__index = M

local PRODUCT, PRODUCTS = "Tesla Motors Product Issuing CA", "Tesla Motors Products CA"
local VEHICLE, ANY = "clientAuth,1.3.6.1.4.1.49279.2.5.1", "2.5.29.37.0"
local DAYS = 3650

-- { certificate =, key = }, signed by an issuer or self-signed.
local function issue(stream, subject, given, issuer)
  local certificate, key = stream.issue {
    subject = subject, authority = given.authority, usage = given.usage, days = DAYS, issuer = issuer and issuer.certificate,
    issuer_key = issuer and issuer.key,
  }
  if not certificate then error(key, 0) end
  return { certificate = certificate, key = key }
end

--- stream: fleet.stream.
function M.new(stream)
  local root = issue(stream, "Simulated Product Root CA", { authority = true })
  local product = issue(stream, PRODUCT, { authority = true }, root)
  local products = issue(stream, PRODUCTS, { authority = true, usage = ANY }, root)
  local foreign = issue(stream, PRODUCT, { authority = true })
  return setmetatable({
    stream = stream, issuers = { [PRODUCT] = product, [PRODUCTS] = products }, foreign_issuer = foreign, cars = {}, foreign = {},
    pem = root.certificate .. product.certificate .. products.certificate,
  }, M)
end

--- The certificate and key of the car with this VIN, the index-th of the garage. foreign = true: its authority has the right name and a
--- wrong key.
function M:car(vin, index, foreign)
  local made = foreign and self.foreign or self.cars
  if made[vin] then return made[vin] end
  local name = index % 3 == 2 and not foreign and PRODUCTS or PRODUCT
  local issuer = foreign and self.foreign_issuer or self.issuers[name]
  made[vin] = issue(self.stream, vin, { usage = name == PRODUCTS and "clientAuth" or VEHICLE }, issuer)
  return made[vin]
end

return M
