-- The process at the other side of a bench: it has a pipe at both ends, its first line says where it is, and it ends with its
-- input. What it spends is not what is measured, or the only thing that is.

local M = {}

--- A public key as an argument of the other side.
function M.hex(bytes)
  return (string.gsub(bytes, ".", function(c) return string.format("%02x", string.byte(c)) end))
end

--- Starts a command, which has no single quotes. Returns its first line, and a table: pid; ask(word), which sends a line and
--- returns the number that answers it; stop(). What is started later inherits the pipes, so that the end of the input alone does
--- not end what began earlier.
function M.start(command)
  local fifo = os.tmpname()
  os.remove(fifo)
  assert(os.execute("mkfifo " .. fifo))
  local out = assert(io.popen(string.format("exec sh -c 'echo $$; exec %s' <%s", command, fifo), "r"))
  local into = assert(io.open(fifo, "w"))
  os.remove(fifo)
  local other = { pid = tonumber(out:read("l")) }
  function other.ask(word)
    into:write(word, "\n")
    into:flush()
    return tonumber(out:read("l"))
  end
  function other.stop()
    into:close()
    os.execute("kill " .. other.pid .. " 2>/dev/null")
    out:close()
  end
  return assert(out:read("l"), "it did not start: " .. command), other
end

--- Starts the vehicles of spec/bench/vehicles.lua, which obey a key; over TLS with a directory of certificates. Returns what start
--- returns.
function M.start_vehicles(key, latency, certificates)
  return M.start(string.format("lua5.4 spec/bench/vehicles.lua %s %g %s", M.hex(key:public_bytes()), latency, certificates or ""))
end

--- On the other side: says the first line and turns the loop of fleet. Each line "cpu" of the input is answered with the CPU time
--- of this process; returns with any other, and when the input ends.
function M.serve(line)
  local loop = require("fleet").loop
  io.write(line, "\n")
  io.flush()
  local done = false
  loop.watch(0, "r", function()
    done = io.read("l") ~= "cpu"
    if not done then io.write(os.clock(), "\n") end
    io.flush()
  end)
  while not done do
    loop.wait(loop.timeout())
    loop.step()
  end
end

return M
