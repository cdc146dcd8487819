-- Very many requests over a few connections that stay open: each sends a batch and reads until as many replies have come. What it
-- costs is the server's to pay; here only status lines and lengths are looked at.
local cqueues = require "cqueues"
local client = require "spec.support.harness.miniclient"

local M = {}

-- One reply off the socket; its status.
local function skip_reply(s)
  local status = assert(s:read("*l"), "the connection ended"):match("^HTTP/1%.1 (%d+)")
  local length = 0
  for line in function() return s:read("*l") end do
    if line == "\r" or line == "" then break end
    length = tonumber(line:match("^[Cc]ontent%-[Ll]ength: (%d+)")) or length
  end
  if length > 0 then assert(s:read(length)) end
  return tonumber(status)
end

--- Sends `count` requests to a port. batch() → a list of request texts. Returns how often each status came.
-- options: count, connections = 4, progress = function(done)
function M.run(port, batch, options)
  local loop, left, seen = cqueues.new(), options.count, {}
  for _ = 1, options.connections or 4 do
    loop:wrap(function()
      local s = client.connect { port = port }
      s:setmode("b", "bf")
      s:settimeout(60)
      while left > 0 do
        local list = batch()
        left = left - #list
        s:write(table.concat(list))
        s:flush()
        for _ = 1, #list do
          local status = skip_reply(s)
          seen[status] = (seen[status] or 0) + 1
        end
        if options.progress then options.progress(options.count - left) end
      end
      s:close()
    end)
  end
  assert(loop:loop())
  return seen
end

return M
