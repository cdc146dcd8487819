-- What an error that a vehicle reports about its stream means, and what to do. The vehicle's texts are those of its Go client.

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
  { "refused", "nothing listens at that port: 'fleet telemetry serve'" },
  { "timeout", "nothing answers at that port: 'fleet telemetry check'" },
}

--- The meaning of an error by its name and text; nil when it is unknown.
function M.of(text)
  for _, meaning in ipairs(meanings) do
    if string.find(text, meaning[1], 1, true) then return meaning[2] end
  end
end

return M
