-- Tariffs: checks, prices, builds, compares and draws them before they are sent. See doc/manual/tariffs.md.
--
-- The core checks, prices, writes, compares and normalises. Here a tariff becomes an object: a table with every member of
-- tariff_content_v2, whose methods are the functions below. Its plan and zone are stored outside the table, so that the table shows only
-- the content.

local core = require "fleet.core"
local check_names = require("fleet.util.check_options").names
local diff = require "fleet.tariff.diff"
local errors = require "fleet.util.errors"
local explain = require "fleet.tariff.explain"
local draw_text = require "fleet.tariff.text"
local draw_svg = require "fleet.tariff.svg"
local tables = require "fleet.util.tables"

local M = {}

local state = setmetatable({}, { __mode = "k" })

local function check_table(name, value, what)
  if type(value) ~= "table" then errors.usage("fleet.tariff.%s: %s must be a table, got %s", name, what, type(value)) end
end

local function check_options(name, options, known)
  check_table(name, options, "the options")
  check_names("fleet.tariff." .. name, "option", options, known)
  return options
end

-- ---- check and new ----

--- The tariff_content_v2 in a table, and whether it was read from a site. The table is the content itself, a reply, a site_info, or the
--- body of a setting. When only the older form is present, returns that.
function M.content_of(value)
  local is_reply = type(value.response) == "table"
  local outer = is_reply and value.response or value
  local is_stored = is_reply or outer.components ~= nil
  local settings = type(outer.tou_settings) == "table" and outer.tou_settings or {}
  for _, name in ipairs { "tariff_content_v2", "tariff_content" } do
    for _, holder in ipairs { outer, settings } do
      local content = holder[name]
      if type(content) == "table" and next(content) ~= nil then return content, is_stored end
    end
  end
  return outer, is_stored
end

local lists = "daily_charges periods"

-- A plan, its report, and their content. options.any_currency, options.stored: see M.new.
local function read(t, options)
  local content, was_read = M.content_of(t)
  local stored = options.stored or was_read
  local plan, report = core.tariff(content, options.any_currency or stored, stored)
  return plan, explain.annotate(report), content
end

--- Checks a tariff_content_v2 table: { valid =, problems =, normalisations =, warnings = }. Every entry has `kind` and a place;
--- tostring(entry) is a sentence. Nothing is sent or changed. See doc/protocol.md#tariff-checks. options: any_currency and stored, as in
--- new.
function M.check(t, options)
  check_table("check", t, "the tariff")
  options = check_options("check", options or {}, { "any_currency", "stored" })
  local plan, report = read(t, options)
  plan:close()
  return report
end

local methods = {}
local metatable = { __name = "fleet.tariff", __index = methods }

function metatable.__tostring(self)
  return "fleet.tariff (" .. (self.name ~= "" and self.name or "without a name") .. ")"
end

local function refuse(report)
  return errors.failure("invalid", explain.summary(report), {
    problems = report.problems, normalisations = report.normalisations, warnings = report.warnings,
  })
end

-- own.text: JSON of a content with members that the plan does not know.
local function make(own)
  local self = setmetatable(own.text and core.json_decode(own.text) or own.plan:content(), metatable)
  state[self] = own
  return self
end

local function zone_of(time_zone)
  if time_zone then return core.zone(time_zone) end
end

-- The object of a valid plan. zone: of time_zone, if it is open already. text: see make.
local function accept(plan, report, time_zone, zone, text)
  if not report.valid then
    plan:close()
    return refuse(report)
  end
  local err, kind
  if not zone then zone, err, kind = zone_of(time_zone) end
  if err then return nil, err, kind end
  return make { plan = plan, zone = zone, time_zone = time_zone, report = report, text = text }
end

local function has_unknown_member(report)
  for _, warning in ipairs(report.warnings) do
    if warning.kind == "unknown_key" then return true end
  end
  return false
end

