-- For a reviewer: the lines of each room, and how far a reader walks to follow four calls from their entry to their result.
-- `make walks` prints both; `make walks LIST=read` prints each function that the read enters, in order.
--
-- functions: how many different ones are entered; files: in how many files they are; moves: how many different steps from a file to
-- another one are taken between functions that are entered one after the other.

local entered = require "walk_entered"
local fleet = require "fleet"
local process = require "spec.support.harness.process"
local services = require "spec.support.servers.service"

local library = process.build .. "/lib/fleet/core.so"

local function lines_of(command)
  local pipe, list = assert(io.popen(command)), {}
  for line in pipe:lines() do list[#list + 1] = line end
  pipe:close()
  return list
end

-- ---- lines by room ----

local function print_rooms(title, folder, suffixes)
  print(title)
  local all_lines, all_files = 0, 0
  for _, path in ipairs(lines_of("find " .. folder .. " -mindepth 1 -maxdepth 1 -type d | sort")) do
    local found = lines_of("find " .. path .. " -type f \\( " .. suffixes .. " \\) -not -name '*.pb-c.*' | xargs -r cat | wc -l; find "
      .. path .. " -type f \\( " .. suffixes .. " \\) -not -name '*.pb-c.*' | wc -l")
    local lines, files = tonumber(found[1]), tonumber(found[2])
    if files > 0 then print(string.format("  %-28s %7d lines in %3d files", path, lines, files)) end
    all_lines, all_files = all_lines + lines, all_files + files
  end
  print(string.format("  %-28s %7d lines in %3d files", "all", all_lines, all_files))
end

-- ---- the walks ----

local names, ids = {}, {}

local function hook()
  local info = debug.getinfo(2, "S")
  local path = string.match(info.source, "^@.*/(lua/fleet/.*)$")
  if info.what ~= "Lua" or not path then return end
  local name = path .. ":" .. info.linedefined
  if not ids[name] then
    names[#names + 1] = name
    ids[name] = #names
  end
  entered.entered(ids[name])
end

-- Every coroutine has hooks of its own.
local create, wrap = coroutine.create, coroutine.wrap
local watching = false

function coroutine.create(fn) -- luacheck: ignore
  local thread = create(fn)
  if watching then debug.sethook(thread, hook, "c") end
  return thread
end

function coroutine.wrap(fn) -- luacheck: ignore
  if not watching then return wrap(fn) end
  local thread = coroutine.create(fn)
  return function(...)
    local results = table.pack(coroutine.resume(thread, ...))
    if not results[1] then error(results[2], 0) end
    return table.unpack(results, 2, results.n)
  end
end

local function walked(act)
  watching = true
  entered.record(true)
  debug.sethook(hook, "c")
  act()
  debug.sethook()
  entered.record(false)
  watching = false
  local list, addresses, i = {}, {}, 1
  while true do
    local id, offset = entered.entry(i)
    if not id and not offset then break end
    list[i] = id and names[id] or offset
    if offset then addresses[#addresses + 1] = offset end
    i = i + 1
  end
  local symbols = {}
  if #addresses > 0 then
    local input = os.tmpname()
    local file = assert(io.open(input, "w"))
    file:write(table.concat(addresses, "\n"), "\n")
    file:close()
    local output_lines = lines_of("addr2line -f -e " .. process.quote(library) .. " <" .. input)
    os.remove(input)
    for n, address in ipairs(addresses) do
      symbols[address] = string.match(output_lines[2 * n], "(src/[^:]*)") or string.match(output_lines[2 * n], "([^/:]*)")
      symbols[address] = symbols[address] .. ":" .. output_lines[2 * n - 1]
    end
  end
  for n, one in ipairs(list) do list[n] = symbols[one] or one end
  return list
end

local function print_walk(name, act)
  local list = walked(act)
  local functions, files, steps = {}, {}, {}
  local function_count, file_count, moves, last = 0, 0, 0, nil
  for _, one in ipairs(list) do
    local file = string.match(one, "^[^:]*")
    if not functions[one] then functions[one], function_count = true, function_count + 1 end
    if not files[file] then files[file], file_count = true, file_count + 1 end
    local step = last and last ~= file and last .. " " .. file
    if step and not steps[step] then steps[step], moves = true, moves + 1 end
    last = file
  end
  print(string.format("  %-16s %4d functions %4d files %4d moves", name, function_count, file_count, moves))
  if os.getenv "LIST" == name then
    for _, one in ipairs(list) do print("    " .. one) end
  end
end

local function print_walks()
  local directory = process.temporary "walks"
  local key = fleet.key.generate()
  assert(key:save(directory .. "/key.pem"))
  local vin = "5YJ3FLEE9RF000001"
  local service = services.start { vehicles = { { vin = vin, keys = { key:public_pem() } } } }
  local client = service:sign_in(service:client { key = directory .. "/key.pem", store = fleet.store.file(directory .. "/store") })
  local car = client:vehicle(vin)
  local tariff = require("spec.support.fixtures.tariff_samples").two_seasons()
  local walks = {
    { "read", function() assert(car:info()) end },
    { "signed_command", function() assert(car:set_charge_limit { percent = 80 }) end },
    { "token_refresh", function() assert(client:refresh()) end },
    { "tariff_check", function() assert(fleet.tariff.check(tariff)) end },
  }
  print "\nwalks"
  for _, walk in ipairs(walks) do
    for _ = 1, 3 do walk[2]() end
    print_walk(walk[1], walk[2])
  end
  client:close()
  service:stop()
  process.execute("rm -rf " .. process.quote(directory))
end

print_rooms("C", "src", "-name '*.c' -o -name '*.h'")
print_rooms("\nLua", "lua/fleet", "-name '*.lua'")
print_walks()
