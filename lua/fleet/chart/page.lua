-- What our HTML pages share: one style for light and dark, no external resources, every text escaped.

local svg = require "fleet.chart.svg"

local M = { escape = svg.escape }

M.STYLE = [[
:root { color-scheme: light dark; --line: #8884; --soft: #8882; --accent: #2a6fdb; --note: #666; }
@media (prefers-color-scheme: dark) { :root { --note: #a0a0a0; } }
body { font: 16px/1.5 system-ui, sans-serif; margin: 0 auto; max-width: 34rem; padding: 2rem 1rem; }
h1 { font-size: 1.4rem; } .note { color: var(--note); font-size: .9rem; font-weight: 400; }
form { border: 1px solid var(--line); border-radius: .6rem; padding: 1rem 1.2rem; margin: 1rem 0; }
label { display: flex; align-items: baseline; gap: .6rem; padding: .35rem 0; } input { margin: 0; accent-color: var(--accent); }
button, .button { font: inherit; border: 0; border-radius: .4rem; padding: .5rem 1.2rem; margin: .8rem .5rem 0 0; cursor: pointer;
  display: inline-block; text-decoration: none; background: var(--soft); color: inherit; }
.primary { background: var(--accent); color: #fff; } .banner { border-left: 4px solid #d90; padding: .3rem .8rem; background: var(--soft); }
code { background: var(--soft); padding: .1rem .3rem; border-radius: .2rem; overflow-wrap: anywhere; }
]]

--- A document: title is text, head and body are HTML.
function M.document(title, head, body)
  return table.concat {
    "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>", M.escape(title), "</title>",
    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">", head, "<style>", M.STYLE, "</style></head>\n<body>", body,
    "\n</body></html>\n",
  }
end

return M
