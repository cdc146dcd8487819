-- What a read must show when a write was done (src/bind/confirm/expectation.c), as the settle column of its row says.

local core = require "fleet.core"

-- sections(row): the sections that must be read to settle it, or nil. current(row, data): { parameter = value } as the data says.
local M = { sections = core.expectation.sections, current = core.expectation.current }

--- Whether a read can tell what became of the row with these parameters: at least one part must compare something.
function M.can_tell(row, params)
  return core.expectation.can_tell(row, nil, params)
end

local function same_tariff(stored, wanted)
  return require("fleet.tariff").stored_as(stored, wanted)
end

--- Whether data (a table of sections) shows what the row with these parameters wanted: true, false, or nil and what is
--- missing in data to tell.
function M.holds(row, params, data)
  return core.expectation.holds(row, data, params, same_tariff)
end

return M
