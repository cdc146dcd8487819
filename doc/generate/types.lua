-- Writes lua/fleet/types.lua, the definitions that LuaLS shows in an editor: calls, options and kinds come from the
-- rows, what has no row is text here and in the files types_*.lua beside it. `make doc` runs it.

local core = require "fleet.core"
local calls = require "fleet.cli.calls"

local M = {}

-- ---- types of values ----

local types = {
  string = "string", integer = "integer", number = "number", boolean = "boolean", id = "string|integer", vin = "string",
  time = "string|number", date = "string", days = "string|string[]|integer", strings = "string[]", vins = "string[]",
  object = "table", tariff = "table", bytes = "string", public_key = "string|fleet.key",
}

local function literal(value)
  return type(value) == "number" and tostring(value) or '"' .. value .. '"'
end

-- Choices as a union of their names and values, each once.
local function union(choices)
  local list, seen = {}, {}
  local function add(value)
    local text = literal(value)
    if not seen[text] then list[#list + 1] = text end
    seen[text] = true
  end
  for _, choice in ipairs(choices) do add(choice.name) end
  for _, choice in ipairs(choices) do add(choice.value) end
  return table.concat(list, "|")
end

local function also_taken(column)
  if column.word then return '|"' .. column.word .. '"' end
  return column.joined and "|string[]" or column.object_too and "|table" or column.member and "|string" or ""
end

local function value_type(column)
  if not column.choices then return types[column.type] .. also_taken(column) end
  local text = union(column.choices)
  return column.type == "strings" and "(" .. text .. ")[]" or text
end

local function field(column, optional, doc)
  return string.format("---@field %s%s %s %s", column.name, optional and "?" or "", value_type(column), doc)
end

local function param_doc(param)
  local list = { param.doc }
  if param.unit then list[#list + 1] = param.unit end
  if param.min and not param.choices and param.type ~= "id" then
    list[#list + 1] = string.format("%.14g to %.14g", param.min, param.max)
  end
  return table.concat(list, "; ")
end

-- ---- one call ----

local function class_name(row)
  return "fleet.params." .. string.gsub(row.name, "%.", "_")
end

-- Parameters that are no part of the request: lua/fleet/resources/vehicle.lua takes them.
local added = {
  vehicle_data = {
    '---@field from? "stream" the newest values of the client\'s telemetry receiver, without a call',
    "---@field age? number seconds: how old a value of the stream may be; default 60",
    '---@field fallback? "look" with from = "stream": a billed look where the stream lacks a section',
  },
}

local function params_class(row)
  local _, params = calls.arguments(row)
  if #params == 0 then return nil end
  local lines = { "---@class " .. class_name(row) }
  for _, param in ipairs(params) do lines[#lines + 1] = field(param, not param.required, param_doc(param)) end
  for _, line in ipairs(added[row.name] or {}) do lines[#lines + 1] = line end
  return table.concat(lines, "\n")
end

-- A parameter that may be given without a table widens the type.
local function params_type(row)
  local _, params = calls.arguments(row)
  if #params == 0 then return "table", false end
  local text, needed = class_name(row), false
  for _, param in ipairs(params) do
    needed = needed or param.required
    if param.whole then text = text .. "|" .. types[param.type] end
  end
  return text, not needed
end

local function result_type(row)
  if row.flags.command then return "fleet.changed" end
  if row.flags.setting then return "fleet.setting" end
  return (row.value.bytes or row.value.base64) and "string" or "table"
end

local function returns(row)
  if row.paging ~= "no" then return "---@return fleet.pages" end
  return "---@return " .. result_type(row) .. "? result\n---@return fleet.err err\n---@return fleet.kind kind"
end

local function method(row)
  local path = calls.arguments(row)
  local lines = { "---" .. row.doc }
  for _, param in ipairs(path) do
    lines[#lines + 1] = string.format("---@param %s %s %s", param.name, value_type(param), param_doc(param))
  end
  if calls.takes_params(row) then
    local text, optional = params_type(row)
    lines[#lines + 1] = "---@param params" .. (optional and "? " or " ") .. text
  end
  lines[#lines + 1] = "---@param options? fleet.call_options"
  lines[#lines + 1] = returns(row)
  lines[#lines + 1] = string.format("function %s:%s(%s) end", row.handle, row.method, calls.signature(row))
  return table.concat(lines, "\n")
end

-- ---- the parts of the file ----

local head = [[
---@meta fleet
-- Written by `make doc` from the tables in src/tables and from doc/generate/types.lua; change those.]]

local tail = [[
---What a command did. changed is false when the vehicle already had the wanted state.
---@class fleet.changed
---@field changed boolean
---@field perhaps_changed? true beside changed = false: an earlier attempt of this call got no answer
---@field reason? string the vehicle's word
---@field via "signed"|"plain"|"proxy"
---@field authenticated boolean the answer was signed by the vehicle

---What the service answered to an energy setting. changed = true: the service accepted it; it may have been set before.
---@class fleet.setting
---@field changed boolean false: the site holds it already
---@field code? integer
---@field message? string

---A list in pages: a generic for walks all of them and raises err.
---@class fleet.pages
---@field collect fun(self: fleet.pages): table[]?, fleet.err?, fleet.kind?
---@field pages fun(self: fleet.pages): fun(): table[]
---@overload fun(): any

---@class fleet.task
---@field wait fun(self: fleet.task): ... what the function returned; an error in it raises again
---@field cancel fun(self: fleet.task)
---@field close fun(self: fleet.task)
local task = {}

---@class fleet.module
---@field _VERSION string
---@field null any JSON null, for sending
---@field loop table fd, pollfd, getfd, events, timeout, dirty, step, watch, clock, wait
---@field store table stores of tokens, sessions and counts
---@field tariff table time-of-use tariffs
---@field key table virtual keys
local fleet = {}

---A client. Raises for a wrong option; touches no file and no network.
---@param options fleet.options
---@return fleet.client
function fleet.new(options) end

---A client from a JSON file of options and the variables FLEET_..., which come before it.
---@param path? string
---@return fleet.client? client
---@return fleet.err err
---@return fleet.kind kind
function fleet.from_config(path) end

---The same client or handle, whose calls raise err in place of returning it.
---@generic T
---@param object T
---@return T
function fleet.throwing(object) end

---Starts a task. It first runs in the next step of the loop, or later if more than sixteen tasks wait.
---@param fn function
---@param ... any
---@return fleet.task
function fleet.spawn(fn, ...) end

---Runs until all tasks have ended; returns what fn returned.
---@param fn function
---@param ... any
function fleet.run(fn, ...) end

---@param seconds number
function fleet.sleep(seconds) end

---Calls fn for every item, several at a time; one failure never stops the rest.
---@param list any[]
---@param fn fun(item: any): any, fleet.err?, fleet.kind?
---@param options? { concurrency?: integer, progress?: function, skip?: function, longest_pause?: number }
---@return { item: any, ok: boolean, value: any, err: fleet.err? }[]
function fleet.map(list, fn, options) end

---Finishes what is in flight, saves, and reports what stayed unknown.
function fleet.drain() end

---UTC seconds of RFC 3339 text or of milliseconds.
---@param value string|number
---@return number?
function fleet.time(value) end

---@return table[] endpoints the rows of all endpoints, a fresh list
function fleet.endpoints() end

---@return table[] commands the rows of all commands, a fresh list
function fleet.commands() end

---@return table[] reasons the rows of all reasons, a fresh list
function fleet.reasons() end

---A command as the bytes that are signed; nil when it has no signed form, or none that is published and unpublished was
---not asked for.
---@param name string
---@param params? table
---@param options? { unpublished?: boolean }
---@return { domain: string, payload: string }? command
---@return fleet.err err
---@return fleet.kind kind
function fleet.command(name, params, options) end

---@param domain string
---@param payload string
---@return string? name
---@return table|fleet.err params
---@return table[]|fleet.kind? further parameters for further seats
function fleet.decode_command(domain, payload) end

---@param bytes string
---@return string
function fleet.base64(bytes) end

---@param text string
---@return string?
function fleet.unbase64(text) end

---A handle for one vehicle; makes no call.
---@param vin string
---@return fleet.vehicle
function client:vehicle(vin) end

---A handle for one energy site; makes no call.
---@param id string|integer
---@return fleet.site
function client:energy_site(id) end

---The energy sites of the account, by one free call: for site, record in client:energy_sites() do.
---@param options? fleet.options
---@return fleet.pages
function client:energy_sites(options) end

---Any row's call by its name; args include the path arguments.
---@param name string
---@param args? table
---@param options? fleet.call_options
function client:call(name, args, options) end

---The address that a person opens to sign in, and what authorize needs to check the answer (secret). Without scopes, here and in
---fleet.new, all of an owner are asked for; openid is added to offline_access.
---@param options? fleet.authorize_options
---@return string? url
---@return table|fleet.err pending
function client:authorize_url(options) end

---@param callback string the address that the browser came back with, or a bare code
---@param pending table
---@return boolean? done
---@return fleet.err err
---@return fleet.kind kind
function client:authorize(callback, pending) end

---@return boolean? done
---@return fleet.err err
---@return fleet.kind kind
function client:refresh() end

---@param options? table
---@return boolean? done
---@return fleet.err err
---@return fleet.kind kind
function client:partner_login(options) end

---@param options table
---@return boolean? done
---@return fleet.err err
---@return fleet.kind kind
function client:business_login(options) end

---What the stored token says about itself; hints, not verified.
---@return table? info
---@return fleet.err err
---@return fleet.kind kind
function client:token_info() end

---Refreshes a pair older than 30 days.
---@return boolean? done
---@return fleet.err err
---@return fleet.kind kind
function client:keep_alive() end

---@param options? table
---@return string url
function client:consent_url(options) end

---@param options table
---@return string? url
---@return table|fleet.err pending
function client:add_scopes_url(options) end

---Which scopes are asked for by default, and which were granted; granted and missing are absent when no token names them.
---@return { asked: string[], granted?: string[], missing?: string[] }? scopes
---@return fleet.err err
---@return fleet.kind kind
function client:scopes() end

---Removes the account's tokens from the store and from memory: of all kinds, or of one.
---@param options? { auth?: "user"|"partner"|"business" }
---@return boolean? done
---@return fleet.err err
---@return fleet.kind kind
function client:logout(options) end

---Calls a path of the service, also one that has no row.
---@param method "GET"|"POST"|"DELETE"
---@param path string below the base address, with its query
---@param body? table|string
---@param options? fleet.call_options
---@return any value
---@return fleet.err err
---@return fleet.kind kind
function client:request(method, path, body, options) end

---@param options? { domain?: string, vin?: string }
---@return string url
function client:pairing_url(options) end

---Finds the region in which the account lives, and uses it from now on.
---@return { region: string?, base_url: string }? found
---@return fleet.err err
---@return fleet.kind kind
function client:discover_region() end

---Compares the application's key here, hosted and registered.
---@param options? { domain?: string, key_url?: string }
---@return { ok: boolean, lines: table[] }
function partner:check(options) end

---What the account has spent, as its store counted it.
---@param options? { month?: string, vehicle?: string|fleet.vehicle }
---@return fleet.cost? cost
---@return fleet.err err
---@return fleet.kind kind
function client:cost(options) end

---Ends the client; may be called again.
function client:close() end

---Wakes the vehicle and waits until it is online.
---@param options? { timeout?: number }
---@return boolean? online
---@return fleet.err err
---@return fleet.kind kind
function vehicle:wake(options) end

---Whether a write of unknown outcome was done: one billed read, never waking.
---@param err fleet.err
---@return boolean? done
---@return fleet.err err
---@return fleet.kind kind
function vehicle:settle(err) end

---Vehicle data over the signed protocol.
---@param sections string[]
---@return table? data
---@return fleet.err err
---@return fleet.kind kind
function vehicle:signed_data(sections) end

---Waits until the vehicle has taken its telemetry configuration over: 1800 seconds, some 35 priced reads. Ends at once with
---"refused" or "limit_exceeded" where the vehicle holds no configuration of this application, or can hold none.
---@param options? { timeout?: number }
---@return table? config
---@return fleet.err err
---@return fleet.kind kind
function vehicle:wait_telemetry_synced(options) end

---The position of the car and its age, by one live read.
---@param options? table
---@return { lat: number, lon: number, heading?: number, at?: number, age?: number }?, fleet.Err?, string?
function vehicle:locate(options) end

---Sends an address to the navigation and looks whether a route appeared.
---@param address string
---@param options? { timeout?: number }
---@return { destination: string, minutes?: number, miles?: number }?, fleet.Err?, string?
function vehicle:navigate(address, options) end

---Waits until a field of the car has a value; a live look only at a car that its record shows awake.
---@param options { what: string, is: any, timeout?: number, every?: number }
---@return any, fleet.Err?, string?
function vehicle:wait_until(options) end]]

local function kinds()
  local lines = { "---@alias fleet.kind" }
  for _, kind in ipairs(core.kinds()) do lines[#lines + 1] = string.format('---| "%s" # %s', kind.name, kind.doc) end
  return table.concat(lines, "\n")
end

local err_class = [[
---What client:authorize_url and client:add_scopes_url take.
---@class fleet.authorize_options
---@field scopes? string[]|string a list, or a text with blanks between them
---@field locale? string
---@field prompt? string
---@field login_hint? string
---@field nonce? string
---@field prompt_missing_scopes? boolean third-party apps only, as the next two
---@field require_requested_scopes? boolean
---@field show_keypair_step? boolean

---A failure as a value with facts; prints itself as a sentence.
---@class fleet.err
---@field kind fleet.kind
---@field message string
---@field outcome? "not_sent"|"refused"|"unknown" of a write
---@field status? integer HTTP status
---@field reason? string the service's or the vehicle's word
---@field fault? integer number of a protocol fault
---@field resynced? boolean of session:open: the session has taken a new epoch or counter, so that signing again may succeed
---@field retry_after? number seconds
---@field scope? string the scope that the call needs, the lesser one where two would do
---@field vin? string
---@field site? string
---@field request? string
---@field request_id? string the service's name of the exchange, for its support
---@field messages? table<string, string[]> what the service says of single fields
---@field problems? table[] of a configuration or a tariff that was not sent
---@field state? string of the vehicle, as it was last seen
---@field raw? string
---@field budget? fleet.spent where a budget forbids the call

---@class fleet.spent
---@field limit string "usd_per_month", "per_day.command"
---@field period "day"|"month"
---@field most number dollars or calls
---@field spent number
---@field calls { [string]: integer } of the period, by price class
---@field resets_at number UTC seconds

---@class fleet.cost
---@field month string "2026-03", of UTC
---@field account string
---@field vin? string
---@field usd number
---@field calls { [string]: integer } by price class
---@field days { date: string, usd: number, calls: table }[]
---@field vehicles? { vin: string, usd: number, calls: table }[] the dearest first
---@field budgets { name: string, most: number, spent: number, left: number }[]
---@field prices { date: string, source: string, usd: table }]]

local objects = { budgets = true, pacing = true, prices = true }

local function option_class(name, options)
  local lines = { "---@class " .. name }
  for _, option in ipairs(options) do
    local column = option
    if option.name == "key" or option.name == "store" then column = { name = option.name, type = "any" } end
    if option.lua_only then column = { name = option.name, type = objects[option.name] and "object" or "any" } end
    lines[#lines + 1] = field(column, true, option.doc .. (option.fallback and " (" .. option.fallback .. ")" or ""))
  end
  return table.concat(lines, "\n")
end
types.any = "any"

-- What a handle holds beside its methods.
local facts_of = { vehicle = { "---@field vin string" }, site = { "---@field id string" } }

local function handles()
  local list = {}
  for _, handle in ipairs(calls.handles) do
    local lines = { "---@class fleet." .. handle.name }
    if handle.name == "client" then
      for _, part in ipairs { "partner", "user", "charging" } do
        lines[#lines + 1] = string.format("---@field %s fleet.%s", part, part)
      end
    end
    for _, line in ipairs(facts_of[handle.name] or {}) do lines[#lines + 1] = line end
    lines[#lines + 1] = "local " .. handle.name .. " = {}"
    list[#list + 1] = table.concat(lines, "\n")
  end
  return table.concat(list, "\n\n")
end

--- The whole definition file as text.
function M.definitions()
  local list = { head, kinds(), err_class, option_class("fleet.options", core.options()),
    option_class("fleet.call_options", core.call_options()), handles() }
  for _, rows in ipairs { core.endpoints(), core.commands() } do
    for _, row in ipairs(rows) do
      list[#list + 1] = params_class(row)
      list[#list + 1] = method(row)
    end
  end
  list[#list + 1] = tail
  list[#list + 1] = require "doc.generate.types_modules"
  list[#list + 1] = require "doc.generate.types_signing"
  list[#list + 1] = require "doc.generate.types_telemetry"
  list[#list + 1] = "return fleet"
  return table.concat(list, "\n\n") .. "\n"
end

return M
