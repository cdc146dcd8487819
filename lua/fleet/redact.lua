-- Secrets never leave in an error, a log event or raw text (rule R4): the one place that takes them out.

local M = {}

local mark = "[redacted]"

-- What hides in free text whatever its value: bearer tokens and JSON Web Tokens.
local patterns = {
  { "[Bb]earer%s+[%w%-%._~%+/]+=*", "Bearer " .. mark },
  { "eyJ[%w%-_]+%.[%w%-_]+%.?[%w%-_]*", mark },
}

local function replace_plain(text, secret)
  local out, from = {}, 1
  while true do
    local at, stop = string.find(text, secret, from, true)
    if not at then break end
    out[#out + 1] = string.sub(text, from, at - 1) .. mark
    from = stop + 1
  end
  if from == 1 then return text end
  return table.concat(out) .. string.sub(text, from)
end

local function secret_values(call)
  local values, params = {}, call.request and call.request:params()
  for name in pairs(call.row.secrets) do
    local value = params and params[name]
    if type(value) == "string" and #value > 0 then values[#values + 1] = value end
  end
  local config = call.account and call.account.config or {}
  for _, name in ipairs { "token", "client_secret", "store_key" } do
    if type(config[name]) == "string" and #config[name] > 0 then values[#values + 1] = config[name] end
  end
  return values
end

--- The text without secrets of the call: its secret parameters, the account's secrets, anything that looks like a token.
function M.text(text, call)
  for _, value in ipairs(secret_values(call)) do text = replace_plain(text, value) end
  for _, pair in ipairs(patterns) do text = string.gsub(text, pair[1], pair[2]) end
  return text
end

--- Cleans the texts of an err in place.
function M.err(err, call)
  for _, name in ipairs { "message", "reason", "raw" } do
    if type(err[name]) == "string" then err[name] = M.text(err[name], call) end
  end
  return err
end

return M
