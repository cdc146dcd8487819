-- HTTP of the host: curl, run by libuv. It answers from a callback, keeps the timeout, and is ended when the call stops waiting.
local fleet, uv = require "fleet", require "luv"
-- What curl reads from its standard input, so that the token does not appear in the list of processes.
local function config_of(request)
  local lines = { string.format("silent\ninclude\nurl = %q\nrequest = %s\nmax-time = %f", request.url, request.method, request.timeout) }
  for name, value in pairs(request.headers) do lines[#lines + 1] = string.format("header = %q", name .. ": " .. value) end
  if request.body then lines[#lines + 1] = string.format("data-binary = %q", request.body) end
  return table.concat(lines, "\n") .. "\n"
end

local function answer_of(text)
  local head, body = assert(string.match(text, "^(.-\r\n)\r\n(.*)$"))
  local answer = { status = tonumber(string.match(head, "^HTTP/%S+ (%d+)")), headers = {}, body = body }
  for name, value in string.gmatch(head, "\n([^:\r\n]+): *([^\r\n]*)") do answer.headers[string.lower(name)] = value end
  return answer
end

local function http(request, later)
  local input, output, text, code = uv.new_pipe(), uv.new_pipe(), "", nil
  local function ended(status, _, all_read)
    code, output = status or code, not all_read and output or nil
    if not code or output then return end -- until it has ended, and all that it wrote was read
    if code == 0 then later(answer_of(text)) else later(nil, "curl: " .. code, code ~= 6 and code ~= 7) end -- 6, 7: not reached
  end
  local program = uv.spawn("curl", { args = { "-K", "-" }, stdio = { input, output, 2 } }, ended)
  output:read_start(function(_, piece)
    if piece then text = text .. piece else ended(nil, nil, true) end
  end)
  input:write(config_of(request), function() input:close() end)
  later.abandon = function() program:kill() end
  return later
end

local client = fleet.new {
  base_url = os.getenv "FLEET_BASE_URL", token = os.getenv "FLEET_TOKEN", store = os.getenv "FLEET_STORE", http = http,
}
uv.new_poll(fleet.loop.fd()):start("r", function() fleet.loop.step() end)
fleet.spawn(function()
  for car, record in client:vehicles() do print(car.vin, record.state) end
  uv.stop()
end)
uv.run()
