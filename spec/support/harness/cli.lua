-- Runs the command line in this process: streams are texts, the service is a function.

local core = require "fleet.core"
local eavesdrop = require "spec.support.harness.eavesdrop"
local main = require "fleet.cli.main"

local M = {}

local function writer()
  local parts = {}
  local stream = {}
  function stream:write(...)
    for i = 1, select("#", ...) do parts[#parts + 1] = tostring((select(i, ...))) end
    return self
  end
  function stream.flush()
    return true
  end
  return stream, function() return table.concat(parts) end
end

local function reader(text)
  local place = 1
  return {
    read = function(_, what)
      if place > #text then return what == "*a" and "" or nil end
      local first = place
      local last = what ~= "*a" and string.find(text, "\n", first, true) or #text
      place = last + 1
      local piece = string.sub(text, first, last)
      return what == "*l" and string.gsub(piece, "\n$", "") or piece
    end,
  }
end

--- Runs `fleet` with a list of arguments. given: stdin (text), env (table), http (function(request) -> reply), answer (what
--- a person types at a prompt), terminal, columns. Returns { status =, out =, err =, json = decoded out or nil, options = of fleet.new }.
function M.run(argv, given)
  given = given or {}
  local out, out_text = writer()
  local err, err_text = writer()
  local result = {}
  result.status = main.main(argv, {
    getenv = function(name) return (given.env or {})[name] end,
    stdin = reader(given.stdin or ""), stdout = out, stderr = err,
    terminal = function() return given.terminal or false end,
    columns = function() return given.columns end,
    ask = function() return given.answer end,
    new = given.new or function(options)
      result.options = options
      if given.http then options.http = given.http end
      return require("fleet").new(options)
    end,
  })
  result.out, result.err = out_text(), err_text()
  eavesdrop.note(result.out)
  eavesdrop.note(result.err)
  result.json = core.json_decode(result.out)
  return result
end

--- A service that records: returns function(request), list of requests. answer: body, or function(request) -> status, body.
function M.service(answer)
  local requests = {}
  return function(request)
    requests[#requests + 1] = request
    local status, body = 200, answer
    if type(answer) == "function" then status, body = answer(request) end
    return { status = status, headers = { ["content-type"] = "application/json" }, body = body }
  end, requests
end

return M
