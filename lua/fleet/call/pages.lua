-- Walking over pages: one iterable for every row whose paging column is set.
--
-- The service has three ways to number pages. A walk ends when the service says so, at an empty or short page, or when a
-- page brings nothing new: some servers ignore the page number and would be walked for ever (doc/protocol.md#paging).

local calls = require "fleet.call"
local core = require "fleet.core"
local tasks = require "fleet.async"
local errors = require "fleet.util.errors"

local M = {}

-- One walk: a function that returns the next list of records, nil at the end, or nil, err, kind.
local function walk(row, handle, request)
  local pages = core.pages(row.pointer, request:params())
  return function()
    local query, err, kind = core.next_page(row.pointer, pages)
    if not query then return nil, err, kind end
    request:query(query)
    local page
    page, err, kind = calls.perform(row, handle, request)
    if err then return nil, err, kind end
    return core.take_page(row.pointer, pages, page)
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

-- What is no list is walked in one of two ways; what takes a list would see an empty one.
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
    return following_page(following, select("#", ...) > 0) -- a generic for gives its state and its control
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

-- The next record, as `each` gives it; what it leaves out is passed over.
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

-- A walk is found again by what it gave last, so that loops over one list may stand inside each other.
local function continue(self, state, first, ...)
  if first ~= nil then self.walks[first] = state end
  return first, ...
end

--- Generic for over all records of all pages; raises err. Each loop is a walk of its own from the first page. A call
--- without arguments goes on with one walk of its own, nil at its end.
function mt.__call(self, ...)
  if select("#", ...) == 0 then -- a generic for gives its state and its control
    self.own = self.own or new_state(self)
    return step(self, self.own, false)
  end
  local _, control = ...
  local state = control ~= nil and self.walks[control] or new_state(self)
  if control ~= nil then self.walks[control] = nil end
  return continue(self, state, step(self, state, true))
end

--- An iterable over a paged row. plan() makes a fresh request, each(record) gives what a loop sees, nil for a record to leave out.
--- own_walk(request): a walk over something else than the row's pages.
function M.new(row, handle, plan, each, own_walk)
  plan() -- the caller's mistakes raise here, not in the middle of a loop
  return setmetatable({
    row = row, handle = handle, plan = plan,
    walk = own_walk or function(request) return walk(row, handle, request) end,
    each = each or function(record) return record end,
    own = false, -- the walk of calls without arguments
    walks = setmetatable({}, { __mode = "k" }), -- last record of a walk -> the walk
  }, mt)
end

return M
