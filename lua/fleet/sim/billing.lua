-- The price of the calls: counted by billing class of the rows, with the prices of doc/protocol.md#prices. Signing in and replies of 500
-- and above are free; specifications are billed per successful result.
local M = {}
M.__index = M

local USD = { data = 1 / 500, command = 1 / 1000, wake = 1 / 50, specs = 0.10 }

function M.new()
  return setmetatable({ calls = {} }, M)
end

-- body: of the reply; the specifications of an unknown vehicle are an empty object, which is free.
function M:add(row, status, body)
  local class = row.billing
  if not USD[class] or status == 0 or status >= 500 then return end
  if class == "specs" and (status ~= 200 or body == '{"response":{}}') then return end
  self.calls[class] = (self.calls[class] or 0) + 1
end

-- { data = calls, command =, wake =, specs =, usd = all of them }
function M:state()
  local out = { usd = 0 }
  for class, price in pairs(USD) do
    out[class] = self.calls[class] or 0
    out.usd = out.usd + out[class] * price
  end
  return out
end

return M