--- A tariff object from a tariff_content_v2 table, or nil, err, "invalid" with err.problems as from check. options.time_zone: IANA name of
--- the site, required for queries by UTC seconds. options.any_currency: a currency that the app may not show becomes a warning.
--- options.stored: t was read from a site: any currency is allowed, and unknown members are kept and encoded unchanged. The table is
--- copied.
function M.new(t, options)
  check_table("new", t, "the tariff")
  options = check_options("new", options or {}, { "time_zone", "any_currency", "stored" })
  local plan, report, content = read(t, options)
  local text = report.valid and has_unknown_member(report) and core.json_encode(content, lists) or nil
  return accept(plan, report, options.time_zone, nil, text)
end

local function inside(self, name)
  return state[self] or errors.usage("fleet.tariff.%s: a tariff object expected; make one with fleet.tariff.new", name)
end

--- The tariff object of a value, or one made from it, in any currency, because it is only compared.
local function object(name, value)
  if state[value] then return value end
  check_table(name, value, "the other tariff")
  return M.new(value, { any_currency = true })
end

-- ---- methods ----

--- Buy and sell price at a time: { buy = { price =, season =, label = }, sell = the same or nil }. `when` is UTC seconds if the tariff has
--- a time zone, or a local time { year =, month =, day =, hour = 0, min = 0 }.
function methods:price(when)
  local own = inside(self, "price")
  return own.plan:at(when, own.zone)
end

--- The periods of constant price from `from` to `to` (both UTC seconds, or both local times): a list of { from =, to =, buy =, sell = }, in
--- order, without gaps.
function methods:segments(from, to)
  local own = inside(self, "segments")
  return own.plan:segments(from, to, own.zone)
end

--- The cheapest `hours` between `from` and `to`: a list of { from =, to =, price =, season =, label = } in the order of time, with .hours
--- (less than requested when the window is shorter) and .mean. contiguous = true: one period.
function methods:cheapest(options)
  check_options("cheapest", options, { "hours", "from", "to", "contiguous" })
  local own = inside(self, "cheapest")
  return own.plan:cheapest(options, own.zone)
end

--- The tariff as the service will store it: negative prices become 0, buy prices below the sell price become equal to it. Labels and
--- seasons are split when only a part of them changes.
function methods:normalised()
  local own = inside(self, "normalised")
  local plan, report = own.plan:normalised()
  return make { plan = plan, zone = own.zone, time_zone = own.time_zone, report = explain.annotate(report) }
end

--- The JSON text of tariff_content_v2 with every member, including zeros, sorted. A tariff that was read from a site with unknown members
--- is written as it was read.
function methods:encode()
  local own = inside(self, "encode")
  return own.text or own.plan:json()
end

--- The differences in meaning: a list of { path =, from =, to = }, empty when there are none. Omitted members count as zero, and the order
--- of periods does not matter. `other` is a tariff object or a table; an invalid one gives nil, err, "invalid".
function methods:diff(other)
  local own = inside(self, "diff")
  local second, err, kind = object("diff", other)
  if not second then return nil, err, kind end
  return diff.of(own.plan:content(), state[second].plan:content())
end

--- The check's report of this tariff: { valid = true, problems = {}, normalisations =, warnings = }.
function methods:report()
  return inside(self, "report").report
end

--- The name of its time zone, or nil.
function methods:time_zone()
  return inside(self, "time_zone").time_zone
end

--- The week of every season as text for a terminal: a row per kind of day, a column per half hour. Options: color (default
--- false), ascii (default false).
function methods:text(options)
  options = check_options("text", options or {}, { "color", "ascii" })
  return draw_text.draw(self, inside(self, "text").plan, options)
end

--- The same as an SVG picture, legible on light and dark pages. Options: width in pixels (default 960), title.
function methods:svg(options)
  options = check_options("svg", options or {}, { "width", "title" })
  return draw_svg.draw(self, inside(self, "svg").plan, options)
