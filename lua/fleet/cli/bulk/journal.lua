-- The journal of a run over many vehicles, with which a later run resumes an interrupted one. One line of JSON per step: first what the run
-- does, then for each vehicle a line when its call starts and a line with the outcome. A vehicle with a start and no outcome is unknown.
--
-- A line is written before the call is made. It survives a crash of the process, but perhaps not a power failure.

local core = require "fleet.core"
local usage_error = require "fleet.cli.usage_error"

local M = {}

local Journal = {}
Journal.__index = Journal

local function lines_of(path)
  local file = io.open(path, "rb")
  if not file then return {} end
  local lines = {}
  for line in file:lines() do
    local entry = core.json_decode(line)
    -- the last line of a killed process may be cut off; it is skipped
    if type(entry) == "table" then lines[#lines + 1] = entry end
  end
  file:close()
  return lines
end

-- Identifies the run by its call and its parameters, without secret ones.
local function heading(row, args)
  local shown = {}
  for name, value in pairs(args) do
    if not row.secrets[name] then shown[name] = value end
  end
  return { run = row.name, args = core.json_encode(shown) }
end

-- Compares as JSON read back from text: members of a table have no order.
local function same_run(a, b)
  local function members(text)
    local list = {}
    for name, value in pairs(core.json_decode(text) or {}) do
      list[#list + 1] = name .. "=" .. (type(value) == "table" and core.json_encode(value) or tostring(value))
    end
    table.sort(list)
    return table.concat(list, "\n")
  end
  return a.run == b.run and type(a.args) == "string" and members(a.args) == members(b.args)
end

local function take_in(journal, lines)
  for i = 2, #lines do
    local line = lines[i]
    if type(line.vin) == "string" then
      if line.outcome or line.ended then
        journal.known[line.vin] = line
      else
        journal.known[line.vin] = { outcome = "unknown", kind = "cancelled", message = "the earlier run ended during the call" }
      end
    end
  end
end

--- Opens the journal at path, or creates it. Raises when it belongs to another call. reading = true: read only.
function M.open(path, row, args, reading)
  local lines, head = lines_of(path), heading(row, args)
  if lines[1] and not same_run(lines[1], head) then
    usage_error.raise(string.format("--resume: %s is the record of another run: of '%s' %s", path, tostring(lines[1].run),
      tostring(lines[1].args)))
  end
  local journal = setmetatable({ known = {} }, Journal)
  take_in(journal, lines)
  if reading then return journal end
  local file, why = io.open(path, "ab")
  if not file then usage_error.raise("--resume: " .. why) end
  journal.file = file
  if file:seek("end") > 0 then file:write("\n") end -- after a line that was cut off
  if #lines == 0 then journal:write(head) end
  return journal
end

function Journal:write(entry)
  local done, why = self.file:write(core.json_encode(entry), "\n")
  if done then done, why = self.file:flush() end
  if not done then error("the record of the run cannot be written: " .. tostring(why), 0) end
end

--- The journal's entry of a vehicle: nil, or { outcome =, kind =, message = }.
function Journal:of(vin)
  return self.known[vin]
end

function Journal:begin(vin)
  self:write { vin = vin }
end

function Journal:finish(entry)
  self:write { vin = entry.vin, ended = true, outcome = entry.outcome, kind = entry.kind, message = entry.message }
end

function Journal:close()
  self.file:close()
end

return M
