-- The status page of `fleet run --listen`: the state of each automation, for a browser and as JSON. It is read-only and answers this
-- machine only. Checks of Host and Origin keep out web pages that a browser shows, also those with a name that resolves to this machine.

local core = require "fleet.core"
local html = require "fleet.cli.status_page.html"
local pcall = require("fleet.util.compat").pcall -- the called functions may yield
local usage_error = require "fleet.cli.usage_error"

local M = {}

local most_connections, arrival = 16, 10
local names_of_loopback = { ["127.0.0.1"] = true, ["localhost"] = true, ["[::1]"] = true }

-- ---- the address ----

local function is_loopback(host)
  return string.find(host, "^127%.%d+%.%d+%.%d+$") ~= nil or host == "::1"
end

--- Parses the text of --listen: { unix = path } or { host =, port = }. Raises for text that is not an address, and for an address that
--- other machines can reach.
function M.address(text)
  local path = string.match(text, "^unix:(/.+)$")
  if path then return { unix = path } end
  local host, port = string.match(text, "^%[([%x:%.]+)%]:(%d+)$")
  if not host then host, port = string.match(text, "^(%d+%.%d+%.%d+%.%d+):(%d+)$") end
  if not host or tonumber(port) > 65535 then
    usage_error.raise("--listen is 127.0.0.1:port, [::1]:port or unix:/path, not '" .. text .. "'", { "run" })
  end
  if not is_loopback(host) then
    usage_error.raise("--listen: '" .. text .. "' can be reached from other machines, and the page has no login: listen on 127.0.0.1",
      { "run" })
  end
  return { host = host, port = tonumber(port) }
end

-- ---- access ----

local function is_our_name(self, host)
  host = string.lower(host or "")
  local name, port = string.match(host, "^(.+):(%d+)$")
  name = name and string.sub(name, -1) ~= ":" and name or host
  local ours = names_of_loopback[name] or name == self.place.host
  return ours and (name == host or tonumber(port) == self.server:port())
end

-- Returns the status and the sentence of a rejected request, or nil.
local function objection(self, asked)
  if not self.place.unix then
    if asked.headers.origin then return 403, "requests of web pages are refused" end
    if not is_our_name(self, asked.headers.host) then return 403, "this page has another name" end
  end
  if asked.method ~= "GET" and asked.method ~= "HEAD" then return 405, "this page only shows" end
end

-- ---- content ----

local function iso(at, zone)
  return at and core.time_text(math.floor(at), zone and zone:offset(math.floor(at)) or 0) or nil
end

local function slots_of(list, zone)
  local out = {}
  for i, one in ipairs(list) do out[i] = { from = iso(one.from, zone), to = iso(one.to, zone), price = one.price } end
  return out
end

local function plan_as_json(plan, zone)
  return plan and {
    from = iso(plan.from, zone), to = iso(plan.to, zone), level = plan.level, wanted = plan.wanted, in_car = plan.in_car,
    currency = plan.currency,
    slots = slots_of(plan.slots, zone), prices = slots_of(plan.prices, zone),
  }
end

local function as_json(one)
  if one.failure then return one end
  local zone = one.zone
  return {
    name = one.name, kind = one.kind, subject = one.subject, running = one.running, why = one.why, why_at = iso(one.why_at, zone),
    next_look = iso(one.next_look, zone), cost = { usd = one.cost.usd, calls = one.cost.calls }, commands_today = one.commands_today,
    daily_cap = one.daily_cap, trouble = one.trouble and { message = one.trouble.message, ends = iso(one.trouble.ends, zone) } or nil,
    plan = plan_as_json(one.plan, zone),
  }
end

-- An automation whose state cannot be read is reported on its own card; the page shows the others.
function M.status_of(one)
  local ran, found, err = pcall(one.status, one)
  if ran and found then return found end
  return { name = one.config.name, failure = tostring(ran and err or found) }
end

local function statuses(self)
  local list = {}
  for i, one in ipairs(self.list()) do list[i] = M.status_of(one) end
  return list
end

local function version()
  return require "fleet.util.version"
end

local function wall()
  local _, now = require("fleet").loop.clock()
  return math.floor(now)
end

local headers_of_all = {
  ["Cache-Control"] = "no-store", ["X-Content-Type-Options"] = "nosniff", ["Referrer-Policy"] = "no-referrer",
  ["Content-Security-Policy"] = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; "
    .. "frame-ancestors 'none'",
}

local function headers(content_type)
  local out = { ["Content-Type"] = content_type }
  for name, value in pairs(headers_of_all) do out[name] = value end
  return out
end

local pages = {}

pages["/"] = function(self)
  local text = html.of(statuses(self), { file = self.file, at = wall(), version = version() })
  return headers "text/html; charset=utf-8", text
end

pages["/status.json"] = function(self)
  local list = {}
  for i, one in ipairs(statuses(self)) do list[i] = as_json(one) end
  return headers "application/json",
    core.json_encode({ at = iso(wall()), version = version(), file = self.file, automations = list }, "automations slots prices") .. "\n"
end

local function plain(request, status, text, more)
  local all = headers "text/plain; charset=utf-8"
  for name, value in pairs(more or {}) do all[name] = value end
  request:respond(status, all, text .. "\n")
end

local function answer(self, request, asked)
  local status, why = objection(self, asked)
  if status then return plain(request, status, why, status == 405 and { Allow = "GET, HEAD" } or nil) end
  local make = pages[asked.path]
  if not make then return plain(request, 404, "there is / and /status.json") end
  local ran, all, text = pcall(make, self)
  if not ran then return plain(request, 500, "the page could not be made: " .. tostring(all)) end
  request:respond(200, all, text)
end

-- ---- the object ----

local Page = {}
Page.__index = Page

--- The address of the page, as a person types it.
function Page:url()
  if self.place.unix then return "unix:" .. self.place.unix end
  local host = string.find(self.place.host, ":", 1, true) and "[" .. self.place.host .. "]" or self.place.host
  return string.format("http://%s:%d/", host, self.server:port())
end

function Page:close()
  self.server:close()
end

--- Listens at an address of M.address. file: of the automations; list: function() -> the running automations. Returns a page, or nil, err,
--- kind.
function M.open(place, file, list)
  local self = setmetatable({ place = place, file = file, list = list }, Page)
  local err, kind
  self.server, err, kind = require("fleet.util.optional_module").need("server").new {
    loop = require("fleet").loop, unix = place.unix, host = place.host, port = place.port, max_body = 1024,
    max_connections = most_connections, arrival = arrival,
    on_request = function(request, asked) require("fleet").spawn(answer, self, request, asked) end,
  }
  if not self.server then return nil, err, kind end
  return self
end

return M
