-- A week of minutes (0 is Monday 00:00), and the tou_periods that say the same.

local M = {}

M.DAY, M.WEEK = 1440, 7 * 1440

local DAY = M.DAY

--- The stretches { from =, to =, label =, price = } of each day, minutes of that day; neighbours of one label are one.
function M.split_by_day(spans)
  local days = { {}, {}, {}, {}, {}, {}, {} }
  for _, s in ipairs(spans) do
    local from = s.from
    while from < s.to do
      local index = math.floor(from / DAY)
      local to = math.min(s.to, (index + 1) * DAY)
      local day = days[index + 1]
      local last = day[#day]
      if last and last.to == from - index * DAY and last.label == s.label then
        last.to = to - index * DAY
      else
        day[#day + 1] = { from = from - index * DAY, to = to - index * DAY, label = s.label, price = s.price }
      end
      from = to
    end
  end
  return days
end

local function pattern(day)
  local parts = {}
  for i, s in ipairs(day) do parts[i] = string.format("%d-%d %s", s.from, s.to, s.label) end
  return table.concat(parts, "\0")
end

local function add_period(labels, s, from_day, to_day)
  labels[s.label] = labels[s.label] or { periods = {} }
  table.insert(labels[s.label].periods, {
    fromDayOfWeek = from_day, toDayOfWeek = to_day,
    fromHour = math.floor(s.from / 60), fromMinute = s.from % 60,
    toHour = math.floor(s.to / 60) % 24, toMinute = s.to % 60,
  })
end

--- Neighbouring days with the same pattern: { { first =, last =, spans of the day }, … }, 0 is Monday.
function M.day_runs(spans)
  local days, runs, first = M.split_by_day(spans), {}, 1
  for i = 1, 7 do
    if i == 7 or pattern(days[i]) ~= pattern(days[i + 1]) then
      runs[#runs + 1] = { first = first - 1, last = i - 1, spans = days[i] }
      first = i + 1
    end
  end
  return runs
end

--- Days that are alike share their rows: the app shows weekdays and weekend best (doc/protocol.md#tariff-meaning).
function M.tou_periods(spans)
  local labels = {}
  for _, run in ipairs(M.day_runs(spans)) do
    for _, s in ipairs(run.spans) do add_period(labels, s, run.first, run.last) end
  end
  return labels
end

return M
