-- libuv; in Neovim it is the editor's own.
-- luacheck: globals vim
local uv = vim and (vim.uv or vim.loop) or require "luv"
local fleet = require "fleet"
local workload = require "spec.hosts.workload"

uv.new_poll(fleet.loop.fd()):start("r", function() fleet.loop.step() end)
workload.begin({
  every = function(seconds, fn) uv.new_timer():start(seconds * 1000, seconds * 1000, fn) end,
  after = function(seconds, fn) uv.new_timer():start(seconds * 1000, 0, fn) end,
}, function(report)
  io.stdout:write(workload.line(report), "\n") -- Neovim has a print of its own
  io.stdout:flush()
  os.exit(0)
end)
if vim then vim.wait(60000, function() return false end, 1000) else uv.run() end
