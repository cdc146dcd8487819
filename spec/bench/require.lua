-- The budget `require`: loading fleet against loading lua-cjson and libcurl, each in fresh processes, the best of several.

local libcurl = "libcurl.so.4"

local yardstick = [[
local start = os.clock()
require "cjson"
assert(package.loadlib("]] .. libcurl .. [[", "*"))
print(os.clock() - start)
]]
local subject = "local start = os.clock() require 'fleet' print(os.clock() - start)"

local function best(program)
  local least = math.huge
  for _ = 1, 15 do
    local pipe = assert(io.popen("lua5.4 -e '" .. string.gsub(program, "'", "\"") .. "'", "r"))
    least = math.min(least, assert(tonumber(pipe:read("l"))))
    pipe:close()
  end
  return least
end

local bare, ours = best(yardstick), best(subject)
local ratio = ours / bare
print(string.format("require %.2f 2 %s", ratio, ratio <= 2 and "ok" or "over"))
print(string.format("require: %.1f ms against %.1f ms for lua-cjson and libcurl alone", ours * 1e3, bare * 1e3))
