-- Specs are written in the Lua of 5.4, as far as 5.1 can read it; what an older one lacks stands here. The library itself does
-- without: luacheck holds it to what all versions have. Loaded by the helper of .busted, and with -l by the programs that specs
-- start (process.lua).

if _VERSION >= "Lua 5.4" then return end

-- ---- what an older one cannot read: to-be-closed variables, and in 5.1 bytes and code points as numbers ----

local function utf8_bytes(digits)
  local n = tonumber(digits, 16)
  if n < 0x80 then return string.format("\\%03d", n) end
  local bytes, lead = "", 0x80
  local limit = 0x40
  while n >= limit do
    bytes = string.format("\\%03d", 0x80 + n % 0x40) .. bytes
    n, lead = math.floor(n / 0x40), lead / 2 + 0x80
    limit = limit == 0x40 and 0x20 or limit / 2
  end
  return string.format("\\%03d", lead + n) .. bytes
end

local function translated(text)
  text = string.gsub(text, "^#[^\n]*", "")
  text = string.gsub(text, " <close> =", " =")
  if _VERSION ~= "Lua 5.1" then return text end
  text = string.gsub(text, "\\u{(%x+)}", utf8_bytes)
  return (string.gsub(text, "\\x(%x%x)", function(digits) return string.format("\\%03d", tonumber(digits, 16)) end))
end

local load_chunk = loadstring or load
local load_file = loadfile
function loadfile(path, ...)
  if not path or not string.find(path, "_spec%.lua$") then return load_file(path, ...) end
  local file, problem = io.open(path, "rb")
  if not file then return nil, problem end
  local text = file:read("*a")
  file:close()
  return load_chunk(translated(text), "@" .. path)
end

if _VERSION >= "Lua 5.3" then return end

local unpack = table.unpack or unpack

table.unpack = unpack
table.pack = table.pack or function(...) return { n = select("#", ...), ... } end
package.searchers = package.searchers or package.loaders

function package.searchpath(name, path)
  for pattern in string.gmatch(path, "[^;]+") do
    local place = string.gsub(pattern, "%?", (string.gsub(name, "%.", "/")))
    local file = io.open(place, "r")
    if file then
      file:close()
      return place
    end
  end
end

-- ---- numbers: all are doubles ----

math.maxinteger, math.mininteger = 2^53, -2^53

function math.tointeger(value)
  return type(value) == "number" and value == math.floor(value) and value or nil
end

function math.type(value) -- as the library reads JSON
  if type(value) ~= "number" then return nil end
  return math.tointeger(value) and math.abs(value) < 1e15 and "integer" or "float"
end

-- ---- text ----

-- The library gets what its Lua has.
local function asked_by_library()
  return string.find(debug.getinfo(3, "S").source, "/lua/fleet/", 1, true) ~= nil
end

local rep = string.rep
function string.rep(text, times, separator)
  if not separator or times < 2 or asked_by_library() then return rep(text, times) end
  return rep(text .. separator, times - 1) .. text
end

utf8 = {
  len = function(text) -- nil where it is no UTF-8
    local count, at = 0, 1
    while at <= #text do
      local lead = string.byte(text, at)
      local more = lead < 0x80 and 0 or lead >= 0xC2 and lead < 0xE0 and 1 or lead >= 0xE0 and lead < 0xF0 and 2
        or lead >= 0xF0 and lead < 0xF5 and 3
      if not more or not string.find(string.sub(text, at + 1, at + more), "^" .. rep("[\128-\191]", more) .. "$") then return nil end
      count, at = count + 1, at + more + 1
    end
    return count
  end,
}

-- In 5.1 %s takes no nil, boolean, table.
local format = string.format
if not pcall(format, "%s", nil) then
  local function texts(fmt, ...)
    local list, at = table.pack(...), 0
    for flags, kind in string.gmatch(fmt, "%%([-+ #0-9.]*)(.)") do
      if kind ~= "%" or flags ~= "" then at = at + 1 end
      if kind == "s" and type(list[at]) ~= "string" then list[at] = tostring(list[at]) end
    end
    return unpack(list, 1, math.max(list.n, at))
  end
  function string.format(fmt, ...)
    if asked_by_library() then return format(fmt, ...) end
    return format(fmt, texts(fmt, ...))
  end
end

-- ---- code ----

local load_function, load_text = load, loadstring
function load(chunk, name, _, environment)
  local fn, problem = (type(chunk) == "string" and load_text or load_function)(chunk, name)
  if fn and environment then setfenv(fn, environment) end
  return fn, problem
end

-- ---- protected calls that wait, in 5.1 ----

local protected, first = pcall, require "fleet.util.compat"
if not first.yields_everywhere then
  function pcall(...)
    if asked_by_library() then return protected(...) end
    return (package.loaded["fleet.util.compat"] or first).pcall(...) -- spec files load fleet anew
  end
end

-- ---- files and programs ----

local execute = os.execute
function os.execute(command)
  local status = execute(command)
  if command == nil or type(status) == "boolean" then return status end
  local signal, code = status % 128, math.floor(status / 256)
  if signal ~= 0 then return nil, "signal", signal end
  return code == 0 or nil, "exit", code
end

local function starred(format_name, ...)
  if format_name == nil and select("#", ...) == 0 then return end
  if type(format_name) == "string" then format_name = "*" .. string.gsub(format_name, "^%*", "") end
  return format_name, starred(...)
end

local methods = getmetatable(io.stdout).__index
local read, close = methods.read, methods.close
function methods.read(file, ...)
  if asked_by_library() then return read(file, ...) end
  return read(file, starred(...))
end

-- A program's status goes through a file.
local status_of, popen = setmetatable({}, { __mode = "k" }), io.popen
function io.popen(command, mode)
  local path = os.tmpname()
  local quoted = "'" .. string.gsub(command, "'", "'\\''") .. "'"
  local file, problem = popen("sh -c " .. quoted .. "; echo $? >" .. path, mode)
  if file then status_of[file] = path end
  return file, problem
end

function methods.close(file)
  local path = status_of[file]
  if not path then return close(file) end
  status_of[file] = nil
  close(file)
  local written = assert(io.open(path))
  local code = written:read("*n")
  close(written)
  os.remove(path)
  if code and code > 128 then return nil, "signal", code - 128 end
  return code == 0 or nil, "exit", code
end
