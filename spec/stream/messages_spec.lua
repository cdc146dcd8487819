-- The names of fields and enums as the maker publishes them (spec/vectors/telemetry/messages.tsv), and what its logger prints of messages
-- (log-lines.json).

local cjson = require "cjson"
local files = require "spec.support.harness.files"
local protobuf = require "spec.support.fixtures.protobuf"
local stream = require "fleet.stream"

local bytes, number = protobuf.bytes, protobuf.number

-- By the name of an enum: its numbers by name; and the members of a value that hold an enum: number → name of the enum.
local enums, members = {}, {}
for line in string.gmatch(files.read "spec/vectors/telemetry/messages.tsv", "[^\n]+") do
  local kind, _, message, name, field, rest = string.match(line, "^(%w+)\t([%w_]*)\t([%w_]*)\t([%w_]*)\t(%d*)\t([^\t]*)")
  if kind == "enum" then
    enums[name] = {}
    for value, n in string.gmatch(rest, "([%w_]+)=(%d+)") do enums[name][value] = tonumber(n) end
  elseif kind == "field" and message == "Value" then
    members[tonumber(field)] = rest
  end
end
for field, name in pairs(members) do members[field] = enums[name] and name end

local function published(field, ...) return stream.published(bytes(1, number(1, field), bytes(2, ...))) end

describe("a published name", function()
  it("is that of each field's number, and of no other number", function()
    local count = 0
    for name, field in pairs(enums.Field) do
      if field > 0 then
        assert.equal(name, published(field, bytes(1, "text"))[1].name)
        count = count + 1
      end
    end
    assert.equal(259, count)
    assert.not_equal("Soc", published(enums.Field.Soc + 1, bytes(1, "text"))[1].name)
  end)

  it("is that of each value of each enum; a number without a name stays a number", function()
    local count = 0
    for member, name in pairs(members) do
      for text, n in pairs(enums[name]) do
        assert.equal('"' .. text .. '"', published(enums.Field.Gear, number(member, n))[1].json, name)
        count = count + 1
      end
      assert.not_matches("%a", published(enums.Field.Gear, number(member, 99))[1].json, name)
    end
    assert.is_true(count > 150)
  end)
end)

-- ---- what the logger prints ----

local function xor(a, b)
  local sum, digit = 0, 1
  while a > 0 or b > 0 do
    if a % 2 ~= b % 2 then sum = sum + digit end
    a, b, digit = math.floor(a / 2), math.floor(b / 2), digit * 2
  end
  return sum
end

-- The messages in masked frames with a length of two bytes, by their ids.
local function sent_messages()
  local found = {}
  for _, v in ipairs(cjson.decode(files.read "spec/vectors/telemetry/sessions.json").vectors) do
    for _, one in ipairs(v.exchange) do
      local frame = one.client == "V message" and string.gsub(one.hex, "..", function(digits) return string.char(tonumber(digits, 16)) end)
      local size = frame and string.byte(frame, 3) * 256 + string.byte(frame, 4)
      if size and string.byte(frame, 2) == 254 and #frame == 8 + size then
        local plain = {}
        for k = 1, size do plain[k] = string.char(xor(string.byte(frame, 8 + k), string.byte(frame, 5 + (k - 1) % 4))) end
        local e = assert(stream.envelope(table.concat(plain)))
        found[e.txid] = found[e.txid] or e
      end
    end
  end
  return found
end

describe("a line of the maker's logger", function()
  it("says of a message what its record here says", function()
    local messages, compared = sent_messages(), 0
    for _, line in ipairs(cjson.decode(files.read "spec/vectors/telemetry/log-lines.json").records) do
      local e = line.metadata.txtype == "V" and messages[line.metadata.txid]
      if e then
        local record = assert(stream.payload(e.topic, e.payload))
        local values = {}
        for name, value in pairs(line.data) do
          if enums.Field[name] then values[name] = value end
        end
        assert.same(values, record.values)
        assert.equal(line.data.IsResend, record.resend)
        assert.equal(line.data.CreatedAt, os.date("!%Y-%m-%dT%H:%M:%SZ", math.floor(record.at)))
        assert.equal("vehicle_device." .. line.data.Vin, e.sender_id)
        compared = compared + 1
      end
    end
    assert.is_true(compared >= 2)
  end)
end)
