-- ensure: settings that are declared and kept, with the least number of billed calls.
--
-- One look shows all settings; only those that differ are sent. A setting that a person or another program changes back repeatedly
-- is left alone for the day: undoing each other costs money and has no result.

local arbitration = require "fleet.automation.arbitration"
local errors = require "fleet.util.errors"
local local_time = require "fleet.automation.local_time"
local rows = require "fleet.call.rows"
local expectation = require "fleet.confirm.expectation"
local core = require "fleet.core"
local poll_schedule = require "fleet.automation.poll_schedule"

local M = {
  doc = "Keeps settings of a car or a site as you declare them.",
  precedence = 10,
  handles = { "car|site" },
  options = {
    settings = { type = "table", needed = true, doc = "calls and their parameters: { set_charge_limit = { percent = 80 }, … }" },
    every = { type = "number", min = 600, max = 7 * 86400, default = 3600, doc = "seconds between live reads of a car that is awake" },
    look_every = { type = "number", min = 60, max = 86400, default = 3600, doc = "seconds between reads of the car's record" },
    most_a_day = { type = "number", min = 1, max = 24, default = 3, doc = "how many times a day one setting is sent again" },
  },
}

local where = "fleet.automation.ensure: "

local function check_setting(handle, name, params)
  local row = rows.by_name[name]
  if not row then
    local known = {}
    for _, one in ipairs(rows.all()) do
      if one.handle == handle and one.settle then known[#known + 1] = one.name end
    end
    errors.unknown_name("fleet.automation.ensure", "setting", name, known)
  end
  if row.handle ~= handle then errors.usage(where .. "'" .. name .. "' is not a call of a " .. handle) end
  if not row.settle then errors.usage(where .. "'" .. name .. "' cannot be read back, so that it cannot be kept") end
  if type(params) ~= "table" then errors.usage(where .. "'" .. name .. "' needs a table of its parameters, {} for none") end
end

-- The settings in a lasting order, and the sections that show them.
local function ordered(settings)
  local names, sections, seen = {}, {}, {}
  for name in pairs(settings) do names[#names + 1] = name end
  table.sort(names)
  for _, name in ipairs(names) do
    for _, section in ipairs(expectation.sections(rows.by_name[name])) do
      if not seen[section] then sections[#sections + 1] = section end
      seen[section] = true
    end
  end
  return names, sections
end

function M.prepare(config)
  if config.car and config.site then errors.usage(where .. "give a car or a site, not both") end
  local handle = config.car and "vehicle" or "site"
  for name, params in pairs(config.settings) do check_setting(handle, name, params) end
  if next(config.settings) == nil then errors.usage(where .. "'settings' names none") end
  config.order, config.sections = ordered(config.settings)
end

--- What settings are read back by, lists of fields by section. A stream that lacks one, or a car that cannot tell it now, must not pass for
--- "off".
function M.reads(config)
  local lists = {}
  for _, name in ipairs(config.order) do
    for section, field in string.gmatch(rows.by_name[name].settle, "([%a_]+)%.([%w_]+)") do
      lists[section] = lists[section] or {}
      table.insert(lists[section], field)
    end
  end
  return lists
end

-- ---- looking ----

local function site_looks(config, now, state)
  local at = state.at.site_info
  if not at or now - at >= config.every then return { { call = "site_info" } } end
  return {}
end

local function car_looks(config, now, state)
  if not state.at.info or now - state.at.info >= config.look_every then return { { call = "info" } } end
  if not poll_schedule.awake(state, now) then return {} end
  local at = state.at[config.sections[1]]
  local due = not at or at < (state.awake_since or 0) or now - at >= config.every
  return due and { poll_schedule.live(config.sections) } or {}
end

-- ---- deciding ----

local function data_of(config, state)
  if config.site then return { site_info = state.seen.site_info } end
  return state.seen
end

-- Whether the data has a value for what is declared. A switch that a reply leaves out is off; anything else is not known.
local function is_known(row, params, data)
  if string.find(row.settle, " when ", 1, true) or string.find(row.settle, " same ", 1, true) then return true end
  local current = expectation.current(row, data)
  for name, wanted in pairs(params) do
    local compared = string.find(row.settle, "%$" .. name .. "%f[^%w_]")
    if compared and type(wanted) ~= "boolean" and (current[name] == nil or type(current[name]) == "table") then return false end
  end
  return true
end

-- What a site shows right after a setting was accepted is what it makes of it: it is not sent again.
local read_back_within = 60

local function keeps_other(config, state, name, shown)
  if not config.site then return false end
  local m, did = state.memory, state.did[arbitration.subject(name)]
  m.kept = m.kept or {}
  local since = did and did.sure and state.at.site_info - did.at
  if since and since >= 0 and since <= read_back_within then m.kept[name] = shown end
  if m.kept[name] ~= shown then m.kept[name] = nil end
  return m.kept[name] ~= nil
end

-- A setting as a person says it: "charge limit".
local function label(name)
  return (string.gsub(string.gsub(name, "^set_", ""), "_", " "))
end

local function labels(names)
  local list = {}
  for i, name in ipairs(names) do list[i] = label(name) end
  return table.concat(list, ", ")
end

-- Names of the settings that differ; sentences on those that differ and are left alone.
local function wrong(config, state)
  local list, left_alone, data = {}, {}, data_of(config, state)
  for _, name in ipairs(config.order) do
    local row, params = rows.by_name[name], config.settings[name]
    local seen = data[expectation.sections(row)[1]]
    local known = seen and is_known(row, params, data)
    if seen and not known then left_alone[#left_alone + 1] = label(name) .. ": its present value is not known, so it is left alone" end
    if known and not expectation.holds(row, params, data) then
      local shown = core.json_encode(expectation.current(row, data))
      if keeps_other(config, state, name, shown) then
        left_alone[#left_alone + 1] = label(name) .. ": the site keeps another value than was sent, " .. shown .. ", and it is left alone"
      else
        list[#list + 1] = name
      end
    end
  end
  return list, left_alone
end

local function today(config, now)
  return config.local_zone and local_time.date(config.local_zone, now) or os.date("!%F", math.floor(now))
end

-- How often each setting was set today.
local function tally(config, now, state)
  local m, date = state.memory, today(config, now)
  if m.date ~= date then m.date, m.set = date, {} end
  return m.set
end

-- What a setting is read back as is not always what was sent, so that after it the section is read again at the next look.
local function set_action(config, name)
  local params = config.settings[name]
  return { call = name, params = next(params) and params or nil, want = "set", why = label(name) .. " is not as wanted" }
end

local function claims_of(config, now)
  local claims = {}
  for _, name in ipairs(config.order) do
    claims[arbitration.subject(name)] = { ends = math.ceil((now + 2 * 86400) / 86400) * 86400 }
  end
  return claims
end

local function correct(config, now, state, names)
  local set, actions, given_up, sent = tally(config, now, state), {}, {}, {}
  local looked = state.at[config.site and "site_info" or config.sections[1]]
  for _, name in ipairs(names) do
    local did = state.did[arbitration.subject(name)]
    local after_look = did and did.at >= looked
    if (set[name] or 0) >= config.most_a_day then
      given_up[#given_up + 1] = name
    elseif not after_look then
      set[name] = (set[name] or 0) + 1
      actions[#actions + 1], sent[#sent + 1] = set_action(config, name), name
    end
  end
  if config.site and #actions > 0 then actions[#actions + 1] = { call = "site_info" } end -- it is free
  return actions, given_up, sent
end

local function again_at(config, now, state)
  if config.site then return state.at.site_info + config.every end
  return math.max(state.at.info + config.look_every, now + 1)
end

function M.decide(config, now, state)
  local claims = config.car and claims_of(config, now) or nil
  local looks = config.site and site_looks(config, now, state) or not config.site and car_looks(config, now, state)
  if #looks > 0 then return { actions = looks, claims = claims } end
  local again = again_at(config, now, state)
  if config.car and not state.at[config.sections[1]] then
    return { why = "waits until the car is awake: it is " .. state.seen.info.state, again_at = again, claims = claims }
  end
  local names, left_alone = wrong(config, state)
  local actions, given_up, sent = correct(config, now, state, names)
  local why = #left_alone > 0 and table.concat(left_alone, "; ") or "all settings are as wanted"
  local notices = {}
  for i, text in ipairs(left_alone) do
    notices[i] = { key = "left alone " .. today(config, now) .. " " .. text, severity = "warning", text = text }
  end
  if #given_up > 0 then why = labels(given_up) .. ": a person or another program keeps changing it, so it is left alone until tomorrow" end
  if #sent > 0 then why = "setting as wanted: " .. labels(sent) end
  if #actions > 0 and config.car then
    local look = poll_schedule.before_command(state, now)
    if look then return { actions = { look }, again_at = again, claims = claims } end
    if poll_schedule.away(state, now) then return { why = why .. ", when the car is awake", again_at = again, claims = claims } end
  end
  return { why = why, actions = actions, again_at = again, claims = claims, notices = notices }
end

--- Six live looks a day, a command now and then; the looks by the clock are free.
function M.month(config)
  if config.site then return {} end
  return { data = 180, command = 30 }
end

return M
