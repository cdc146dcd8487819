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

-- The reasons and faults of a kind, as pairs of the text and its meaning.
local function texts_of(kind)
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

Look up an error here: what it means, what causes it, and what to do. `fleet explain` shows the same text in a terminal.

```sh
fleet explain key_not_paired                     # a kind, a reason, a fault, or a pasted error message
fleet doctor                                     # checks everything from the clock to the pairing
```

A call that fails returns `nil, err, kind`:

| Member | Contents |
|---|---|
| `err.kind` | one of the kinds below |
| `err.message` | what failed, why, and what to do |
| `err.reason` | the word of the car, the site or the authorization server |
| `err.outcome` | of a command: `not_sent`, `refused`, or `unknown` (it may have been executed) |
| `err.help` | the command that explains it: `fleet explain KIND` |

## Which section?]]

-- The kinds by what the reader sees.
local sections = {
  { "The command does nothing", "asleep", "offline", "busy", "refused", "key_not_paired", "unsupported" },
  { "Signing in, rights", "auth", "scope", "forbidden", "region", "unregistered", "not_found" },
  { "Limits and money", "rate_limited", "limit_exceeded", "budget" },
  { "Network and Tesla's service", "network", "tls", "timeout", "protocol", "service" },
  { "The request itself", "invalid" },
  { "Your program and its store", "store", "conflict", "cancelled", "closed" },
}

local function index()
  local lines = { "| You have trouble with | Kinds |", "|---|---|" }
  for _, section in ipairs(sections) do
    local links = {}
    for i = 2, #section do links[#links + 1] = string.format("[%s](#%s)", section[i], section[i]) end
    lines[#lines + 1] = "| " .. section[1] .. " | " .. table.concat(links, ", ") .. " |"
  end
  return table.concat(lines, "\n")
end

--- The page as Markdown.
function M.markdown()
  local parts = { head, index() }
  for _, kind in ipairs(core.kinds()) do
    parts[#parts + 1] = "## " .. kind.name
    parts[#parts + 1] = kind.doc .. " Exit status of the command line: " .. kind.exit .. "."
    parts[#parts + 1] = table_of({ "Cause", "What to do" }, remedies[kind.name])
    local list = texts_of(kind.name)
    if #list > 0 then parts[#parts + 1] = table_of({ "Reason or fault", "What it means, what to do" }, list) end
  end
  return table.concat(parts, "\n\n") .. "\n"
end

return M
