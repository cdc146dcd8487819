local words, bulk, account = "spec/cli/words_spec.lua", "spec/cli/bulk_spec.lua", "spec/cli/account_spec.lua"
local parts = "spec/cli/parts_spec.lua"
local line, rows = "spec/cli/command_line_spec.lua", "spec/cli/rows_spec.lua"

return {
  { "lua/fleet/cli/argv.lua", "elseif found[option.name] ~= nil then", "elseif false then", { line, words } },
  { "lua/fleet/cli/argv.lua", "elseif text == \"--\" and not only_words then", "elseif text == \"--\" then", { parts } },
  { "lua/fleet/cli/argv.lua", "options[denied].type == \"boolean\" then", "options[denied] then", { line, words } },
  { "lua/fleet/cli/values.lua", "or math.abs(value) == math.huge then", "then", { line, rows } },
  { "lua/fleet/cli/values.lua", "and value ~= math.floor(value) then", "and false then", { parts } },
  { "lua/fleet/cli/values.lua", "off = false", "off = true", { line, rows } },
  { "lua/fleet/cli/values.lua", "if param.secret then return", "if false then return", { line, rows, account } },
  { "lua/fleet/cli/input.lua", "\"\\r?\\n$\"", "\"%s+$\"", { parts } },
  { "lua/fleet/cli/input.lua", "environment.stdin_taken = true", "", { line, rows, account } },
  { "lua/fleet/cli/bulk/journal.lua", "if not row.secrets[name] then shown", "do shown", { bulk, "spec/cli/bulk_process_spec.lua" } },
  { "lua/fleet/cli/bulk/journal.lua", "return a.run == b.run and", "return", { bulk, "spec/cli/bulk_process_spec.lua" } },
  { "lua/fleet/cli/bulk/estimate.lua", "need_of(limit, most, price_list) > rest + enough", "false", { bulk } },
  { "lua/fleet/cli/bulk/estimate.lua", "most[row.billing] = most[row.billing] + 1", "", { bulk } },
  { "lua/fleet/cli/vehicles.lua", "if type(record.display_name) ~= \"string\" then record.display_name = nil end", "", { parts } },
  { "lua/fleet/cli/vehicles.lua", "if not core.is_vin(record.vin) then record.vin = nil end", "", { parts } },
  { "lua/fleet/cli/failure.lua", "raised, exits[raised.kind] or 1 end", "raised, 1 end", { line, rows } },
  { "lua/fleet/cli/simulator.lua", "if named.directory then remove(named.directory) end", "", { "spec/cli/sim_spec.lua" } },
  { "lua/fleet/cli/simulator.lua", " or written.control_url,", ",", { "spec/cli/sim_spec.lua" } },
  { "lua/fleet/cli/vehicles.lua", "return #text > longest_serial end", "return true end", { parts } },
}
