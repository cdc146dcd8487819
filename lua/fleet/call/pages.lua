-- Walking over pages: one iterable for every row whose paging column is set.
--
-- The service has three ways to number pages. A walk ends when the service says so, at an empty or short page, or when a
-- page brings nothing new: some servers ignore the page number and would be walked for ever (doc/protocol.md#paging).

local run = require "fleet.call"
local core = require "fleet.core"

local M = {}

-- How each kind of paging asks for a page, and where a record's identity may stand.
local ways = {
  page = { number = "page", size = "per_page", first = 1, default = 100 },
  page_no = { number = "pageNo", size = "pageSize", first = 1, default = 50 },
  offset = { number = "offset", size = "limit", first = 0, default = 50, by_records = true },
}
local identities = { "vin", "id_s", "id", "sessionId" }

local function identity(record)
  if type(record) ~= "table" then return record end
  for _, name in ipairs(identities) do
    if record[name] ~= nil then return name .. "=" .. tostring(record[name]) .. tostring(record.chargeStartDateTime or "") end
  end
end

local function list_of(row, body)
  if type(body) ~= "table" then return nil end
  local inner = body.response ~= nil and body.response or body
  if row.items and type(inner) == "table" and inner[row.items] then inner = inner[row.items] end
  return type(inner) == "table" and (inner[1] ~= nil or next(inner) == nil) and inner or nil
end

local function said_to_be_last(body)
  local pagination = type(body) == "table" and body.pagination
  return type(pagination) == "table" and pagination.current ~= nil and pagination.next == nil
end

local function only_new(list, seen)
  local fresh = {}
  for _, record in ipairs(list) do
    local key = identity(record)
    if record ~= core.null and (key == nil or not seen[key]) then
      if key ~= nil then seen[key] = true end
      fresh[#fresh + 1] = record
    end
  end
  return fresh
end

-- Never more than the service gives at once: a page that is shorter than was asked for would look like the last.
local function usual_size(row, way)
  for _, param in ipairs(row.params) do
    if param.name == way.size then return math.min(way.default, param.max or way.default) end
  end
  return way.default
end

local most_pages = 1000 -- of a server that numbers what it invents

local function unreadable(row, text)
  local err = core.err { kind = "protocol", message = row.name .. ": " .. text }
  return nil, err, "protocol"
end

-- One walk: a function that returns the next list of records, nil at the end, or nil, err, kind.
local function walk(row, handle, request)
  local way, params = ways[row.paging], request:params() or {}
  local size = params.page_size or params[way.size] or usual_size(row, way)
  local number, seen, over, count = params[way.number] or way.first, {}, false, 0
  return function()
    if over then return nil end
    count = count + 1
    if count > most_pages then
      return unreadable(row, string.format("more than %d pages; if that is true, set a larger page_size", most_pages))
    end
    request:query(string.format("%s=%d&%s=%d", way.number, number, way.size, size))
    local body, err, kind = run.perform(row, request, handle)
    if err then return nil, err, kind end
    local list = list_of(row, body)
    if not list then return unreadable(row, "the reply holds no list") end
    local fresh = only_new(list, seen)
    over = said_to_be_last(body) or #fresh == 0 or (#list < size and not body.pagination)
    number = number + (way.by_records and size or 1)
    if #fresh > 0 then return fresh end
  end
end

local methods = {}
local mt = { __name = "fleet.pages", __index = methods }
function mt.__tostring(self)
  return "fleet.pages (" .. self.row.name .. ")"
end

--- Walks page by page: for records in list:pages() do … end. Raises err.
function methods:pages()
  local following = walk(self.row, self.handle, self.plan())
  return function()
    local records, err = following()
    if err then error(err, 0) end
    return records
  end
end

--- A list of all records, or nil, err, kind.
function methods:collect()
  local following, all = walk(self.row, self.handle, self.plan()), {}
  while true do
    local records, err, kind = following()
    if err then return nil, err, kind end
    if not records then return all end
    for _, record in ipairs(records) do all[#all + 1] = record end
  end
end

-- A walk is found again by what it gave last, so that loops over one list may stand inside each other.
local function continue(self, state, first, ...)
  if first ~= nil then self.walks[first] = state end
  return first, ...
end

--- Generic for over all records of all pages; raises err. Each loop is a walk of its own from the first page.
function mt.__call(self, _, control)
  local state = control ~= nil and self.walks[control] or { pages = methods.pages(self), i = 0, records = {} }
  if control ~= nil then self.walks[control] = nil end
  while state.i >= #state.records do
    state.records, state.i = state.pages(), 0
    if not state.records then return nil end
  end
  state.i = state.i + 1
  return continue(self, state, self.each(state.records[state.i]))
end

--- An iterable over a paged row. plan() makes a fresh request, each(record) gives what a loop sees.
function M.new(row, handle, plan, each)
  plan() -- the caller's mistakes raise here, not in the middle of a loop
  return setmetatable({
    row = row, handle = handle, plan = plan, each = each or function(record) return record end,
    walks = setmetatable({}, { __mode = "k" }), -- last record of a walk -> the walk
  }, mt)
end

return M
