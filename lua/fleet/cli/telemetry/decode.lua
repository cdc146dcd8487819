-- `fleet telemetry decode`: decodes the bytes of a vehicle, an envelope or a payload alone; as they are, or as hex or base64.

local core = require "fleet.core"
local errors = require "fleet.util.errors"

local M = {}

local TOPICS = { "V", "alerts", "errors" }
local ACKNOWLEDGED, MESSAGE = 5, 4

local function unhex(text)
  return (string.gsub(text, "%x%x", function(digits) return string.char(tonumber(digits, 16)) end))
end

-- The bytes that a text may encode, the likeliest first.
local function readings(text)
  local list, packed = {}, string.gsub(text, "%s", "")
  if #packed > 0 and #packed % 2 == 0 and not string.find(packed, "%X") then list[#list + 1] = unhex(packed) end
  if #packed > 0 and #packed % 4 == 0 and string.find(packed, "^[%w+/]+=*$") then
    local ok, bytes = pcall(core.unbase64, packed)
    if ok and bytes then list[#list + 1] = bytes end
  end
  list[#list + 1] = text
  return list
end

local function payload(stream, topic, bytes)
  local record = stream.payload(topic, bytes)
  if not record then return nil end
  if topic == "V" then require("fleet.telemetry.fields").complete(record) end
  record.topic = topic
  return record
end

local function message(stream, bytes)
  local envelope = stream.envelope(bytes)
  if not envelope then return nil end
  if envelope.type == ACKNOWLEDGED then return { acknowledged = envelope.txid, topic = envelope.topic } end
  if envelope.type ~= MESSAGE then return nil end
  local record = payload(stream, envelope.topic, envelope.payload) or { topic = envelope.topic, unread = core.base64(envelope.payload) }
  record.txid, record.created_at, record.sender = envelope.txid, envelope.created_at, envelope.sender_id
  return record
end

-- Other bytes may parse as an empty payload; such a reading is discarded.
local function says_something(record)
  if not record then return false end
  return next(record.values or {}) ~= nil or (record.invalid or {})[1] ~= nil or record.texts ~= nil
    or (record.alerts or {})[1] ~= nil or (record.errors or {})[1] ~= nil
end

--- The decoded text as a table, or nil, err, "invalid".
function M.decode(stream, text)
  for _, bytes in ipairs(readings(text)) do
    local found = message(stream, bytes)
    if found then return found end
    for _, topic in ipairs(TOPICS) do
      local record = payload(stream, topic, bytes)
      if says_something(record) then return record end
    end
  end
  return errors.failure("invalid", "decode: this is neither a message of a vehicle nor its payload (bytes, hex or base64)")
end

return M
