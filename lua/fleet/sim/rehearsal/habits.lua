-- The people of the house, who plug in, leave and give commands at local times. A habit is { "17:45", action, days = "mon-fri", date =, …
-- }; the action is a name from here or a function(stage, habit).

local core = require "fleet.core"
local calendar = require "fleet.automation.local_time"
local errors = require "fleet.util.errors"

local M = {}

local actions = {}
M.actions = actions

function actions.plug(stage, habit)
  stage.event("park")
  stage.event("plug", { start = habit.start })
end

function actions.leave(stage, habit)
  stage.event("unplug")
  stage.event("drive", { miles = habit.miles or 0 })
  stage.event("park")
end

function actions.limit(stage, habit) require("fleet.sim.commands").set_charge_limit(stage.car, { percent = habit.percent }) end

-- The driver leaves the car with some openings open: habit.open = { fd_window = 1, … }.
function actions.leave_open(stage, habit)
  require("fleet.sim.physics").rouse(stage.car, stage.service:now())
  stage.event("park")
  require("fleet.util.tables").add(stage.car.sections.vehicle_state, habit.open)
end

function actions.unplug(stage) stage.event("unplug") end
function actions.start_by_hand(stage) require("fleet.sim.physics").start_charging(stage.car) end
function actions.stop_by_hand(stage) require("fleet.sim.physics").stop_charging(stage.car) end
function actions.service_down(stage) stage.down = true end
function actions.service_up(stage) stage.down = false end
function actions.offline(stage) stage.event("offline") end
function actions.online(stage) stage.event("online") end

function actions.fault(stage, habit)
  local options = {}
  for name, value in pairs(habit) do
    if type(name) == "string" and name ~= "fault" and name ~= "times" and name ~= "days" and name ~= "date" then options[name] = value end
  end
  require("fleet.sim.control").fault(stage.service, habit.fault, habit.times, options)
end


local day_sets = {
  all = "0123456", ["mon-fri"] = "12345", ["sat-sun"] = "06",
  sun = "0", mon = "1", tue = "2", wed = "3", thu = "4", fri = "5", sat = "6",
}

-- Sunday is 0.
local function holds_on(habit, date)
  if habit.date then return habit.date == date end
  local weekday = (core.date_days(date) + 4) % 7
  return string.find(day_sets[habit.days or "all"] or "", tostring(weekday), 1, true) ~= nil
end

local function check_habit(i, habit)
  local where = "rehearse: habit " .. i
  if not actions[habit[2]] and type(habit[2]) ~= "function" then errors.unknown_name(where, "action", habit[2], actions) end
  if not calendar.minutes(tostring(habit[1])) then errors.usage(where .. ": the first member is a time such as \"17:30\"") end
  if habit.days and not day_sets[habit.days] then errors.unknown_name(where, "days", habit.days, day_sets) end
end

--- All actions in the order of time: { at =, habit = }.
function M.agenda(stage, given)
  local list = {}
  for i, habit in ipairs(given.habits) do
    check_habit(i, habit)
    local at = stage.from - 1
    while true do
      at = calendar.next(stage.zone, at, calendar.minutes(habit[1]))
      if at >= stage.to then break end
      if holds_on(habit, calendar.date(stage.zone, at)) then list[#list + 1] = { at = at, habit = habit, order = i } end
    end
  end
  table.sort(list, function(a, b) return a.at < b.at or a.at == b.at and a.order < b.order end)
  return list
end

--- Carries out an entry of the agenda.
function M.act(stage, entry)
  local action = entry.habit[2]
  if type(action) == "function" then action(stage, entry.habit) else actions[action](stage, entry.habit) end
end

return M
