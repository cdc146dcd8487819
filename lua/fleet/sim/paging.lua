-- Pages in the service's form: page and per_page, with a pagination object beside the list (doc/protocol.md#paging).
local json = require("fleet.sim.json")

local M = {}

local function whole(value, fallback)
  local n = tonumber(value)
  return n and n % 1 == 0 and n or fallback
end

-- slice(list, query, default, most) → one page of the list, and pagination and count, which are members beside `response`.
function M.slice(context, list, default, most)
  local query = context.query
  local page, size = whole(query.page, 1), whole(query.per_page or query.page_size, default)
  if page < 1 or size < 1 then context.fail(400, "invalid_request", "page and per_page are numbers from 1") end
  if most then size = math.min(size, most) end
  local out = json.list()
  for i = (page - 1) * size + 1, math.min(page * size, #list) do out[#out + 1] = list[i] end
  local pages = math.max(1, math.ceil(#list / size))
  return out, {
    count = #list,
    pagination = {
      previous = page > 1 and page - 1 or json.null, next = page < pages and page + 1 or json.null, current = page,
      per_page = size, count = #list, pages = pages,
    },
  }
end

-- The same for pages with a start and a size, and without totals.
function M.window(list, start, size)
  local out = json.list()
  for i = start + 1, math.min(start + size, #list) do out[#out + 1] = list[i] end
  return out
end

M.whole = whole

return M
