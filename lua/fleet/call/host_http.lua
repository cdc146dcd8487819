-- An exchange through a host's own HTTP (options.http), for programs that have a client and a loop of their own. The host's
-- function is foreign code: it may raise, wait, or return what is no reply, and none of it may pass for an answer.

local core = require "fleet.core"
local pcall = require("fleet.util.compat").pcall -- what it calls may wait

local M = {}

local out_of_memory = "not enough memory" -- the words of Lua

local function unanswered(message, sent)
  return core.reply { failure = sent == false and "connect" or "cut", message = message, sent = sent ~= false }
end

--- function(request) -> { status, headers, body } or nil, err, sent. sent nil counts as sent, and so does a failure of the
--- function itself: it may have happened after the request left.
--- asked: the request of one who must not lose what was answered, whatever is raised here: it has a place for it.
function M.exchange(context, request, seconds, asked)
  request.timeout = seconds
  local ran, answer, err, sent = pcall(context.config.http, request)
  if ran and asked and asked.answer == false then asked.answer = answer or false end
  if not ran then
    if type(answer) == "table" and answer.kind == "cancelled" then error(answer, 0) end
    return unanswered("the host's http function failed: " .. tostring(answer))
  end
  if not answer then return unanswered(tostring(err), sent) end
  local read, reply = pcall(core.reply, answer, context.config.max_response)
  if not read and reply == out_of_memory then error(reply, 0) end -- it says nothing about the answer
  if not read then return unanswered("the host's http function returned what is no reply: " .. tostring(reply)) end
  return reply
end

return M
