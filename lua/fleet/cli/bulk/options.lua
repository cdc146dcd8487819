-- The options that run a vehicle's verb for many vehicles.

local M = {}

M.models = { -- by the fourth character of a VIN
  ms = "S", m3 = "3", mx = "X", my = "Y", cybertruck = "C", semi = "T", roadster = "R", cybercab = "A",
}

local states = { { name = "online" }, { name = "asleep" }, { name = "offline" } }
local models = { { name = "ms" }, { name = "m3" }, { name = "mx" }, { name = "my" }, { name = "cybertruck" }, { name = "semi" },
  { name = "roadster" }, { name = "cybercab" } }

M.list = {
  { name = "all", type = "boolean", doc = "for every vehicle of the account" },
  { name = "vins", type = "string", placeholder = "FILE", doc = "for the VINs of a file, one a line; - is standard input" },
  { name = "state", type = "string", choices = states, doc = "for the vehicles that are in this state; none is woken to find out" },
  { name = "model", type = "string", choices = models, doc = "for the vehicles of this model" },
  { name = "concurrency", type = "integer", min = 1, max = 256, doc = "how many vehicles at once, by default 8" },
  { name = "dry_run", type = "boolean", doc = "print for how many vehicles and what it would cost, and send nothing" },
  { name = "resume", type = "string", placeholder = "FILE",
    doc = "record each call in the file; the next run skips finished calls, and lists unknown ones without repeating them" },
  { name = "csv", type = "boolean", doc = "print a line of comma-separated values for each vehicle" },
}

M.selecting = { "all", "vins", "state", "model" }

--- Whether the command line has an option that selects many vehicles.
function M.asked(texts)
  for _, name in ipairs(M.selecting) do
    if texts[name] ~= nil then return true end
  end
  return false
end

--- The first option that is useless without one that selects vehicles, or nil.
function M.stray(texts)
  for _, option in ipairs(M.list) do
    if texts[option.name] ~= nil then return option.name end
  end
end

return M
