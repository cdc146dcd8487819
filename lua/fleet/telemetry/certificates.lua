-- The receiver's certificates: PEM texts, or "@file" for a file that is read again when it changes.

local core = require "fleet.core"
local errors = require "fleet.util.errors"

local M = {}

local names = { "certificate", "certificate_key", "client_ca" }
local largest_file = 1048576
local advice = {
  certificate = "the receiver's chain, which `fleet telemetry certificate HOST` makes",
  certificate_key = "its key", client_ca = "the authorities of the vehicles",
}

local function read(name, given)
  local path = string.match(given, "^@(.+)$")
  if not path then return given end
  local real, problem, kind = core.real_path(path)
  local text, facts
  if real then
    text, facts, kind = core.file_read(real, largest_file)
    problem = facts
  end
  if not text then return errors.failure(kind, string.format("option '%s': %s: %s", name, path, problem.message)) end
  if name == "certificate_key" and not (facts.mine and facts.mode % 64 == 0) then
    return errors.failure("store", path .. ": others can read this key: it has to be yours, with mode 0600 (chmod 600)")
  end
  return text
end

--- Reads the PEM texts of the options, by name; nil, err, kind when a file cannot be read. Raises for a wrong option. only: some of the
--- names, when not all are options.
function M.read(where, options, only)
  local pem, wanted = {}, only or names
  for _, name in ipairs(wanted) do
    if type(options[name]) ~= "string" then
      errors.usage("%s: option '%s' must be a PEM text or \"@file\": %s", where, name, advice[name])
    end
  end
  for _, name in ipairs(wanted) do
    local text, err, kind = read(name, options[name])
    if not text then return nil, err, kind end
    pem[name] = text
  end
  return pem
end

--- Whether any option is a file.
function M.are_files(options)
  for _, name in ipairs(names) do
    if string.find(options[name], "^@") then return true end
  end
  return false
end

function M.equal(one, other)
  for _, name in ipairs(names) do
    if one[name] ~= other[name] then return false end
  end
  return true
end

-- ---- the vehicles' authorities ----

local function list(found)
  table.sort(found)
  return table.concat(found, ", ")
end

--- Sentences about the authorities that the receiver trusts for vehicles. authorities: of fleet.stream.authorities.
function M.remarks(authorities)
  local unknown, missing, ended, remarks = {}, {}, {}, {}
  for _, one in ipairs(authorities.given) do
    local name = one.name or "without a name"
    if not one.known then unknown[#unknown + 1] = name end
    if one.ended then ended[#ended + 1] = name end
  end
  for _, name in ipairs(authorities.missing) do missing[#missing + 1] = name end
  if unknown[1] then
    remarks[#remarks + 1] = "client_ca: not Tesla's, by their fingerprints: " .. list(unknown)
      .. ". Each of them can name any vehicle"
  end
  if #unknown < #authorities.given and missing[1] then
    remarks[#remarks + 1] = "client_ca: the vehicles of these authorities cannot connect, since the file lacks them: " .. list(missing)
  end
  if ended[1] then remarks[#remarks + 1] = "client_ca: no longer valid, so that its vehicles cannot connect: " .. list(ended) end
  return remarks
end

return M
