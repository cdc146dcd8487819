-- Looking at a car or a site on behalf of an automation, and noting what was seen.

local poll_schedule = require "fleet.automation.poll_schedule"
local core = require "fleet.core"
local errors = require "fleet.util.errors"
local readings = require "fleet.automation.readings"
local records = require "fleet.resources.record"
local rows = require "fleet.call.rows"
local streamed = require "fleet.automation.streamed"

local M = {}

-- The handle that a call belongs to.
local function target(self, action)
  local row = rows.by_name[action.call]
  return row.handle == "site" and self.config.site or self.config.car
end

--- Notes a look at the record. free: it cost nothing, and another would not either.
function M.remember_info(state, record, now, free)
  local before = state.seen.info
  if record.state == "online" and not (before and before.state == "online") then state.awake_since = now end
  if free == nil then free = before and before.free end
  state.seen.info, state.at.info = { state = record.state, free = free or nil }, now
end

-- A car that charges at a wall connector is awake: the site says so for nothing.
local function awake_at_connector(self, state, live, now)
  for _, entry in ipairs(self.config.car and live.wall_connectors or {}) do
    local flows = entry.vin == self.id and (entry.wall_connector_power or 0) > 100
    if flows and (state.at.info or 0) <= now then M.remember_info(state, { state = "online" }, now) end
  end
end

-- Which sections are as the stream showed them.
local function note_source(state, sections, is_streamed)
  state.streamed = state.streamed or {}
  for _, name in ipairs(sections) do state.streamed[name] = is_streamed or nil end
end

-- Notes what a look showed of these sections, as far as it can be used.
local function remember_sections(self, state, sections, value_of, now)
  local odd, missing = {}, {}
  for _, name in ipairs(sections) do
    local read, odd_here, missing_here = readings.read(name, value_of(name), self.definition.needs)
    if read then state.seen[name], state.at[name] = read, now end
    for _, field in ipairs(odd_here) do odd[#odd + 1] = field end
    for _, field in ipairs(missing_here) do missing[#missing + 1] = field end
  end
  return odd, missing
end

-- Returns lists of the fields that could not be used, and of those that are needed and missing.
local function remember(self, state, action, value, now, free)
  if action.call == "info" then
    local read, odd = readings.read("info", value)
    if not read.state then return odd, { "state" } end
    M.remember_info(state, read, now, free)
    return odd, {}
  end
  if action.call ~= "vehicle_data" then return remember_sections(self, state, { action.call }, function() return value end, now) end
  M.remember_info(state, { state = "online" }, now)
  return remember_sections(self, state, action.sections, function(name) return value[name] end, now)
end

local same_moment = 2 -- seconds in which one list serves the automations of all cars; what it says counts as seen now

-- Reads the car's record, which does not wake it, from the cheapest source; and whether that is free, or nil, err.
local function record_of(self)
  return records.of(self.config.car, { age = same_moment })
end

-- Where another look is free, an older one is not enough: a car falls asleep, or starts charging, within a second.
local function is_sure(state, now)
  local info = state.seen.info
  return info ~= nil and not (info.free and now - state.at.info >= same_moment)
end

--- nil, err for a reply without the needed fields.
function M.unreadable(call, fields)
  return nil, errors.new("protocol", call .. ": no usable value for " .. table.concat(fields, ", "), { unreadable = call })
end

--- The non-waking look before every live call; it decides nothing, it only protects sleep (doc/protocol.md#sleep-and-wake).
function M.ready_for_live_call(self, state)
  local now = self:wall()
  local sure = is_sure(state, now)
  if sure and poll_schedule.awake(state, now) then return true end
  if not (sure and poll_schedule.away(state, now)) then
    local record, free = record_of(self)
    if not record then return nil, free end
    if not readings.read("info", record).state then return M.unreadable("info", { "state" }) end
    M.remember_info(state, record, self:wall(), free)
    if record.state == "online" then return true end
  end
  if not self.config.wake or state.seen.info.state ~= "asleep" or self.dry then return false end
  local woken, err = self.config.car:wake()
  if not woken then return nil, err end
  M.remember_info(state, { state = "online" }, self:wall())
  return true
end

--- Calls what an action names.
function M.call(self, action)
  local handle = target(self, action)
  if action.params ~= nil then return handle[action.call](handle, action.params, action.options) end
  return handle[action.call](handle)
end

-- A look of which members are kept as text: numbers and members that a table would not keep come back as they were read.
local function call_with_texts(self, action)
  local body, err = target(self, action)[action.call](target(self, action), { raw = true })
  if not body then return nil, err end
  local reply = core.json_decode(body)
  local value, whole = type(reply) == "table" and reply.response, core.json_member(body, "response")
  if type(value) ~= "table" or not whole then return M.unreadable(action.call, { "response" }) end
  value.texts = {}
  for _, name in ipairs(action.texts) do value.texts[name] = core.json_member(whole, name) end
  return value
end

local function read(self, action)
  if action.call == "info" then return record_of(self) end
  if action.texts then return call_with_texts(self, action) end
  return M.call(self, action)
end

--- Looks into an event of the stream, which shows that the car is awake. Returns whether to decide now.
function M.look_into_event(self, state)
  local now = self:wall()
  local due = streamed.due_at(self, state)
  if not due or now < due then return false end
  local value, sections = streamed.look_into(self, state, now)
  M.remember_info(state, { state = "online" }, now)
  if value then
    remember_sections(self, state, sections, function(name) return value[name] end, now)
    note_source(state, sections, true)
  end
  return not streamed.due_at(self, state)
end

--- Makes a look and notes what it showed. Returns true, and a list of the fields that could not be used; false where the car cannot be
--- looked at, or false, nil and when to try again where it should not be yet; or nil, err.
function M.look(self, state, action)
  if action.call == "vehicle_data" then
    local known = streamed.read(self, state, action, self:wall())
    if known then
      note_source(state, action.sections, true)
      return true, (remember(self, state, action, known, self:wall()))
    end
    local values_due = streamed.values_due(self, self:wall())
    if values_due then return false, nil, values_due end
    local ready, err = M.ready_for_live_call(self, state)
    if not ready then return ready, err end
    local again_at = streamed.waits_until(self, state, action, self:wall())
    if again_at then return false, nil, again_at end
  end
  local value, more = read(self, action) -- more, with a record: whether it was free; else the error
  if not value then return nil, more end
  local odd, missing = remember(self, state, action, value, self:wall(), more)
  if action.call == "vehicle_data" then
    note_source(state, action.sections, false)
    streamed.looked(self, action.sections)
  end
  if #missing > 0 then return M.unreadable(action.call, missing) end
  if action.call == "live_status" then awake_at_connector(self, state, state.seen.live_status, self:wall()) end
  return true, odd
end

return M
