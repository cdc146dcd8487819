-- Writes down what the whole suite shows in this process: every event that any client logs, and what the command line prints. At
-- the end all of it, and the logs of the simulators, are searched for canaries: secrets of specs hold the word "canary". What
-- reaches the terminal is searched by spec/support/harness/overheard.sh.

local busted = require "busted"

local M = {}

local build = os.getenv("FLEET_BUILD")
-- Each process of a run has its own.
local path = build and string.format("%s/overheard-%d%s", build, os.time(), string.match(tostring {}, "%w+$"))
local file = path and io.open(path, "wb")

local function plain(value, depth)
  if type(value) ~= "table" or depth > 5 then return tostring(value) end
  local parts = {}
  for key, item in pairs(value) do parts[#parts + 1] = tostring(key) .. "=" .. plain(item, depth + 1) end
  return "{" .. table.concat(parts, " ") .. "}"
end

--- Writes down a text or an event.
function M.note(value)
  if file then file:write(plain(value, 0), "\n") end
end

-- ---- every client's log ----

-- Every other client without a log stays so: both kinds are tried.
local spared = false

local function with_log(options)
  if type(options) ~= "table" or options.log ~= nil and type(options.log) ~= "function" then return options end
  if options.log == nil then spared = not spared end
  if options.log == nil and spared then return options end
  local copy, listener = {}, options.log
  for name, value in pairs(options) do copy[name] = value end
  function copy.log(event)
    M.note(event)
    if listener then return listener(event) end
  end
  return copy
end

-- Each spec file loads the module anew; loaded here it would be one for all, with one loop and one clock.
table.insert(package.searchers, 2, function(name)
  local place = name == "fleet.client" and package.searchpath(name, package.path)
  if not place then return nil end
  return function()
    local client = assert(loadfile(place))(name)
    local new = client.new
    function client.new(options) return new(with_log(options)) end
    return client
  end
end)

-- ---- the search ----

--- Lines of a file that hold a canary, at most so many.
function M.search(name, most)
  local found, text = {}, io.open(name, "rb")
  for line in text and text:lines() or function() end do
    if string.find(string.lower(line), "canary", 1, true) and #found < most then found[#found + 1] = string.sub(line, 1, 300) end
  end
  if text then text:close() end
  return found
end

local function logs()
  local list, pipe = { path }, io.popen("ls '" .. build .. "'/run/*.log 2>/dev/null")
  for name in pipe:lines() do list[#list + 1] = name end
  pipe:close()
  return list
end

busted.subscribe({ "suite", "end" }, function(suite)
  if not file then return nil, true end
  file:close()
  file = nil
  for _, name in ipairs(logs()) do
    local found = M.search(name, 3)
    if found[1] then
      local message = "a secret was shown, in " .. name .. ":\n" .. table.concat(found, "\n")
      io.stderr:write("\n", message, "\n") -- the summary stands there already
      busted.publish({ "error", "suite" }, suite, nil, message, { message = message, traceback = "" })
    end
  end
  os.remove(path)
  return nil, true
end)

return M
