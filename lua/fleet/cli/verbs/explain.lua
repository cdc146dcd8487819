-- fleet explain: cause and cure of a kind of error, a reason, a fault or an HTTP status.

local core = require "fleet.core"
local remedies = require "fleet.cli.remedies"
local usage_error = require "fleet.cli.usage_error"

-- The causes of a kind, with their cures on the command line.
local function causes_of(kind)
  local list = {}
  for _, case in ipairs(remedies[kind] or {}) do
    if case.shell ~= false then list[#list + 1] = { case[1], case.shell or case[2] } end
  end
  return list
end

local function kind_entry(name)
  for _, kind in ipairs(core.kinds()) do
    if kind.name == name then return kind end
  end
end

local function status_title(row)
  local title = "HTTP status " .. row.status
  if row.text then title = title .. " with the text '" .. row.text .. "'" end
  if row.also then title = title .. " and '" .. row.also .. "'" end
  return row.trait == "proxy" and title .. ", from a signing proxy" or title
end

-- The rows of a table that have this word, as { description, row }.
local function rows_named(word)
  local found = {}
  local function look(list, title, is_it)
    for _, row in ipairs(list) do
      if is_it(row) then found[#found + 1] = { title = title(row), row = row } end
    end
  end
  look(core.reasons(), function(row) return "reason '" .. row.text .. "'" end, function(row) return row.text == word end)
  look(core.faults(), function(row) return string.format("fault %d, %s", row.number, row.name) end,
    function(row) return row.name == word or tostring(row.number) == word end)
  look(core.statuses(), status_title, function(row) return row.status ~= 0 and tostring(row.status) == word end)
  return found
end

-- ---- words inside the messages of other programs ----

-- Lower case, with one _ for all characters between words: "MESSAGEFAULT_ERROR_BUSY" contains "_busy_".
local function squeezed(text)
  return (string.gsub("_" .. string.gsub(string.lower(text), "[^%w]", "_") .. "_", "_+", "_"))
end

-- Every row whose word occurs in the text, as { word =, title =, row = }.
local function rows_inside(text)
  local whole, found = squeezed(text), {}
  local function look(word, title, row)
    if #word > 2 and string.find(whole, word, 1, true) then found[#found + 1] = { word = word, title = title, row = row } end
  end
  for _, row in ipairs(core.reasons()) do look(squeezed(row.text), "reason '" .. row.text .. "'", row) end
  for _, row in ipairs(core.faults()) do look(squeezed(row.name), string.format("fault %d, %s", row.number, row.name), row) end
  local explained = {} -- by status: the client takes the first row that fits, too
  for _, row in ipairs(core.statuses()) do
    local before, both = #found, not row.also or string.find(whole, squeezed(row.also), 1, true)
    if row.text and both and not explained[row.status] then
      look(squeezed(row.text), status_title(row), row)
    elseif not row.text and row.status ~= 0 and not explained[row.status] then
      look("_http_" .. row.status .. "_", status_title(row), row)
      look("_http_status_" .. row.status .. "_", status_title(row), row)
      look("_status_" .. row.status .. "_", status_title(row), row)
    end
    if #found > before and row.status ~= 0 then explained[row.status] = true end
  end
  return found
end

-- Drops a word that is part of a longer match: BUSY in "busy or finishing wake-up".
local function without_parts(found)
  local kept, seen = {}, {}
  for _, one in ipairs(found) do
    local is_part = seen[one.title]
    for _, other in ipairs(found) do
      is_part = is_part or #other.word > #one.word and string.find(other.word, one.word, 1, true) ~= nil
    end
    if not is_part then kept[#kept + 1], seen[one.title] = one, true end
  end
  return kept
end

local function kinds_inside(text)
  local whole, found = squeezed(text), {}
  for _, kind in ipairs(core.kinds()) do
    if string.find(whole, squeezed(kind.name), 1, true) then
      found[#found + 1] = { title = kind.name, row = kind, causes = causes_of(kind.name) }
    end
  end
  return found
end

local function explained(word)
  local kind = kind_entry(word)
  if kind then return { { title = word, row = kind, causes = causes_of(word) } } end
  local found = rows_named(word)
  if not found[1] then found = without_parts(rows_inside(word)) end
  return found[1] and found or kinds_inside(word)
end

local function every_word()
  local words = {}
  for _, kind in ipairs(core.kinds()) do words[#words + 1] = kind.name end
  for _, reason in ipairs(core.reasons()) do words[#words + 1] = reason.text end
  for _, fault in ipairs(core.faults()) do words[#words + 1] = fault.name end
  return words
end

local function plain(text)
  return (string.gsub(text, "`", ""))
end

local function show(out, found)
  for _, entry in ipairs(found) do
    out:write(entry.title, "\n", entry.row.doc and "  " .. entry.row.doc .. "\n" or "")
    for _, case in ipairs(entry.causes or {}) do out:write("\n  ", plain(case[1]), "\n    ", plain(case[2]), "\n") end
    if entry.row.kind then out:write("  It is of the kind ", entry.row.kind, ": fleet explain ", entry.row.kind, "\n") end
  end
end

local function as_json(found)
  local list = {}
  for i, entry in ipairs(found) do
    local causes = {}
    for j, case in ipairs(entry.causes or {}) do causes[j] = { cause = plain(case[1]), cure = plain(case[2]) } end
    list[i] = { title = entry.title, kind = entry.row.kind or entry.row.name, doc = entry.row.doc, causes = causes }
  end
  return core.json_encode(list, "causes")
end

return {
  {
    name = "explain", usage = "explain KIND | REASON | FAULT | STATUS", local_only = true, show = show, json = as_json,
    doc = "Explains cause and cure of a kind of error, a vehicle's reason, a fault by name or number, or an HTTP status; also "
      .. "of those in the text of another program.",
    details = "fleet explain key_not_paired\nfleet explain could_not_wake_buses\nfleet explain 6\nfleet explain 412\n"
      .. "fleet explain 'car could not execute command: is_charging'",
    completes = function()
      local names = {}
      for i, kind in ipairs(core.kinds()) do names[i] = kind.name end
      return names
    end,
    run = function(_, line)
      local words = line.words
      for _, pair in ipairs(line.pairs) do words[#words + 1] = pair.name .. "=" .. pair.text end
      local word = table.concat(words, " ")
      if word == "" then
        usage_error.raise("'explain' needs a kind, a reason, a fault or an HTTP status, as in: fleet explain asleep", { "explain" })
      end
      local found = explained(word)
      if #found == 0 then usage_error.unknown("kind, reason, fault or HTTP status", word, every_word(), { "explain" }) end
      return found
    end,
  },
}
