-- JSON for the simulator. The core writes it, but does not read it. The core's reader serves a client: it drops null members, and an empty
-- list becomes an empty table. The simulator must return a tariff exactly as it was sent, and reply with [], {} and null. A reader of its
-- own also does not share mistakes with the client's. Lists carry a mark.
local core = require("fleet.core")

local M = {}

M.null = core.null

local list_mark = { __name = "json.list", __jsontype = "array" }

-- Marks a table as a list, even when it is empty.
function M.list(t)
  return setmetatable(t or {}, list_mark)
end

function M.is_list(t)
  return type(t) == "table" and (getmetatable(t) == list_mark or #t > 0)
end

-- ---- writing ----

--- Writes the members of an object in the order of their names, so that logs and specs can be compared.
M.encode = core.json_encode

-- ---- reading ----

local MAX_DEPTH = 64
local byte, find, sub = string.byte, string.find, string.sub

local function fail(at, what)
  error(("JSON: %s at byte %d"):format(what, at), 0)
end

-- Most programs write no spaces; only other texts need the pattern.
local function skip(text, at)
  local code = byte(text, at)
  if code and code > 32 then return at end
  return find(text, "[^ \t\r\n]", at) or #text + 1
end

local function utf8_of(code)
  if code < 0x80 then return string.char(code) end
  local function tail(shift) return 0x80 + math.floor(code / shift) % 64 end
  if code < 0x800 then return string.char(0xC0 + math.floor(code / 64), tail(1)) end
  if code < 0x10000 then return string.char(0xE0 + math.floor(code / 4096), tail(64), tail(1)) end
  return string.char(0xF0 + math.floor(code / 262144), tail(4096), tail(64), tail(1))
end

local plain = { ['"'] = '"', ["\\"] = "\\", ["/"] = "/", b = "\b", f = "\f", n = "\n", r = "\r", t = "\t" }

local function read_unicode(text, at)
  local code = tonumber(text:match("^u(%x%x%x%x)", at) or fail(at, "bad \\u"), 16)
  if code < 0xD800 or code > 0xDFFF then return utf8_of(code), at + 5 end
  local low = tonumber(text:match("^\\u(%x%x%x%x)", at + 5) or "0", 16)
  if code > 0xDBFF or low < 0xDC00 or low > 0xDFFF then fail(at, "half a surrogate pair") end
  return utf8_of(0x10000 + (code - 0xD800) * 1024 + low - 0xDC00), at + 11
end

local function read_string(text, at)
  local stop = find(text, '"', at + 1, true)
  local plain_text = stop and sub(text, at + 1, stop - 1)
  if stop and not find(plain_text, "\\", 1, true) and find(plain_text, "^%C*$") then return plain_text, stop + 1 end -- no escapes
  local parts, from = {}, at + 1
  while true do
    stop = find(text, '[%z\1-\31"\\]', from) or fail(at, "a string does not end")
    parts[#parts + 1] = text:sub(from, stop - 1)
    local c = text:sub(stop, stop)
    if c == '"' then return table.concat(parts), stop + 1 end
    if c ~= "\\" then fail(stop, "a control character in a string") end
    local short = plain[text:sub(stop + 1, stop + 1)]
    if short then
      parts[#parts + 1], from = short, stop + 2
    else
      parts[#parts + 1], from = read_unicode(text, stop + 1)
    end
  end
end

local function read_number(text, at)
  local literal = text:match("^-?%d+%.?%d*[eE]?[+-]?%d*", at)
  local whole = literal and literal:match("^-?(%d+)")
  local good = whole and (whole == "0" or whole:sub(1, 1) ~= "0") and not literal:find("%.$") and not literal:find("%.[eE]")
  local value = good and tonumber(literal)
  if not value then fail(at, "not a value") end
  return value, at + #literal
end

local read

local function read_list(text, at, depth)
  local t = M.list()
  at = skip(text, at + 1)
  if text:sub(at, at) == "]" then return t, at + 1 end
  while true do
    t[#t + 1], at = read(text, at, depth)
    at = skip(text, at)
    local c = text:sub(at, at)
    if c == "]" then return t, at + 1 end
    if c ~= "," then fail(at, "expected , or ]") end
    at = skip(text, at + 1)
  end
end

local function read_object(text, at, depth)
  local t = {}
  at = skip(text, at + 1)
  if text:sub(at, at) == "}" then return t, at + 1 end
  while true do
    if text:sub(at, at) ~= '"' then fail(at, "expected a name") end
    local name
    name, at = read_string(text, at)
    at = skip(text, at)
    if text:sub(at, at) ~= ":" then fail(at, "expected :") end
    t[name], at = read(text, skip(text, at + 1), depth)
    at = skip(text, at)
    local c = text:sub(at, at)
    if c == "}" then return t, at + 1 end
    if c ~= "," then fail(at, "expected , or }") end
    at = skip(text, at + 1)
  end
end

local words = { t = { "true", true }, f = { "false", false }, n = { "null", M.null } }

function read(text, at, depth)
  if depth > MAX_DEPTH then fail(at, "nested too deeply") end
  local c = text:sub(at, at)
  if c == "{" then return read_object(text, at, depth + 1) end
  if c == "[" then return read_list(text, at, depth + 1) end
  if c == '"' then return read_string(text, at) end
  local word = words[c]
  if word and text:sub(at, at + #word[1] - 1) == word[1] then return word[2], at + #word[1] end
  return read_number(text, at)
end

-- decode(text) → value, or nil, message. null becomes json.null.
function M.decode(text)
  local ok, value, at = pcall(read, text, skip(text, 1), 0)
  if not ok then return nil, value end
  at = skip(text, at)
  if at <= #text then return nil, ("JSON: something follows the value at byte %d"):format(at) end
  return value
end

return M
