-- fleet chart: draws the energy flow of a day or a month.

local core = require "fleet.core"
local tables = require "fleet.util.tables"
local usage_error = require "fleet.cli.usage_error"
local options = require "fleet.cli.options"
local row_verb = require "fleet.cli.row_verb"
local rows = require "fleet.call.rows"
local input = require "fleet.cli.input"
local vehicles = require "fleet.cli.vehicles"

local output = { name = "output", type = "string", placeholder = "FILE", doc = "write an SVG picture in place of text" }

-- month=2026-03 becomes the first and last local date of the month.
local function take_month(line)
  for i, pair in ipairs(line.pairs) do
    if pair.name == "month" then
      local year, month = string.match(pair.text, "^(%d%d%d%d)%-(%d%d)$")
      if not year or tonumber(month) < 1 or tonumber(month) > 12 then
        usage_error.raise("'month' must be as 2026-03, got '" .. pair.text .. "'", { "chart" })
      end
      table.remove(line.pairs, i)
      local next_year, next_month = year + (month == "12" and 1 or 0), month % 12 + 1
      return { start_date = pair.text .. "-01", end_date = string.format("%04d-%02d-01", next_year, next_month), period = "month" }
    end
  end
  return {}
end

-- Tesla does not document what one entry of a month's history covers. When it is the whole month, the days are requested.
local by_days = { period = "day", split = 31 }

-- Today's date at the site.
local function today(site)
  local info, err, kind = site:site_info()
  if err then return nil, err, kind end
  local zone
  local name = info.installation_time_zone
  zone, err, kind = core.zone(type(name) == "string" and name ~= "" and name or "UTC")
  if not zone then
    err.message = "the site's installation_time_zone: " .. err.message
    return nil, err, kind
  end
  local _, wall = require("fleet").loop.clock()
  return os.date("!%Y-%m-%d", math.floor(wall + zone:offset(wall)))
end

local function of_site(context, line)
  local month = take_month(line)
  local args = row_verb.arguments(context.environment, rows.by_name.energy_history, line)
  tables.add(args, month)
  local client = context:client()
  local id, err, kind = vehicles.find_site(context, args.energy_site_id)
  if not id then return nil, err, kind end
  args.energy_site_id = id
  if not (args.day or args.start_date or args.end_date) then
    args.day, err, kind = today(context:check(client.energy_site, client, args.energy_site_id))
    if err then return nil, err, kind end
  end
  local history
  history, err, kind = context:waiting("asking the energy site", client.call, client, "energy_history", args)
  if err or not month.period or #(history.time_series or {}) > 1 then return history, err, kind end
  return context:waiting("asking the energy site", client.call, client, "energy_history", tables.copy(args, by_days))
end

local function of_file(context, line)
  local word = line.words[1]
  local extra = line.pairs[1] and line.pairs[1].name .. "=" or line.words[2]
  if extra then usage_error.raise("'chart' of a file takes no '" .. extra .. "'", { "chart" }) end
  local history, err = core.json_decode(input.read(context.environment, "FILE", word == "-" and word or "@" .. word))
  if err or type(history) ~= "table" then usage_error.raise(string.format("'%s' is not a JSON object", word)) end
  return type(history.response) == "table" and history.response or history
end

-- Whether a word names a file; otherwise it is a site's id or name.
local function is_file(word)
  if not word or string.match(word, "^%d+$") then return false end
  if word == "-" or string.find(word, "/", 1, true) or string.find(word, "%.json$") then return true end
  local file = io.open(word, "rb")
  if file then file:close() end
  return file ~= nil
end

local function run(context, line)
  local history, err, kind = (is_file(line.words[1]) and of_file or of_site)(context, line)
  if err then return nil, err, kind end
  local chart, given = require("fleet").chart, options.given(context.environment, { output }, line.options)
  local drawn
  drawn, err, kind = context:check(given.output and chart.svg or chart.text, history)
  if not drawn then return nil, err, kind end
  if not given.output then return { history = history, text = drawn } end
  return input.write(given.output, drawn)
end

local function show(out, value)
  out:write(value.text or "written to " .. value.path .. "\n")
end

return {
  {
    name = "chart", usage = "chart [SITE] [day=DATE | month=YYYY-MM | name=value …]", takes = { output }, run = run, show = show,
    json = function(value) return core.json_encode(value.history or value) end,
    doc = "Draws the energy flow of a site: of today, a day, a month, or a range as energy_history takes it.",
    details = "SITE is an id or a name; by default the account's only site. In its place a file, or - for standard input, may hold what "
      .. "'fleet energy_history … --json' printed.",
  },
}
