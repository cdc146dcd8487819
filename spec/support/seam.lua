-- A client without a network: the `http` option answers, and every request is kept.
--
--   local client, requests = seam.client(answers, options)
--   answers   a function(request, number) that returns what http returns; or a list of answers, the last of which is
--             given again and again; an answer is a table { status =, headers =, body = }, or text: the body of a 200
-- client.requests[i] has method, url, path (below the host, with the query), headers, body, timeout.

local fleet = require "fleet"

local M = { vin = "5YJ3E1EA7KF000001", host = "https://service.example" }

function M.answer(given)
  if type(given) == "string" then return { status = 200, headers = {}, body = given } end
  return given
end

-- The text of a reply that a command gives when it was done.
M.done = '{"response":{"result":true,"reason":""}}'

function M.refused(reason)
  return '{"response":{"result":false,"reason":"' .. reason .. '"}}'
end

local function in_turn(list)
  return function(_, number)
    return M.answer(list[math.min(number, #list)])
  end
end

function M.client(answers, options)
  local requests = {}
  local give = type(answers) == "function" and answers or in_turn(type(answers) == "table" and answers or { answers })
  local given = { token = "a-token", base_url = M.host }
  for name, value in pairs(options or {}) do given[name] = value end
  function given.http(request)
    requests[#requests + 1] = request
    request.path = request.url:gsub("^https?://[^/]+", "")
    return give(request, #requests)
  end
  return fleet.new(given), requests
end

function M.car(answers, options)
  local client, requests = M.client(answers, options)
  return client:vehicle(M.vin), requests, client
end

function M.site(answers, options)
  local client, requests = M.client(answers, options)
  return client:energy_site("1234567890"), requests, client
end

return M
