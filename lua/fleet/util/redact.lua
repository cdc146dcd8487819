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

-- A secret comes back as it was sent: as it is, in an address or a form, or in JSON that escapes the slash.
local function forms(secret)
  local percent = string.gsub(secret, "[^%w%-%._~]", function(c) return string.format("%%%02X", string.byte(c)) end)
  return { secret, percent, (string.gsub(secret, "/", "\\/")) }
end

-- Texts of the service are cut (base/err.h), perhaps within a secret: then its beginning stands at the end.
local may_be_cut, shortest_part = 188, 3

local function without_tail(text, form)
  for n = math.min(#form - 1, #text), shortest_part, -1 do
    if string.sub(text, -n) == string.sub(form, 1, n) then return string.sub(text, 1, -n - 1) .. mark end
  end
  return text
end

local shortest = 4 -- less hides more words than secrets

-- A PIN may be a part of a token: what is left of the token would no longer be known for one.
local function longest_first(secrets)
  local list = {}
  for i, secret in ipairs(secrets) do list[i] = secret end
  table.sort(list, function(a, b) return #a > #b end)
  return list
end

--- The text without the secrets of the list, and without anything that looks like a token.
function M.hide(text, secrets)
  local cut = #text >= may_be_cut
  for _, secret in ipairs(longest_first(secrets)) do
    for _, form in ipairs(#secret >= shortest and forms(secret) or {}) do
      text = replace_plain(text, form)
      if cut then text = without_tail(text, form) end
    end
  end
  for _, pair in ipairs(patterns) do text = string.gsub(text, pair[1], pair[2]) end
  return text
end

local function secret_values(call)
  local values = {}
  local function add(value)
    if type(value) == "string" then values[#values + 1] = value end
  end
  local params = call.request and call.request:params() or {}
  for name in pairs(call.row.secrets) do add(params[name]) end
  local config = call.context and call.context.config or {}
  for _, name in ipairs { "token", "client_secret", "store_key" } do add(config[name]) end
  add(call.token)
  add(call.rejected)
  return values
end

--- The text without secrets of the call: its secret parameters, its tokens, the account's secrets.
function M.text(text, call)
  return M.hide(text, secret_values(call))
end

--- Cleans the texts of an err in place.
function M.err(err, call)
  for _, name in ipairs { "message", "reason", "raw" } do
    if type(err[name]) == "string" then err[name] = M.text(err[name], call) end
  end
  return err
end

return M
