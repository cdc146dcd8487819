-- nvim -c 'luafile examples/hosts/neovim.lua': the states of the cars as a message, while the editor goes on.
-- luacheck: globals vim
local uv = vim.uv or vim.loop
local fleet = require "fleet"

local client = fleet.new { base_url = os.getenv "FLEET_BASE_URL", token = os.getenv "FLEET_TOKEN", store = os.getenv "FLEET_STORE" }
local poll = uv.new_poll(fleet.loop.fd())
poll:start("r", vim.schedule_wrap(function() fleet.loop.step() end))

fleet.spawn(function()
  local lines = {}
  for car, record in client:vehicles() do lines[#lines + 1] = car.vin .. " " .. record.state end
  poll:close()
  client:close()
  vim.g.cars = table.concat(lines, "\n")
  vim.notify(vim.g.cars)
end)
