-- fleet tariff check | show | plot | diff: tariffs in files, on standard input, or of a site.

local core = require "fleet.core"
local errors = require "fleet.util.errors"
local usage_error = require "fleet.cli.usage_error"
local options = require "fleet.cli.options"
local input = require "fleet.cli.input"

local function tariffs()
  return require("fleet").tariff
end

local any_currency = {
  name = "any_currency", type = "boolean",
  doc = "a currency that the app is not known to show, or none, is a warning; what a site holds, and pictures, need it not",
}

local function of_site(context, id)
  local site = context:check(function() return context:client():energy_site(id) end)
  local info, err, kind = context:waiting("asking the energy site", site.site_info, site)
  if err then return nil, err, kind end
  local content = tariffs().content_of(info)
  if content == info then return errors.failure("not_found", "site " .. id .. " has no tariff") end
  return content, true
end

-- Returns the tariff that a word names, and whether it came from a site: digits are a site, "-" is standard input, everything else a file.
-- Returns nil, err, kind on failure.
local function load_tariff(context, word)
  if string.match(word, "^%d+$") then return of_site(context, word) end
  local text = input.read_file(context.environment, word)
  local value, err = core.json_decode(text)
  if err or type(value) ~= "table" then usage_error.raise(string.format("'%s' is not a JSON object", word)) end
  local content, stored = tariffs().content_of(value)
  if stored and (content == value or content == value.response) then
    usage_error.raise(string.format("'%s' is a reply in which there is no tariff", word))
  end
  return content, stored
end

-- Loads and checks a tariff that is not sent: a picture or a comparison needs no currency.
local function load_checked(context, word)
  local content, stored, kind = load_tariff(context, word)
  if not content then return nil, stored, kind end
  return context:check(tariffs().new, content, { any_currency = true, stored = stored })
end

-- ---- check ----

local function explained(out, report)
  out:write((string.gsub(tariffs().explain(report), "\n*$", "\n")))
end

local function check(context, line)
  local content, stored, kind = load_tariff(context, line.words[1])
  if not content then return nil, stored, kind end
  local given = options.given(context.environment, { any_currency }, line.options)
  local report = context:check(tariffs().check, content, { any_currency = given.any_currency, stored = stored })
  if report.valid then return report end
  if not context.json then explained(context.out, report) end
  local count = #report.problems
  return errors.failure("invalid", string.format("the tariff has %d problem%s", count, count == 1 and "" or "s"), report)
end

-- ---- show, plot, diff ----

local function show(context, line)
  local tariff, err, kind = load_checked(context, line.words[1])
  if not tariff then return nil, err, kind end
  return tariff
end

local function draw_text(out, tariff, context)
  local color = not context.environment.getenv("NO_COLOR") and context.environment.terminal(1)
  out:write((string.gsub(tariff:text { color = color }, "\n*$", "\n")))
end

local output = { name = "output", type = "string", placeholder = "FILE", doc = "file for the picture; by default it is printed" }

local function plot(context, line)
  local tariff, err, kind = load_checked(context, line.words[1])
  if not tariff then return nil, err, kind end
  local picture = tariff:svg()
  local given = options.given(context.environment, { output }, line.options)
  if given.output then return input.write(given.output, picture) end
  return picture
end

local function print_text(out, value)
  if type(value) == "table" then out:write("written to ", value.path, "\n") else out:write(value) end
end

local function diff(context, line)
  local first, err, kind = load_checked(context, line.words[1])
  if not first then return nil, err, kind end
  local second
  second, err, kind = load_checked(context, line.words[2])
  if not second then return nil, err, kind end
  return first:diff(second)
end

local function show_diff(out, list)
  if #list == 0 then out:write("no difference\n") end
  for _, entry in ipairs(list) do
    local function text(value)
      return value == nil and "absent" or type(value) == "table" and core.json_encode(value) or tostring(value)
    end
    out:write(entry.path, ": ", text(entry.from), " -> ", text(entry.to), "\n")
  end
end

local details = "FILE is a file, - for standard input, or the id of an energy site, whose tariff is read.\n"
  .. "It holds tariff_content_v2, or a tou_settings, a site_info or a whole reply around it."

return {
  {
    name = "tariff.check", explains_itself = true, words = { "FILE" }, details = details, takes = { any_currency }, run = check,
    show = explained,
    doc = "Checks a tariff as the service will: gaps, overlaps, prices without periods and more. Sends nothing.",
  },
  {
    name = "tariff.show", words = { "FILE" }, details = details, takes = { any_currency }, run = show, show = draw_text,
    doc = "Draws the week of every season in the terminal; --json prints the tariff with every member written out.",
    json = function(tariff) return tariff:encode() end,
  },
  {
    name = "tariff.plot", words = { "FILE" }, details = details, takes = { output, any_currency }, run = plot, show = print_text,
    doc = "Draws the week of every season as an SVG picture.",
  },
  {
    name = "tariff.diff", words = { "FILE", "FILE" }, details = details, takes = { any_currency }, run = diff, show = show_diff,
    doc = "Shows what differs in meaning between two tariffs.",
  },
}
