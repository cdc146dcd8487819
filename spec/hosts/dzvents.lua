-- A host like Domoticz's dzVents: dzvents.lua SCRIPT device On|Off, or SCRIPT response FILE (what `curl -i` wrote). A state of Lua of its
-- own for each event (this process), 100 ms of CPU time, and no `require` of what is not the host's. Prints a line for each log, and what
-- openURL is given as words for the shell: the host calls after the script has ended.

local cjson = require "cjson"

local allowed = 0.1 -- seconds
local script, kind, given = arg[1], arg[2], arg[3]

local function quote(text) return "'" .. string.gsub(text, "'", "'\\''") .. "'" end

local function open_url(request)
  local words = { "-X", request.method or "GET", "--data", cjson.encode(request.postData or {}) }
  if next(request.postData or {}) == nil then words[4] = "{}" end
  for name, value in pairs(request.headers or {}) do
    words[#words + 1] = "-H"
    words[#words + 1] = name .. ": " .. value
  end
  words[#words + 1] = request.url
  for i, word in ipairs(words) do words[i] = quote(word) end
  print("open " .. table.concat(words, " "))
end

local domoticz = {
  openURL = open_url,
  log = function(text) print("log " .. text) end,
  variables = function(name) return { value = assert(os.getenv(name), name) } end,
}

local function response(path)
  local file = assert(io.open(path, "rb"))
  local text = string.gsub(file:read "a", "\r", "")
  file:close()
  local status = tonumber(string.match(text, "^HTTP/%S+ (%d+)")) or 0
  local head, body = string.match(text, "^(.-)\n\n(.*)$")
  local reply = { isHTTPResponse = true, statusCode = status, ok = status >= 200 and status < 300, headers = {}, data = body }
  for name, value in string.gmatch(head or "", "\n([^:\n]+): ([^\n]*)") do reply.headers[string.lower(name)] = value end
  reply.isJSON, reply.json = pcall(cjson.decode, body)
  return reply
end

local function restricted(name) error("module '" .. name .. "' is none of this host's", 2) end

local sandbox = setmetatable({ require = restricted }, { __index = function(_, name)
  if name ~= "package" and name ~= "debug" then return _G[name] end
end })

local item = kind == "device" and { isDevice = true, active = given == "On", name = "Car charging" } or response(given)
local began = os.clock()
debug.sethook(function()
  if os.clock() - began > allowed then error("the script took more than 100 ms", 0) end
end, "", 1000)
local ok, failure = pcall(function() assert(loadfile(script, "t", sandbox))().execute(domoticz, item) end)
debug.sethook()
if not ok then
  print("failed " .. tostring(failure))
  os.exit(1)
end
