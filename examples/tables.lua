-- The tables as data: every endpoint and command with its method, path and price class.
local fleet = require "fleet"

for _, rows in ipairs { fleet.endpoints(), fleet.commands() } do
  for _, row in ipairs(rows) do
    print(string.format("%-42s %-6s %-70s %s", row.name, row.verb, row.path, row.billing))
  end
end
