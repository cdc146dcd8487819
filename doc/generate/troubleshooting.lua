-- Writes doc/manual/troubleshooting.md: every kind of error with cause and cure, and the reasons that lead to it. `make doc` runs it.

local core = require "fleet.core"
local remedies = require "fleet.cli.remedies"

local M = {}

local function cell(text)
  return (string.gsub(text, "|", "\\|"))
end

local function table_of(heads, list)
  local lines = { "| " .. heads[1] .. " | " .. heads[2] .. " |", "|---|---|" }
  for _, pair in ipairs(list) do lines[#lines + 1] = "| " .. cell(pair[1]) .. " | " .. cell(pair[2]) .. " |" end
  return table.concat(lines, "\n")
end

-- The reasons and faults of a kind, as pairs of what is said and what it means.
local function said(kind)
  local list = {}
  for _, reason in ipairs(core.reasons()) do
    if reason.kind == kind then list[#list + 1] = { "`" .. reason.text .. "`", reason.doc } end
  end
  for _, fault in ipairs(core.faults()) do
    if fault.kind == kind then list[#list + 1] = { string.format("fault %d, `%s`", fault.number, fault.name), fault.doc } end
  end
  return list
end

local head = [[
# When something fails

A call that fails returns `nil, err, kind`. The kind is one of those below; `err.message` is the sentence,
`err.reason` what the car, the site or the authorization server said, `err.outcome` whether a command was `not_sent`, `refused`, or is
`unknown`, and `err.help` the command that shows this text in a terminal:

```sh
fleet explain key_not_paired
fleet doctor                                     # looks at everything from the clock to the pairing
```
]]

--- The page as Markdown.
function M.markdown()
  local parts = { head }
  for _, kind in ipairs(core.kinds()) do
    parts[#parts + 1] = "## " .. kind.name
    parts[#parts + 1] = kind.doc .. " Exit status " .. kind.exit .. "."
    parts[#parts + 1] = table_of({ "Cause", "What to do" }, remedies[kind.name])
    local list = said(kind.name)
    if #list > 0 then parts[#parts + 1] = table_of({ "What was said", "What it means" }, list) end
  end
  return table.concat(parts, "\n\n") .. "\n"
end

return M
