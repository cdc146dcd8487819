-- Envelopes, payloads, certificates and chains as the maker's own server reads and writes them (spec/vectors/telemetry).

local stream = require "fleet.stream"
local cjson = require "cjson"
local files = require "spec.support.harness.files"

local function load(name) return cjson.decode(files.read("spec/vectors/telemetry/" .. name .. ".json")).vectors end

local function unhex(text)
  return (string.gsub(text, "..", function(digits) return string.char(tonumber(digits, 16)) end))
end

local function hex(text)
  return (string.gsub(text, ".", function(char) return string.format("%02x", string.byte(char)) end))
end

local function pem(der)
  local lines = {}
  for line in string.gmatch(der, string.rep(".?", 64)) do
    if line ~= "" then lines[#lines + 1] = line end
  end
  return "-----BEGIN CERTIFICATE-----\n" .. table.concat(lines, "\n") .. "\n-----END CERTIFICATE-----\n"
end

describe("an envelope", function()
  for _, v in ipairs(load "envelopes") do
    it("is read and written as the maker does: " .. v.name, function()
      local e = assert(stream.envelope(unhex(v.bytes_hex)))
      assert.same({ v.message_type, v.txid, v.topic, v.message_id_hex }, { e.type, e.txid, e.topic, hex(e.message_id) })
      if v.kind == "stream" then
        assert.same({ v.created_at, v.sender_id, v.payload_hex, v.device_type, v.device_id, v.delivered_at_epoch_ms },
          { e.created_at, e.sender_id, hex(e.payload), e.device_type, e.device_id, e.delivered_at })
        assert.equal(v.bytes_hex, hex(stream.stream_message(e)))
      elseif v.message_id_hex == "" then
        assert.equal(v.bytes_hex, hex(stream.acknowledgement(v.txid, v.topic)))
      end
    end)
  end

  for _, v in ipairs(load "other-encoder") do
    it("of another writer is read alike: " .. v.name, function()
      local e = assert(stream.envelope(unhex(v.bytes_hex)))
      assert.equal(v.message_type, e.type)
      for _, name in ipairs { "txid", "topic", "message_id", "sender_id", "device_type", "device_id", "payload" } do
        if v[name .. "_hex"] and (e.type == 4 or e[name]) then assert.equal(v[name .. "_hex"], hex(e[name])) end
      end
    end)
  end

  -- What this reader takes and leaves to a later step: kinds of message, payloads, senders.
  local later = { ["an ack sent by a vehicle"] = true, ["union tag 1"] = true, ["union tag 2"] = true, ["union tag 6"] = true,
    ["union tag 7"] = true, ["V with cut protobuf"] = "payload", ["alerts with cut protobuf"] = "payload",
    ["V with field number 0"] = "payload", ["V with bad UTF-8 in vin"] = "payload", ["unlisted topic, foreign sender"] = true }
  local stricter = { ["byte 6 inverted"] = true }

  for _, v in ipairs(load "hostile") do
    it("that is damaged is refused: " .. v.name, function()
      local e, err = stream.envelope(unhex(v.bytes_hex))
      local refused = v.reference == "error" and not later[v.name] or stricter[v.name]
      assert.equal(refused or false, not e, tostring(err))
      if refused then assert.matches("^no telemetry message: ", err.message) end
      if later[v.name] == "payload" then assert.is_nil((stream.payload(e.topic, e.payload))) end
    end)
  end

  it("that is cut at any place is refused or whole, and never read beyond", function()
    local whole = unhex(load("envelopes")[1].bytes_hex)
    for size = 0, #whole - 1 do
      local e = stream.envelope(string.sub(whole, 1, size))
      if e then assert.is_true(size > 60) end
    end
  end)
end)

-- One signal by the published JSON mapping, as the record says it: member "…Value" and its value.
local function compare(record, key, member, value)
  local name = key
  if type(key) == "number" then name = string.format("%d", key) end
  if member == nil or member == "invalid" then
    local found = false
    for _, one in ipairs(record.invalid) do found = found or one == name end
    return assert.is_true(found, name)
  end
  if member == "stringValue" then return assert.equal(value, record.texts[name]) end
  local got = record.values[name]
  if type(value) == "table" then
    if member == "timeValue" then
      return assert.equal(string.format("%02d:%02d:%02d", value.hour or 0, value.minute or 0, value.second or 0), got)
    end
    for k, v in pairs(value) do
      local plain = string.gsub(k, "%u", function(c) return "_" .. string.lower(c) end):gsub("(%a)(%d)", "%1_%2")
      local found = got[k]
      if found == nil then found = got[plain] end
      if found == nil then found = got[string.gsub(plain, "^_", "")] end
      if found == nil then found = got[(string.gsub(k, "^%l", string.upper))] end
      assert.equal(v, found, name .. "." .. k)
    end
  elseif member == "longValue" then
    assert.equal(tostring(value), string.format("%s", tostring(got)):gsub("%.0$", ""))
  elseif type(value) == "string" and type(got) == "number" then
    assert.equal(value, tostring(got)) -- "NaN", "Infinity"
  elseif type(value) == "string" then
    assert.equal(string.sub(value, -#got), got)
  elseif type(value) == "number" and type(got) == "string" then
    assert.equal(string.format("%d", value), got) -- an enum's number without a name
  else
    assert.equal(value, got)
  end
end

-- Numbers that the maker's published list lacks and ours names.
local newer = { [264] = "GradeEstimatePercent" }

describe("a payload", function()
  for _, v in ipairs(load "payloads") do
    it("says what it says to the maker's server: " .. v.name, function()
      local record = stream.payload(v.topic, unhex(v.payload_hex))
      if not v.sent then return end
      assert.is_table(record)
      if v.topic == "V" then
        assert.equal(v.signals, record.signals)
        assert.equal(v.sent.isResend or false, record.resend)
        local last = {}
        for _, datum in ipairs(v.sent.data or {}) do
          last[newer[datum.key] or datum.key] = datum.value ~= cjson.null and datum.value or false
        end
        for key, value in pairs(last) do
          local member, content
          if value then member, content = next(value) end
          if string.find(v.name, "NaN", 1, true) == nil and content ~= "NaN" and content ~= "Infinity" and content ~= "-Infinity" then
            compare(record, key, member, content)
          end
        end
      elseif v.topic == "alerts" then
        if v.sent.alerts then assert.equal(#v.sent.alerts, #record.alerts) end
        for i, alert in ipairs(v.sent.alerts or {}) do assert.equal(alert.name, record.alerts[i].name) end
      elseif v.topic == "errors" then
        assert.equal(#(v.sent.errors or {}), #record.errors)
        for i, one in ipairs(v.sent.errors or {}) do
          assert.equal(one.name, record.errors[i].name)
          assert.equal(one.body, record.errors[i].body)
          for tag, text in pairs(one.tags or {}) do assert.equal(text, record.errors[i].tags[tag]) end
        end
      end
    end)
  end

  it("gives a float as the number that was meant", function()
    -- field 8 (Soc), float_value 0.1
    local record = stream.payload("V", unhex "0a090808120525cdcccc3d")
    assert.equal(0.1, record.values.Soc)
  end)
end)

-- Topics and payloads on MQTT. Ours differ where the maker's server fails, knows no name yet, or believes a vehicle's connectivity.
describe("a record on MQTT", function()
  local messages_of = require("fleet.mqtt.telemetry").messages_of
  local ours = { ["datum without value"] = "null", ["unknown field number 264"] = true, connectivity = true }

  for _, v in ipairs(load "mqtt") do
    if not ours[v.name] then
      it("is what the maker's server publishes: " .. v.name, function()
        local wanted = {}
        for _, message in ipairs(v.published) do wanted[message.topic] = cjson.decode("[" .. message.payload .. "]") end
        local payload, got = unhex(v.payload_hex), {}
        local record = assert(stream.payload(v.record, payload))
        record.vin, record.topic, record.raw = "5YJ3000TEST000001", v.record, payload
        for _, message in ipairs(messages_of({ base = "telemetry" }, record)) do
          got[message.topic] = cjson.decode("[" .. message.payload .. "]")
        end
        assert.same(wanted, got)
      end)
    end
  end

  for _, v in ipairs(load "published") do
    it("is what the maker's server publishes, byte for byte: " .. v.name, function()
      local wanted, payload, got = {}, unhex(v.payload_hex), {}
      for _, message in ipairs(v.published) do wanted[message.topic] = message.payload end
      local record = assert(stream.payload(v.record, payload))
      record.vin, record.topic, record.raw = "5YJ3000TEST000001", v.record, payload
      for _, message in ipairs(messages_of({ base = "telemetry" }, record)) do got[message.topic] = message.payload end
      assert.same(wanted, got)
    end)
  end
end)

describe("a client certificate", function()
  local at = 1798761600 -- the time at which the maker's server looked at them

  for _, v in ipairs(load "identity") do
    it("names its device: " .. v.name, function()
      local who, err = stream.verify(pem(v.der_base64), pem(v.der_base64), at)
      if v.error or v.device_id == "" then
        assert.is_nil(who)
        assert.equal("forbidden", err.kind)
      else
        assert.same({ id = v.device_id, kind = v.client_type }, who)
      end
    end)
  end

  local chains = load "chains"
  for _, v in ipairs(load "authorities") do chains[#chains + 1] = v end
  for _, v in ipairs(chains) do
    it("is verified as the maker's server does: " .. v.name, function()
      local sent, trusted = {}, {}
      for i, der in ipairs(v.sent_der_base64) do sent[i] = pem(der) end
      for i, der in ipairs(v.trusted_der_base64) do trusted[i] = pem(der) end
      local who, err = stream.verify(table.concat(sent), table.concat(trusted), at)
      if v.handshake == "accepted" and not v.identity_error then
        assert.same({ id = v.device_id, kind = v.client_type }, who)
      else
        assert.is_nil(who)
        assert.equal(v.identity_error and "forbidden" or "tls", err.kind)
      end
    end)
  end
end)
