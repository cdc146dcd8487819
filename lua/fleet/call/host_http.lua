-- Exchanges a request through the host's own HTTP (options.http), for programs with an HTTP client and event loop of their own. The host's
-- function may raise, wait, answer late or in pieces, or return a malformed reply; each of these becomes a failure.

local core = require "fleet.core"
local tasks = require "fleet.async"
local pcall = require("fleet.util.compat").pcall -- the called functions may yield

local M = {}

local out_of_memory = "not enough memory" -- Lua's own message

-- The object whose call delivers the host's answer from a callback: later(answer), or later(nil, err, sent). later.abandon is set by the
-- host; it is called when the call stops waiting.
local later_mt = {}
function later_mt.__call(later, answer, err, sent)
  if later.promise.done then return end
  later.answer, later.err, later.sent = answer, err, sent
  tasks.wake(later.promise, true)
end

local function abandon(later)
  if type(later.abandon) == "function" then pcall(later.abandon) end
end

local function wait_for(later, seconds)
  local ran, answered = pcall(tasks.await_for, later.promise, seconds * tasks.loop.speed)
  if ran and answered then return later.answer, later.err, later.sent end
  later.promise.done = true -- an answer after this is late and ignored
  abandon(later)
  if not ran then error(answered, 0) end
  return nil, "timeout", true
end

-- Reads a body in pieces: source() returns the next one, nil at the end, or nil and an error. Stops reading after `most` bytes.
local function read_body(source, most)
  local pieces, size = {}, 0
  repeat
    local piece, err = source()
    if err ~= nil then return nil, err end
    if piece ~= nil and type(piece) ~= "string" then return nil, "a piece of the body is a " .. type(piece) end
    if piece ~= "" then pieces[#pieces + 1] = piece end
    size = size + #(piece or "")
  until piece == nil or size > most
  return table.concat(pieces)
end

local function ask(context, request, opened)
  local later = setmetatable({ promise = tasks.promise() }, later_mt)
  local answer, err, sent = context.config.http(request, later)
  if answer == later then answer, err, sent = wait_for(later, request.timeout) end
  if type(answer) ~= "table" or type(answer.body) ~= "function" then return answer, err, sent end
  opened.answer = answer
  local body
  body, err = read_body(answer.body, context.config.max_response)
  if not body then return nil, err, true end
  return { status = answer.status, headers = answer.headers, body = body }
end

local function close(answer)
  if answer and type(answer.close) == "function" then pcall(answer.close) end
end

local function unanswered(message, sent)
  local failure = message == "timeout" and "timeout" or sent == false and "connect" or "cut"
  return core.reply { failure = failure, message = message, sent = sent ~= false }
end

--- Calls the host's function(request, later), which returns { status, headers, body }, or nil, err, sent, or later. sent = nil counts as
--- sent. An error of the function also counts as sent, because it may have happened after the request left. asked: a request with answer =
--- false, or nil. The host's answer is stored in asked.answer before anything can raise, so that it is not lost.
function M.exchange(context, request, seconds, asked)
  local opened = {}
  request.timeout = seconds
  local ran, answer, err, sent = pcall(tasks.within, seconds, ask, context, request, opened)
  close(opened.answer)
  if ran and asked and asked.answer == false then asked.answer = answer or false end
  if not ran then
    if type(answer) == "table" and answer.kind == "cancelled" then error(answer, 0) end
    if type(answer) == "table" and answer.kind == "timeout" then return unanswered("timeout") end
    return unanswered("the host's http function failed: " .. tostring(answer))
  end
  if not answer then return unanswered(tostring(err), sent) end
  local read, reply = pcall(core.reply, answer, context.config.max_response)
  if not read and reply == out_of_memory then error(reply, 0) end -- the answer itself may be good
  if not read then return unanswered("the host's http function returned what is no reply: " .. tostring(reply)) end
  return reply
end

--- The same for a request in the form of the core's HTTP: headers = { lines }, body = text or an object that holds a secret text.
function M.raw(context, request, seconds)
  local headers, body = {}, request.body
  for _, line in ipairs(request.headers or {}) do
    local name, value = string.match(line, "^([^:]+):%s*(.*)$")
    headers[string.lower(name)] = value
  end
  headers["user-agent"] = context.config.user_agent
  if type(body) == "userdata" then body = body:text() end
  return M.exchange(context, { method = request.method, url = request.url, headers = headers, body = body }, seconds, request)
end

return M
