-- What an error that a vehicle reports about its stream means, what a receiver's refusal means, and what to do. The vehicle's texts are
-- those of its Go client.

local M = {}

local meanings = {
  { "unknown authority", "the receiver's chain does not lead to a root in ca: 'fleet telemetry check'" },
  { "certificate is valid for", "the receiver's certificate does not name the hostname: 'fleet telemetry certificate HOST'" },
  { "not for this hostname", "the receiver's certificate does not name the hostname: 'fleet telemetry certificate HOST'" },
  { "has expired", "the receiver's certificate has ended: 'fleet telemetry certificate HOST' renews it" },
  { "unsupported_field", "the vehicle's firmware or hardware does not know the field: leave it out" },
  { "ported_interval", "the interval is shorter than the vehicle allows: take the authorized one, which is in milliseconds" }, -- misspelt
  { "ecdsa", "the configuration was signed with another key than the vehicle knows: pair the key, and send it again" },
  { "InvalidSignature", "the configuration was signed with a key that the vehicle does not know: pair the key, and send it again" },
  { "EOF", "something without TLS answers at that port, or a proxy ended the connection: 'fleet telemetry check'" },
  { "wrong version number", "something without TLS answers at that port: 'fleet telemetry check'" },
  { "no such host", "the hostname has no address: 'fleet telemetry check'" },
  { "onnection refused", "nothing listens at that port: 'fleet telemetry serve'" },
  { "timeout", "nothing answers at that port: 'fleet telemetry check'" },
  { "unknown ca", "the receiver does not trust the vehicle's certificate: is --client-ca Tesla's newest file?" },
  { "incorrect message format", "the receiver could not read a message: the output of 'fleet telemetry serve' says why, as 'damaged'" },
}

-- Reasons of a receiver for refusing a connection.
local refusals = {
  { "did not return a certificate", "it is no vehicle, but a browser, a load balancer or a check of the port" },
  { "issuer certificate", "--client-ca lacks its authority: take Tesla's newest file" },
  { "self-signed", "--client-ca lacks its authority: take Tesla's newest file" },
  { "it is not among 'vehicles'", "it is none of the vehicles that 'fleet telemetry serve' was started for" },
  { "unknown ca", "the vehicle does not trust the receiver's chain: 'fleet telemetry check'" },
  { "bad certificate", "the vehicle does not trust the receiver's chain: 'fleet telemetry check'" },
  { "unknown certificate", "the vehicle does not trust the receiver's chain: 'fleet telemetry check'" },
  { "wrong version number", "it does not speak TLS" },
  { "http request", "it does not speak TLS" },
}

local function find(rows, text)
  for _, row in ipairs(rows) do
    if string.find(text, row[1], 1, true) then return row[2] end
  end
end

--- The meaning of an error by its name and text; nil when it is unknown.
function M.of(text) return find(meanings, text) end

--- The meaning of a receiver's reason for refusing a connection; nil when it needs none.
function M.of_refusal(text) return find(refusals, text) end

return M