end

--- Two tariffs are equal when they mean the same: omitted members count as zero, and the order of periods does not matter.
function metatable.__eq(a, b)
  return inside(a, "==").plan:equals(inside(b, "==").plan)
end

-- luaL_getmetafield reads this: the writer of request bodies asks a value for its own JSON.
metatable.encode = methods.encode
metatable.normalised = methods.normalised

-- ---- builders ----

-- The members of a tariff besides its prices. The sell side has no code, currency or daily charge.
local function head_of(options)
  local function charges(amount) return { { name = "Charge", amount = amount } } end
  return {
    utility = options.utility, name = options.name, code = options.code, currency = options.currency,
    daily_charges = charges(options.daily or 0),
    sell_tariff = { utility = options.utility, name = options.name, code = "", currency = "", daily_charges = charges(0) },
  }
end

local function with_head(options)
  return tables.copy(options, { head = head_of(options) })
end

local flat_options = { "price", "sell", "currency", "any_currency", "name", "utility", "code", "daily", "time_zone" }

--- A tariff with one price: fleet.tariff.flat { price =, currency =, any_currency =, sell =, name =, utility =, code =, daily =,
--- time_zone = }. Prices per kWh, `daily` per day.
function M.flat(options)
  check_options("flat", options, flat_options)
  local plan, report = core.tariff_flat(with_head(options))
  return accept(plan, explain.annotate(report), options.time_zone)
end

local row_options = {
  "rows", "prices", "spot", "from", "sell_prices", "step", "labels", "seasons", "currency", "any_currency", "name", "utility", "code",
  "daily", "time_zone",
}

local function check_sources(options)
  local given = 0
  for _, name in ipairs { "rows", "prices", "spot" } do given = given + (options[name] and 1 or 0) end
  if given ~= 1 then errors.usage("fleet.tariff.from_rows: give one of 'rows', 'prices' and 'spot'") end
end

--- A tariff from rows of times and prices, or from spot prices; doc/manual/tariffs.md lists the forms. Returns the tariff and how prices
--- were grouped: a list of { side =, season =, label =, price =, low =, high =, minutes = }. Spot prices that leave a gap, or do not cover
--- a day or a week, give nil, err, "invalid".
function M.from_rows(options)
  check_options("from_rows", options, row_options)
  local zone, err, kind = zone_of(options.time_zone)
  if err then return nil, err, kind end
  check_sources(options)
  local plan, report, groups = core.tariff_rows(with_head(options), zone)
  if not plan then return nil, report, groups end
  local self
  self, err, kind = accept(plan, explain.annotate(report), options.time_zone, zone)
  if not self then return nil, err, kind end
  return self, groups
end

--- A report of check as lines of text for people; the same finding on several days is one line.
M.explain = explain.text

-- A site omits zeros, including a daily charge of zero.
local function without_free_charges(tariff)
  local content = core.json_decode(tariff:encode())
  for _, part in ipairs { content, content.sell_tariff } do
    local kept = {}
    for _, charge in ipairs(part.daily_charges or {}) do
      if charge.amount ~= 0 then kept[#kept + 1] = charge end
    end
    part.daily_charges = kept
  end
  return M.new(content, { stored = true })
end

--- Whether the content that the service has stored (or nil) is this tariff: as it was sent, or as the service changes it, because it is
--- unknown which of the two the service returns.
function M.stored_as(content, wanted)
  if type(content) ~= "table" or next(content) == nil then return false end
  local stored = M.new(content, { stored = true })
  if not M.is(wanted) then wanted = M.new(wanted, { stored = true }) end
  if not stored or not wanted then return false end
  return wanted == stored or wanted:normalised() == stored
    or without_free_charges(wanted:normalised()) == without_free_charges(stored:normalised())
end

--- Whether value is a tariff object.
function M.is(value)
  return state[value] ~= nil
end

return M
