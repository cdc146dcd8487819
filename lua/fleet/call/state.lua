-- What one call knows about itself while it runs: its request, its deadline, and the facts that core.next decides from.

local tasks = require "fleet.async"

local M = {}

--- The state of a call that begins. What follows the handle is what core.plan gives beside the request, if that is at hand.
function M.new(row, request, handle, timeout, idempotent, wanted_token, context, id)
  if not context then timeout, idempotent, wanted_token, context, id = request:settings(handle) end
  local real, now, wall = tasks.times()
  return {
    row = row, request = request, context = context, id = id, handle = handle, write = row.write,
    proxied = false, deadline = real + (timeout or context.config.timeout), wanted_token = wanted_token,
    turns = tasks.turns(), real = real, now = now, wall = wall, -- as it is until the loop turns
    -- room for what a signed command comes to know, so that the table is made once
    token_kind = nil, token = nil, signed = nil, domain = nil, visit = nil, answered = nil, answered_wall = nil,
    facts = {
      write = row.write, idempotent = idempotent, own_token = not context.config.token,
      refreshes = 0, regions = 0, repeats = 0,
    },
  }
end

--- A call that carries another one: its deadline and token, an outcome of its own.
function M.nested(call, row, request, write)
  return {
    row = row, request = request, context = call.context, id = call.id, handle = call.handle, write = write,
    proxied = false, deadline = call.deadline, token_kind = call.token_kind, envelope = true, outer = call,
    facts = {
      write = write, idempotent = not write, own_token = call.facts.own_token, refreshes = 0, regions = 0, repeats = 0,
    },
  }
end

return M
