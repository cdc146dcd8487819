-- The status page as HTML: a card for each automation. All texts are escaped: names, sentences and messages come from files and from the
-- service.

local local_time = require "fleet.automation.local_time"
local night = require "fleet.chart.night"
local page = require "fleet.chart.page"
local tables = require "fleet.util.tables"

local M = {}

local again_every = 30 -- seconds after which an open page reloads

local STYLE = [[<style>
html body { max-width: 52rem; }
article { border: 1px solid var(--line); border-radius: .8rem; padding: 1rem 1.2rem .5rem; margin: 1.2rem 0; }
article.trouble { border-left: 4px solid #d94333; }
header { display: flex; justify-content: space-between; align-items: baseline; gap: .8rem; flex-wrap: wrap; }
h2 { font-size: 1.1rem; margin: 0; } p { margin: .6rem 0; overflow-wrap: anywhere; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .15rem 1rem; margin: .6rem 0; font-size: .95rem; }
dt { color: var(--note); } dd { margin: 0; overflow-wrap: anywhere; }
svg { width: 100%; height: auto; display: block; margin-top: .8rem; } .narrow { display: none; }
@media (max-width: 600px) { .wide { display: none; } .narrow { display: block; } }
footer { color: var(--note); font-size: .9rem; } a { color: inherit; }
</style>]]

local function row(term, value)
  return value and "<dt>" .. term .. "</dt><dd>" .. page.escape(value) .. "</dd>" or ""
end

-- All times of the page are in one zone: automations without a zone use that of the others.
local function zone_of(list)
  for _, one in ipairs(list) do
    if one.zone then return one.zone end
  end
end

local function in_one_zone(list, zone)
  local out = {}
  for i, one in ipairs(list) do
    out[i] = one
    if zone and not one.zone then
      out[i] = tables.add({}, one)
      out[i].why_text = one.why_at and local_time.text(zone, one.why_at) or one.why_text
      out[i].next_text = one.next_look and local_time.text(zone, one.next_look) or one.next_text
    end
  end
  return out
end

local function facts(one)
  return table.concat {
    "<dl>", row("Decided", one.why_text), row("Next look", one.next_text), row("Cost so far", one.cost.text),
    row("Commands today", string.format("%d of at most %d", one.commands_today, one.daily_cap)),
    row("Trouble", one.trouble and one.trouble.message), "</dl>",
  }
end

-- With the zone: other times of the page omit it.
local function moment_text(zone, at)
  at = math.floor(at)
  if not zone then return os.date("!%Y-%m-%d %H:%M UTC", at) end
  return local_time.date(zone, at) .. string.gsub(local_time.text(zone, at), "^%a+", "") .. " " .. zone:localtime(at).abbreviation
end

local narrow = 320 -- pixels: the width of a phone without margins

-- Draws the plan for two widths, so that its text keeps the size of the page's text.
local function plan_of(one)
  if not one.plan or not one.zone then return "" end
  return "<div class=\"wide\">" .. night.svg(one.plan, one.zone, { within = true }) .. "</div><div class=\"narrow\">"
    .. night.svg(one.plan, one.zone, { within = true, width = narrow }) .. "</div>"
end

local function card(one)
  if one.failure then
    return "<article class=\"trouble\"><h2>" .. page.escape(one.name) .. "</h2><p>" .. page.escape(one.failure) .. "</p></article>"
  end
  local why = string.gsub(one.why or "has not decided anything yet", "^%l", string.upper)
  return table.concat {
    "<article", one.trouble and " class=\"trouble\"" or "", "><header><h2>", page.escape(one.name), "</h2><span class=\"note\">",
    page.escape((one.name == one.kind and "" or one.kind .. ", ") .. one.subject .. (one.running and "" or ", not running")),
    "</span></header>", "<p>", page.escape(why), "</p>", facts(one),
    plan_of(one), "</article>",
  }
end

--- Returns the page. list: of Automation:status(), or { name =, failure = } when the status cannot be read. about: { file =, at = UTC
--- seconds, version = }.
function M.of(list, about)
  local cards, zone = {}, zone_of(list)
  for i, one in ipairs(in_one_zone(list, zone)) do cards[i] = card(one) end
  local head = string.format("<meta http-equiv=\"refresh\" content=\"%d\">", again_every) .. STYLE
  local foot = string.format("<footer>%s, at %s, fleet %s. <a href=\"/status.json\">The same as JSON</a>.</footer>",
    page.escape(about.file), page.escape(moment_text(zone, about.at)), page.escape(about.version))
  return page.document("Automations", head, "<h1>Automations</h1>\n" .. table.concat(cards, "\n") .. foot)
end

return M
