-- How a spec opens a fresh store of each name in lua/fleet/stores, and what else it needs around stores.
local M = {}

function M.directory()
  local path = os.tmpname()
  os.remove(path)
  assert(os.execute("mkdir -m 700 " .. path))
  return path
end

function M.remove(path)
  os.execute("chmod -R u+rwx " .. path .. " && rm -r " .. path)
end

--- A clock that only a spec moves.
function M.clock()
  local clock = { mono = 1000, wall = 1774746000 }
  function clock.read()
    return clock.mono, clock.wall
  end
  function clock.advance(seconds)
    clock.mono, clock.wall = clock.mono + seconds, clock.wall + seconds
  end
  return clock
end

local function quoted(text)
  return "'" .. text:gsub("'", "'\\''") .. "'"
end

local function written(code)
  local path = os.tmpname()
  local file = assert(io.open(path, "w"))
  file:write(code)
  file:close()
  return path
end

--- Runs Lua code in a process of its own with arguments in `...`; around: a shell command that is given the command line
--- ("ulimit -f 1; %s"). Returns what it printed and how it ended: "exit 0", "signal 9".
function M.process(code, arguments, around)
  local path = written(code)
  local line = "lua5.4 " .. quoted(path)
  for _, argument in ipairs(arguments or {}) do line = line .. " " .. quoted(tostring(argument)) end
  local pipe = assert(io.popen("exec sh -c " .. quoted((around or "exec %s"):format(line)) .. " 2>&1"))
  local output = pipe:read("a")
  local _, how, number = pipe:close()
  os.remove(path)
  if how == "exit" and number > 128 then how, number = "signal", number - 128 end -- what a shell in between makes of it
  return output, how .. " " .. number
end

--- Runs the code in so many processes at once; returns what each printed.
function M.processes(count, code, arguments)
  local path, pipes, outputs = written(code), {}, {}
  local line = "lua5.4 " .. quoted(path)
  for _, argument in ipairs(arguments or {}) do line = line .. " " .. quoted(tostring(argument)) end
  for i = 1, count do pipes[i] = assert(io.popen(line .. " " .. i .. " 2>&1")) end
  for i = 1, count do
    outputs[i] = pipes[i]:read("a")
    pipes[i]:close()
  end
  os.remove(path)
  return outputs
end

--- Whether a file system of a spec's own can be mounted; %s stands for the command line, DIR for the directory.
function M.tmpfs(directory, size, after)
  local probe = os.execute("unshare -rm mount -t tmpfs none /mnt 2>/dev/null")
  if not probe then return nil end
  return ("unshare -rm sh -c \"mount -t tmpfs -o size=%s,mode=700 none %s && %s exec %%s\""):format(size, directory, after or "")
end

-- name -> function(options) giving a fresh store, and a function that opens the same data again (nil: it cannot be shared)
M.openers = {
  memory = function(options)
    return require("fleet.stores.memory")(options)
  end,
  file = function(options)
    local path = M.directory()
    local function again() return assert(require("fleet.stores.file")(path, options)) end
    return again(), again, function() M.remove(path) end
  end,
}

--- The names of all stores, from the files.
function M.names()
  local names = {}
  local listing = assert(io.popen("ls lua/fleet/stores"))
  for line in listing:lines() do names[#names + 1] = line:match("^(%w+)%.lua$") end
  listing:close()
  return names
end

return M
