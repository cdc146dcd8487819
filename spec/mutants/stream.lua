-- Mistakes in the receiver of telemetry: who is believed, when a message is acknowledged, what its limits are.

local receiver, stream, vectors, teslamate, looks = "spec/telemetry/receiver_spec.lua",
  "spec/stream/receiver_spec.lua", "spec/stream/vectors_spec.lua", "spec/telemetry/teslamate_spec.lua",
  "spec/automation/streamed_spec.lua"

return {
  { "lua/fleet/telemetry/init.lua", "local answered = self.options.ack == \"at_once\" and", "local answered =", { receiver } },
  { "lua/fleet/telemetry/init.lua", "if self.options.allowed(vin) ~= true then return refused(", "if false then return refused(",
    { receiver } },
  { "lua/fleet/telemetry/init.lua", "if record.kind ~= \"vehicle_device\" then return refused(", "if false then return refused(",
    { receiver } },
  { "lua/fleet/telemetry/init.lua", "if vehicle.tokens < 1 then return", "if false then return", { receiver } },
  { "src/stream/server.c", "!is_configured(envelope.topic) && !is_own(c, envelope.sender_id)", "false", { stream } },
  { "src/stream/server.c", "if (!is_utf8(text)) {", "if (false) {", { teslamate } },
  { "src/stream/trust.c", "if (chain_may_be_client(X509_STORE_CTX_get0_chain(context))) return 1;", "return 1;", { vectors } },
  { "src/stream/trust.c", "X509_VERIFY_PARAM_set_flags(p, X509_V_FLAG_PARTIAL_CHAIN) == 1;", "true;", { vectors } },
  { "src/stream/frames.c", "f->skipping || size > f->limit - f->message.size", "false", { stream } },
  { "lua/fleet/telemetry/outputs/teslamate.lua", "if self.token and not (", "if false and not (", { teslamate } },
  { "lua/fleet/telemetry/looks.lua", "return failed_before or", "return", { looks } },
  { "lua/fleet/telemetry/looks.lua", "math.max(awake_since or now, gone_at or -math.huge) >= M.connects_within", "0 >= 0", { looks } },
}
