-- The faults.PROTOCOL of a signed message between the service and the vehicle, and of the vehicle itself. Each fault maps the message to an
-- answer; deliver(bytes) is the fault-free delivery.
local computers = require("fleet.sim.signed.computers")

local M = {}

-- ---- damage ----

local function varint(bytes, at)
  local value, factor = 0, 1
  repeat
    local byte = bytes:byte(at)
    value, factor, at = value + byte % 128 * factor, factor * 128, at + 1
  until byte < 128
  return value, at
end

local FIXED = { [1] = 8, [5] = 4 }

-- The start and end of a field's content between two positions of a protobuf message; nothing when the field is absent.
local function field(bytes, from, to, number)
  local at = from
  while at <= to do
    local key, size
    key, at = varint(bytes, at)
    local kind = key % 8
    if kind == 0 then
      size, at = 0, select(2, varint(bytes, at))
    elseif kind == 2 then
      size, at = varint(bytes, at)
      if (key - kind) / 8 == number then return at, at + size - 1 end
    end
    at = at + (size or FIXED[kind])
  end
end

-- A copy of the message with the last byte of the field at this path changed, or nil when the field is absent.
local function damaged(bytes, path)
  local from, to = 1, #bytes
  for _, number in ipairs(path) do
    from, to = field(bytes, from, to, number)
    if not from then return nil end
  end
  return bytes:sub(1, to - 1) .. string.char((bytes:byte(to) + 1) % 256) .. bytes:sub(to + 1)
end

-- Paths: signature_data, its kind, its tag (doc/protocol.md#message-envelope).
local REQUEST_TAG, INFO_TAG, ANSWER_TAG = { 13, 8, 4 }, { 13, 6, 1 }, { 13, 9, 3 }

-- ---- faults: (x, options) → the answer or nil, an answer that replaces the next one or nil ----

local ways = {}

local function straight(x)
  return x.deliver(x.bytes)
end

function ways.corrupted_tag(x, options)
  if options.of == "request" then return x.deliver(damaged(x.bytes, REQUEST_TAG) or x.bytes) end
  local answer = straight(x)
  return damaged(answer, INFO_TAG) or damaged(answer, ANSWER_TAG) or answer
end

function ways.epoch_change(x, options)
  computers.restart(x.vehicle, options.seconds or 60)
  return straight(x)
end

function ways.vehicle_key_change(x)
  computers.replace(x.vehicle)
  return straight(x)
end

-- The vehicle forgets the used counters of this epoch, but not its clock, and rejects the signature. A client that then adopts the lower
-- counter is rejected from then on.
function ways.counter_lowered(x)
  local message = damaged(x.bytes, REQUEST_TAG)
  if not message or not x.vehicle.keys[1] then return straight(x) end
  return (computers.forgetful(x.service, x.vehicle, x.domain, x.epoch):handle(message))
end

function ways.clock_step(x, options)
  x.vehicle.clock_step = (x.vehicle.clock_step or 0) + (options.seconds or 3600)
  return straight(x)
end

function ways.duplicated(x, options)
  local answer = straight(x)
  if options.of ~= "request" then return answer, answer end
  local second = straight(x)
  return options.answer == "second" and second or answer
end

function ways.reordered(x)
  return nil, straight(x)
end

function ways.lost(x, options)
  if options.of ~= "request" then straight(x) end
  return nil
end

-- The vehicle does not know the key during one message.
function ways.unpaired(x)
  local keys = x.vehicle.keys
  x.vehicle.keys = {}
  computers.keys_changed(x.vehicle)
  local answer = straight(x)
  x.vehicle.keys = keys
  computers.keys_changed(x.vehicle)
  return answer
end

--- Returns the answer to a message, or nil when none arrives in time. x: service, vehicle, domain, bytes, epoch, fault (or nil), deliver.
function M.run(x)
  local way = x.fault and ways[x.fault.name] or straight
  local answer, next_answer = way(x, x.fault and x.fault.options)
  x.vehicle.deferred_answers = x.vehicle.deferred_answers or {}
  local earlier = x.vehicle.deferred_answers[x.domain]
  x.vehicle.deferred_answers[x.domain] = next_answer
  return earlier or answer
end

return M
