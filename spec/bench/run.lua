-- All budgets of the design, one line each: name figure budget ok|over|absent. Ratios of one run, never times; a script of
-- its own measures a group, in a process of its own, and prints such lines. Ends non-zero only when something that exists
-- could not be measured.

local groups = {
  { script = "sign.lua", "sign", "sign-lua", "sign-heap", "handshake", "session-memory" },
  { script = "requests.lua", "request-1", "request-64", "request-1000" },
  { script = "crossings.lua", "crossings" },
  { script = "tariff.lua", "tariff", "tariff-rows", "tariff-growth" },
  { script = "memory.lua", "client-memory", "request-memory" },
  { script = "require.lua", "require" },
  { script = "store_turn.lua", "store-turn", "store-cpu" },
  { script = "redis.lua", "redis-trips" },
  { script = "proxy.lua", "proxy-cpu", "proxy-p99", "proxy-memory" },
  { script = "many_vehicles.lua", "many-vehicles" },
  { script = "growth.lua", "growth-vehicles", "growth-clients", "growth-tasks", "growth-accounts", "growth-sessions", "growth-pages",
    "growth-periods", "store-open" },
}

local function measured(script)
  local pipe = assert(io.popen("lua5.4 spec/bench/" .. script, "r"))
  local lines = {}
  for line in pipe:lines() do
    local name = string.match(line, "^([%w%-]+) %S+ %S+ %l+")
    if name then lines[name] = line else print("# " .. line) end
  end
  return lines, pipe:close()
end

local failed = false

for _, group in ipairs(groups) do
  local lines, ended = {}, true
  if group.script then lines, ended = measured(group.script) end
  for _, name in ipairs(group) do
    if lines[name] then
      print(lines[name])
    elseif group.script then
      failed = true
      print(name .. " - - failed")
    else
      print(name .. " - - absent")
    end
  end
  if not ended then failed = true end
end

os.exit(failed and 1 or 0, true)
