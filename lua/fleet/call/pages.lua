-- Iterates over pages: one iterable for every row whose paging column is set.
--
-- The service has three ways to number pages. A walk ends when the service says so, at an empty or short page, or when a page has no new
-- records: some servers ignore the page number and would repeat the first page for ever (doc/protocol.md#paging).

local calls = require "fleet.call"
local tasks = require "fleet.async"
local errors = require "fleet.util.errors"

local M = {}

-- How each kind of paging asks for a page. by_records = true: the number counts records.
local numberings = {
  page = { number = "page", size = "per_page", first = 1, default = 100 },
  page_no = { number = "pageNo", size = "pageSize", first = 1, default = 50 },
  offset = { number = "offset", size = "limit", first = 0, default = 50, by_records = true },
}

-- At most the service's own page size: a larger request would get a short page, which looks like the last one.
local function default_size(row, numbering)
  for _, param in ipairs(row.params) do
    if param.name == numbering.size then return math.min(numbering.default, param.max or numbering.default) end
  end
  return numbering.default
end

-- The key of a record: its members that the row's column `identity` names.
local function identity(row, record)
  local parts = {}
  for i, name in ipairs(row.identity) do parts[i] = tostring(record[name]) end
  return table.concat(parts, "\n")
end

-- The records that the walk has not seen yet.
local function only_new(row, records, seen)
  local fresh = {}
  for _, record in ipairs(records) do
    local key = identity(row, record)
    if not seen[key] then fresh[#fresh + 1] = record end
    seen[key] = true
  end
  return fresh
end

-- Whether this is the last page: the service says so, or the page is short. A short page is not the last one while the service reports more
-- records, because the service may return fewer than requested.
local function is_last(page, is_short, received)
  local pagination = page.pagination
  if not pagination then return is_short and not (page.total and page.total > received) end
  return pagination.current ~= nil and (pagination.next == nil or pagination.next == "")
end

local most_pages = 1000 -- for a server that invents records without end

-- One walk: a function that returns the next list of records, nil at the end, or nil, err, kind.
local function walk(row, handle, request)
  local numbering, params = numberings[row.paging], request:params() or {}
  local size = params.page_size or params[numbering.size] or default_size(row, numbering)
  local number = params[numbering.number] or numbering.first
  local received = numbering.by_records and number or (number - numbering.first) * size -- and before the walk
  local seen, asked, over = {}, 0, false
  return function()
    if over then return nil end
    if asked == most_pages then
      local text = "%s: more than %d pages; if that is true, set a larger page_size"
      return errors.failure("protocol", string.format(text, row.name, most_pages))
    end
    asked = asked + 1
    request:query(string.format("%s=%d&%s=%d", numbering.number, number, numbering.size, size))
    local page, err, kind = calls.perform(row, handle, request)
    if err then return nil, err, kind end
    local fresh = only_new(row, page.records, seen)
    received = received + page.length
    number = number + (numbering.by_records and math.min(page.length, size) or 1)
    over = is_last(page, page.length < size, received) or not fresh[1]
    return fresh[1] and fresh or nil
  end
end

local function following_page(following, in_for)
  local records, err
  if in_for then records, err = tasks.iterate(following) else records, err = following() end
  if err then errors.raise(err) end
  return records
end

local methods = {}
local mt = { __name = "fleet.pages" }

-- Raises for #list, list[1] and the like, which would otherwise see an empty list.
local function no_list(self, what)
  errors.usage("%s: %s: the records come page by page: use `for … in list do`, or list:collect() for a list of them",
    self.row.method, what)
end

function mt.__index(self, name)
  if type(name) == "number" then no_list(self, "an iterable has no elements by number") end
  return methods[name]
end
function mt.__len(self) no_list(self, "an iterable has no length") end

function mt.__tostring(self)
  return "fleet.pages (" .. self.row.name .. ")"
end

--- Walks page by page: for records in list:pages() do … end. Raises err.
function methods:pages()
  local following = self.walk(self.plan())
  return function(...)
    return following_page(following, select("#", ...) > 0) -- a generic for passes its state and control variable
  end
end

--- A list of all records, or nil, err, kind.
function methods:collect()
  local following, all = self.walk(self.plan()), {}
  while true do
    local records, err, kind = following()
    if err then return nil, err, kind end
    if not records then return all end
    for _, record in ipairs(records) do all[#all + 1] = record end
  end
end

local function new_state(self)
  return { walk = self.walk(self.plan()), i = 0, records = {} }
end

-- The next record, as `each` returns it; a record is skipped when `each` returns nil.
local function step(self, state, in_for)
  while state.records do
    while state.i < #state.records do
      state.i = state.i + 1
      local first, second = self.each(state.records[state.i])
      if first ~= nil then return first, second end
    end
    state.records, state.i = following_page(state.walk, in_for), 0
  end
  return nil
end

-- Finds the walk by the record that it returned last, so that loops over one list can be nested.
local function continue(self, state, first, ...)
  if first ~= nil then self.walks[first] = state end
  return first, ...
end

--- A generic for over all records of all pages; raises err. Each loop starts at the first page. Calls without arguments share one walk, and
--- return nil at its end.
function mt.__call(self, ...)
  if select("#", ...) == 0 then -- a generic for passes its state and control variable
    self.own = self.own or new_state(self)
    return step(self, self.own, false)
  end
  local _, control = ...
  local state = control ~= nil and self.walks[control] or new_state(self)
  if control ~= nil then self.walks[control] = nil end
  return continue(self, state, step(self, state, true))
end

--- An iterable over a paged row. plan() makes a new request; each(record) returns what a loop gets, or nil to skip the record.
--- own_walk(request): a walk that replaces the one over the row's pages.
function M.new(row, handle, plan, each, own_walk)
  plan() -- usage errors raise here, not inside a loop
  return setmetatable({
    row = row, handle = handle, plan = plan,
    walk = own_walk or function(request) return walk(row, handle, request) end,
    each = each or function(record) return record end,
    own = false, -- the walk of calls without arguments
    walks = setmetatable({}, { __mode = "k" }), -- last record of a walk -> the walk
  }, mt)
end

return M
