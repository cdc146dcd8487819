-- A commuter's month for the specs of automations, and questions about it.

local fleet = require "fleet"

local M = {}

M.tariff = assert(fleet.tariff.from_rows {
  currency = "EUR", name = "Three prices", time_zone = "Europe/Berlin",
  rows = {
    { from = "00:00", to = "05:00", price = 0.19 }, { from = "05:00", to = "17:00", price = 0.31 },
    { from = "17:00", to = "21:00", price = 0.42 }, { from = "21:00", to = "24:00", price = 0.26 },
  },
})

M.commuting = {
  { "07:30", "leave", days = "mon-fri", miles = 70 }, { "17:45", "plug", days = "mon-fri" },
  { "10:00", "leave", days = "sat", miles = 110 }, { "19:00", "plug", days = "sat" },
}

local function joined(...)
  local all = {}
  for _, list in ipairs { ... } do
    for _, one in ipairs(list) do all[#all + 1] = one end
  end
  return all
end

--- Rehearses; more: options over the usual ones; more.also: further habits.
function M.of(more)
  local given = {
    from = "2026-03-01", days = 31, zone = "Europe/Berlin", tariff = M.tariff, ready_by = "07:00",
    vehicle = { charge_state = { battery_level = 80, charge_limit_soc = 80, charge_current_request_max = 16 } },
  }
  for name, value in pairs(more) do given[name] = value end
  given.habits, given.also = joined(more.habits or M.commuting, more.also or {}), nil
  return fleet.automation.rehearse(given)
end

--- A month of charge_by.
function M.charge_by(options, more)
  local last
  local given = { automation = function(car)
    local own = { car = car, ready_by = "07:00", level = 80, tariff = M.tariff, wake = true }
    for name, value in pairs(options or {}) do own[name] = value end
    last = fleet.automation.charge_by(own)
    return last
  end }
  for name, value in pairs(more or {}) do given[name] = value end
  local month = M.of(given)
  M.last_calls, M.last_said = last:cost().calls, last:explain()
  return month
end

--- The month without any automation: the car charges when it is plugged in.
function M.at_once(more)
  local given = { automation = function() return {} end }
  for name, value in pairs(more or {}) do given[name] = value end
  return M.of(given)
end

--- Plugged in without charging, and started every day at a fixed hour.
function M.at_hour(hour, more)
  local habits = {}
  for i, habit in ipairs(more and more.habits or M.commuting) do
    habits[i] = {}
    for name, value in pairs(habit) do habits[i][name] = value end
    if habit[2] == "plug" then habits[i].start = false end
  end
  habits[#habits + 1] = { hour, "start_by_hand" }
  local given = { automation = function() return {} end }
  for name, value in pairs(more or {}) do given[name] = value end
  given.habits = habits
  return M.of(given)
end

--- Local time of a command: "2026-03-29 00:05".
function M.local_text(month, at)
  local t = month.zone:localtime(math.floor(at))
  return string.format("%04d-%02d-%02d %02d:%02d", t.year, t.month, t.day, t.hour, t.min)
end

--- Commands of one local date: list of names.
function M.on(month, date)
  local list = {}
  for _, command in ipairs(month.commands) do
    if string.sub(M.local_text(month, command.at), 1, 10) == date then list[#list + 1] = command.name end
  end
  return list
end

--- Commands of which the vehicle said that they changed nothing, or that were sent twice in a row to the same effect.
function M.wasted(month)
  local list, last = {}, {}
  for _, command in ipairs(month.commands) do
    local group = string.find(command.name, "^charge_st") and "charging" or command.name
    local text = command.name .. tostring(command.params.charging_amps or command.params.percent or "")
    if command.result == false or (last[group] == text and group ~= "charging") then
      list[#list + 1] = M.local_text(month, command.at) .. " " .. text .. " " .. tostring(command.reason)
    end
    last[group] = text
  end
  return list
end

--- Sentences that an automation said, joined.
function M.said(month, by)
  local list = {}
  for _, note in ipairs(month.notes) do
    if not by or note.by == by then list[#list + 1] = M.local_text(month, note.at) .. " " .. note.text end
  end
  return table.concat(list, "\n")
end

return M
