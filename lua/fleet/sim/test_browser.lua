-- The surroundings of a script under test: a person at a browser, who opens an authorize address, consents, and passes on the callback; and
-- orders to the simulator, such as advancing time, plugging in or driving.

local core = require "fleet.core"
local errors = require "fleet.util.errors"
local tasks = require "fleet.async"

local M = {}

local function send(request)
  local settings = core.settings { agent_line = "User-Agent: fleet-test-browser/0.1" }
  local reply = assert(tasks.exchange("submit_raw", request, settings, 30))
  local status, location, body = reply:status(), reply:header("location"), reply:body()
  local failure, message = reply:failure()
  reply:close()
  if failure ~= "ok" then return errors.failure("network", message) end
  return status, location, body
end

local function unescape(text)
  return (string.gsub(text, "&(%w+);", { amp = "&", quot = "\"", lt = "<", gt = ">" }))
end

local function encode(text)
  return (string.gsub(text, "[^%w%-%._~]", function(c) return string.format("%%%02X", string.byte(c)) end))
end

-- The first form, with the data that its first button sends.
local function form_of(html)
  local attributes, inner = string.match(html, "<form(.-)>(.-)</form>")
  if not attributes then return nil end
  local fields = {}
  for input in string.gmatch(inner, "<input(.-)>") do
    local name, value = string.match(input, "name=\"(.-)\""), string.match(input, "value=\"(.-)\"")
    local box = string.find(input, "type=\"checkbox\"", 1, true)
    if name and (not box or string.find(input, "checked", 1, true)) then
      fields[#fields + 1] = encode(unescape(name)) .. "=" .. encode(unescape(value or "on"))
    end
  end
  local button = string.match(inner, "<button(.-)>")
  local name = button and string.match(button, "name=\"(.-)\"")
  if name then fields[#fields + 1] = encode(name) .. "=" .. encode(unescape(string.match(button, "value=\"(.-)\"") or "")) end
  return unescape(string.match(attributes, "action=\"(.-)\"") or ""), table.concat(fields, "&")
end

local function absolute(address, from)
  if string.find(address, "^https?://") then return address end
  if address == "" then return from end
  return string.match(from, "^https?://[^/]+") .. address
end

--- Sends an order to the control address of a simulator, { advance = seconds } and the like (doc/manual/simulator.md). addresses: the first
--- line of `fleet sim`, or the simulator itself. Returns its answer, or nil, err, kind.
function M.control(addresses, order)
  local status, _, body = send {
    method = "POST", url = addresses.control_url, body = core.json_encode(order),
    headers = { "Content-Type: application/json", "Authorization: Bearer " .. addresses.control_token },
  }
  if not status then return nil, _, body end
  local answer = core.json_decode(body) or {}
  if status == 200 then return answer end
  return errors.failure("invalid", tostring(answer.error_description or answer.error), { status = status })
end

--- Opens the authorize address, presses the first button of the page if there is one, and returns the callback address, or nil, err, kind.
function M.consent(address)
  local status, location, body = send { method = "GET", url = address }
  if not status then return nil, location, body end
  local action, form = nil, nil
  if status == 200 then action, form = form_of(body) end
  if action then
    status, location, body = send {
      method = "POST", url = absolute(action, address), body = form, headers = { "Content-Type: application/x-www-form-urlencoded" },
    }
    if not status then return nil, location, body end
  end
  if location then return location end
  return errors.failure("auth", "the page gave no way back (HTTP " .. tostring(status) .. ")", { status = status })
end

--- Signs a client in: opens its authorize address, consents, and passes the callback on. options: of client:authorize_url. Returns true, or
--- nil, err, kind.
function M.sign_in(client, options)
  local address, pending, kind = client:authorize_url(options)
  if not address then return nil, pending, kind end
  local callback, err, why = M.consent(address)
  if not callback then return nil, err, why end
  return client:authorize(callback, pending)
end

return M
