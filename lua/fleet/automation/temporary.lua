-- A setting of a site that an automation changes for a while and puts back as it was read.
--
-- What is sent is read back: a site may keep another value than the one that it accepted. That value then counts as ours, so that it is
-- put back too; a later change is the owner's, and stays. memory: { before =, since =, to =, at =, had =, tries =, holds = }, kept
-- with the automation.

local core = require "fleet.core"
local tariffs = require "fleet.tariff"

local M = {}

local gap = 900 -- seconds between two attempts
local settles = 1800 -- seconds in which the site may still change what it has taken
local most_tries = 3 -- after which what an accepted write left is taken for its result

-- A reply without the reserve lacks it; one without a tariff may be of a site from which it was removed.
local function is_unsaid(setting, info)
  return setting == M.reserve and setting.sign(info) == nil
end

--- The look that shows the settings, with their JSON text.
M.look = { call = "site_info", texts = { "backup_reserve_percent", "tariff_content_v2" } }

-- The JSON text of a member, as it was read where the look kept it.
local function text_of(info, name)
  if info.texts and info.texts[name] then return info.texts[name] end
  return info[name] ~= nil and core.json_encode(info[name], "daily_charges periods") or nil
end

-- ---- the two settings ----

local reserve = { call = "backup", name = "reserve" }

-- The service takes whole numbers only.
function reserve.read(info)
  return info.backup_reserve_percent and math.floor(info.backup_reserve_percent + 0.5)
end

reserve.sign = reserve.read

function reserve.shows(info, percent)
  return reserve.read(info) == percent
end

function reserve.params(percent) return { backup_reserve_percent = percent } end

local tariff = { call = "time_of_use_settings", name = "tariff" }

--- The JSON text of the tariff that a site holds, or nil.
function tariff.read(info)
  local content = info.tariff_content_v2
  return content and next(content) ~= nil and text_of(info, "tariff_content_v2") or nil
end

function tariff.sign(info)
  local text = tariff.read(info)
  return text and core.sha256(text)
end

local function is_same(a, b)
  if type(a) ~= "table" or type(b) ~= "table" then return a == b end
  for name, value in pairs(a) do
    if not is_same(value, b[name]) then return false end
  end
  for name in pairs(b) do
    if a[name] == nil then return false end
  end
  return true
end

function tariff.shows(info, text)
  local found, wanted = info.tariff_content_v2, core.json_decode(text)
  if not found or tariff.read(info) == text or is_same(found, wanted) then return found ~= nil end
  local ok, same = pcall(tariffs.stored_as, found, wanted)
  return ok and same
end

-- Sent as text: the client writes what `encode` gives.
function tariff.params(text)
  return setmetatable({}, { encode = function() return text end })
end

M.reserve, M.tariff = reserve, tariff

-- ---- changing and putting back ----

local function send(setting, value, why)
  return {
    call = setting.call, params = setting.params(value), subject = setting.name, want = value, why = why,
    options = setting == tariff and { force = true } or nil, effect = { site_info = { is_unread = true } },
  }
end

--- Whether what was sent may still change, or has not been read back.
function M.is_settling(memory, now)
  return memory.at ~= nil and (not memory.holds or now - memory.at <= settles)
end

-- Whether something of ours may be there: not where each write was refused. What an earlier version kept does not say since when.
local function may_be_ours(setting, memory, state)
  local did = state.did[setting.name]
  return not memory.since or did ~= nil and did.at >= memory.since
end

local function note(setting, memory, info, value)
  memory.holds, memory.keeps_other = setting.sign(info) or "", not setting.shows(info, value)
end

--- Brings a setting to a value. Returns the actions that are due; memory.holds is set once the site shows the value, or what it keeps of
--- it.
function M.bring(setting, memory, now, state, value, why)
  local info, did = state.seen.site_info, state.did[setting.name]
  if memory.to == nil then memory.since = now end
  if memory.to ~= value then memory.to, memory.at, memory.tries, memory.holds = value, nil, 0, nil end
  if info.is_unread then return { M.look } end
  if is_unsaid(setting, info) then return {} end
  if not may_be_ours(setting, memory, state) then memory.before = setting.read(info) or memory.before end
  local shown = setting.sign(info)
  if memory.holds then
    local late = shown ~= nil and shown ~= memory.holds and memory.at and state.at.site_info - memory.at <= settles
    if late then note(setting, memory, info, value) end
    return {}
  end
  local accepted = did and did.sure and did.want == value and memory.at and did.at >= memory.at
  local sent = memory.at and did and did.at >= memory.at
  local kept = sent and shown ~= nil and shown ~= memory.had or accepted and memory.tries >= most_tries
  if setting.shows(info, value) or kept then
    note(setting, memory, info, value)
    return {}
  end
  if memory.at and now - memory.at < gap then return {} end
  memory.had, memory.at, memory.tries = shown, now, memory.tries + 1
  return { send(setting, value, why), M.look }
end

--- Puts the setting back. Returns the actions that are due; whether nothing is left to do; and then what became of it: "restored",
--- "by_hand" where it was changed by hand since, "unchanged" where nothing of ours was there.
function M.put_back(setting, memory, now, state, why)
  local info = state.seen.site_info
  if info.is_unread then return { M.look }, false end
  if memory.to == nil or not may_be_ours(setting, memory, state) then return {}, true, "unchanged" end
  if is_unsaid(setting, info) then return {}, false end
  local shown = setting.sign(info)
  if memory.to ~= memory.before and memory.holds and shown ~= nil and shown ~= memory.holds then return {}, true, "by_hand" end
  local actions = M.bring(setting, memory, now, state, memory.before, why)
  return actions, memory.holds ~= nil, "restored"
end

--- The notice that the site keeps another value than it was sent, or nil.
function M.keeps(setting, memory)
  if not memory.holds or not memory.keeps_other then return nil end
  if setting == tariff then
    return { key = "keeps tariff " .. memory.holds, severity = "warning", text = "the site keeps another tariff than was sent" }
  end
  return {
    key = string.format("keeps reserve %s %s", memory.to, memory.holds), severity = "warning",
    text = string.format("the site keeps %s %%, %s %% was sent", memory.holds, memory.to),
  }
end

local endings = {
  by_hand = "the %s was changed by hand, and stays", unchanged = "the %s was not changed",
  restored = "the %s is as it was before",
}

--- What became of a setting that was put back, as a sentence.
function M.ending(setting, memory, what)
  local keeps = what == "restored" and M.keeps(setting, memory)
  if keeps then return keeps.text end
  if what == "restored" and setting == M.reserve then return string.format("the reserve is back at %s %%", memory.before) end
  return string.format(endings[what], setting.name)
end

--- What a person should know of a setting: that the site keeps another value, or refuses to take the former one back.
function M.notices(setting, memory, state)
  local list = { M.keeps(setting, memory) }
  local refused = state.refused[setting.call]
  if refused and memory.to ~= nil and memory.to == memory.before then
    list[#list + 1] = {
      key = "not put back " .. setting.name .. " " .. tostring(state.day.date), severity = "warning",
      text = string.format("the former %s is not back yet: the site refused it (%s); it is sent again", setting.name, refused.reason),
    }
  end
  return list
end

return M
