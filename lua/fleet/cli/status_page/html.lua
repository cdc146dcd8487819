-- The status page as HTML: a card for each automation. Names, sentences and messages come from files and from the service; every one is
-- escaped.

local night = require "fleet.chart.night"
local number_format = require "fleet.util.number_format"
local page = require "fleet.chart.page"

local M = {}

local again_every = 30 -- seconds between two looks of a browser that stays

local STYLE = [[<style>
body { max-width: 52rem; }
article { border: 1px solid var(--line); border-radius: .8rem; padding: 1rem 1.2rem; margin: 1.2rem 0; }
article.trouble { border-left: 4px solid #d94333; }
header { display: flex; justify-content: space-between; align-items: baseline; gap: .8rem; flex-wrap: wrap; }
h2 { font-size: 1.1rem; margin: 0; } p { margin: .6rem 0; overflow-wrap: anywhere; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .15rem 1rem; margin: .6rem 0; font-size: .95rem; }
dt { color: var(--note); } dd { margin: 0; overflow-wrap: anywhere; }
svg { width: 100%; height: auto; display: block; border-radius: .4rem; margin-top: .8rem; }
footer { color: var(--note); font-size: .9rem; } a { color: inherit; }
</style>]]

local function row(term, value)
  return value and "<dt>" .. term .. "</dt><dd>" .. page.escape(value) .. "</dd>" or ""
end

local function cost_text(one)
  return string.format("%s USD (%s)", number_format.fixed(one.cost.usd, 3), (string.gsub(one.cost.text, ": [%d.]+ USD$", "")))
end

local function facts(one)
  return table.concat {
    "<dl>", row("Decided", one.why_text), row("Next look", one.next_text), row("Cost so far", cost_text(one)),
    row("Commands today", string.format("%d of at most %d", one.commands_today, one.daily_cap)),
    row("Trouble", one.trouble and one.trouble.message), "</dl>",
  }
end

local function card(one)
  if one.failure then
    return "<article class=\"trouble\"><h2>" .. page.escape(one.name) .. "</h2><p>" .. page.escape(one.failure) .. "</p></article>"
  end
  return table.concat {
    "<article", one.trouble and " class=\"trouble\"" or "", "><header><h2>", page.escape(one.name), "</h2><span class=\"note\">",
    page.escape((one.name == one.kind and "" or one.kind .. ", ") .. one.subject .. (one.running and "" or ", not running")),
    "</span></header>", "<p>", page.escape(one.why or "has not decided anything yet"), "</p>", facts(one),
    one.plan and one.zone and night.svg(one.plan, one.zone) or "", "</article>",
  }
end

--- list: of Automation:status(), or { name =, failure = } for one that cannot tell. about: { file =, at = text, version = }.
function M.of(list, about)
  local cards = {}
  for i, one in ipairs(list) do cards[i] = card(one) end
  local head = string.format("<meta http-equiv=\"refresh\" content=\"%d\">", again_every) .. STYLE
  local foot = string.format("<footer>%s, at %s, fleet %s. <a href=\"/status.json\">The same as JSON</a>.</footer>",
    page.escape(about.file), page.escape(about.at), page.escape(about.version))
  return page.document("Automations", head, "<h1>Automations</h1>\n" .. table.concat(cards, "\n") .. foot)
end

return M
