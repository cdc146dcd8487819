-- A headless Chromium that is clicked: the DevTools protocol over its pipe, one JSON text per message, ended by NUL. The pages come
-- from a simulator in another process, so that reading may wait. The browser ends after two minutes, whatever happens, and with
-- it every wait.
--
--   local browser = require("spec.support.harness.browser").start()     nil where there is none
--   browser:open(url)          until the page has loaded
--   browser:click("css", text) a real mouse at the first element that fits, and shows this text where one is given
--   browser:text("css")        what it shows; browser:evaluate(javascript) → its value
--   browser:wait(javascript)   until it is true
--   browser:visited()          the addresses that the browser went to since open, oldest first
--   browser:picture(path, { dark =, width =, height = })
--   browser:close()
local core = require "fleet.core"
local cjson = require "cjson"
local process = require "spec.support.harness.process"

local M = {}

local methods = {}
methods.__index = methods

local SECONDS = 120
local FLAGS = "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking " ..
  "--disable-component-update --disable-sync --hide-scrollbars"

--- Path of a browser, or nil.
function M.path()
  for _, name in ipairs { "chromium", "chromium-browser", "google-chrome" } do
    local pipe = io.popen("command -v " .. name .. " 2>/dev/null")
    local path = pipe:read("l")
    pipe:close()
    if path then return path end
  end
  return nil
end

-- ---- messages ----

local function read(self)
  local bytes = {}
  repeat
    bytes[#bytes + 1] = assert(self.from:read(1), "the browser has ended")
  until bytes[#bytes] == "\0"
  bytes[#bytes] = nil
  return cjson.decode(table.concat(bytes))
end

local function event(self, message)
  local params = message.params
  if message.method == "Network.requestWillBeSent" and params.type == "Document" then
    self.addresses[#self.addresses + 1] = params.request.url
  elseif message.method == "Page.lifecycleEvent" and params.name == "load" then
    self.loaded = params.loaderId
  end
end

local function call(self, method, params, session)
  self.number = self.number + 1
  self.to:write(cjson.encode { id = self.number, method = method, params = params, sessionId = session }, "\0")
  self.to:flush()
  while true do
    local message = read(self)
    if message.id == self.number then
      assert(not message.error, message.error and method .. ": " .. tostring(message.error.message))
      return message.result
    end
    event(self, message)
  end
end

local function ask(self, method, params)
  return call(self, method, params, self.session)
end

-- ---- a page ----

function methods:evaluate(javascript)
  local result = ask(self, "Runtime.evaluate", { expression = javascript, awaitPromise = true, returnByValue = true })
  local problem = result.exceptionDetails
  assert(not problem, problem and javascript .. ": " .. cjson.encode(problem))
  return result.result.value
end

--- Until the expression is true; asked again and again, because nothing says when. Between two pages it may well fail.
function methods:wait(javascript)
  for _ = 1, 1200 do
    local ok, value = pcall(self.evaluate, self, "!!(" .. javascript .. ")")
    if ok and value then return end
    core.pause(0.025)
  end
  error("it does not become true: " .. javascript .. "\n" .. tostring(self:text("body")), 2)
end

function methods:open(url)
  self.addresses = {}
  local loader = ask(self, "Page.navigate", { url = url }).loaderId
  while self.loaded ~= loader do event(self, read(self)) end
end

local FIND = [[(() => {
  const found = [...document.querySelectorAll(%s)].find(e => !%s || e.textContent.includes(%s));
  if (!found) return null;
  found.scrollIntoView({ block: "center" });
  const box = found.getBoundingClientRect();
  return { x: box.x + box.width / 2, y: box.y + box.height / 2 };
})()]]

function methods:click(css, text)
  local place = self:evaluate(FIND:format(cjson.encode(css), text and "true" or "false", cjson.encode(text or "")))
  assert(type(place) == "table", "there is no " .. css .. (text and " with " .. text or ""))
  for _, kind in ipairs { "mousePressed", "mouseReleased" } do
    ask(self, "Input.dispatchMouseEvent", { type = kind, x = place.x, y = place.y, button = "left", clickCount = 1 })
  end
end

function methods:text(css)
  return self:evaluate(("(document.querySelector(%s) || {}).innerText"):format(cjson.encode(css)))
end

function methods:visited()
  self:evaluate("1") -- what has happened until now has been told by then
  return self.addresses
end

function methods:picture(path, options)
  ask(self, "Emulation.setDeviceMetricsOverride",
    { width = options.width or 1200, height = options.height or 900, deviceScaleFactor = 1, mobile = false })
  ask(self, "Emulation.setEmulatedMedia",
    { features = { { name = "prefers-color-scheme", value = options.dark and "dark" or "light" } } })
  self:evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
  local file = assert(io.open(path, "wb"))
  file:write((assert(core.unbase64(ask(self, "Page.captureScreenshot", { format = "png", captureBeyondViewport = true }).data))))
  file:close()
end

function methods:close()
  if not self.to then return end
  pcall(call, self, "Browser.close", nil, nil)
  self.to:close()
  self.from:close()
  self.pipe:close()
  self.to = nil
  process.execute("rm -rf " .. process.quote(self.directory))
end

-- ---- starting ----

function M.start()
  local path = M.path()
  if not path then return nil end
  local directory = process.temporary("browser")
  local to, from = directory .. "/to", directory .. "/from"
  process.execute("mkfifo " .. process.quote(to) .. " " .. process.quote(from))
  local line = "exec 3<%s 4>%s; exec env -u LD_PRELOAD timeout %d %s %s --remote-debugging-pipe --user-data-dir=%s about:blank >%s 2>&1"
  local pipe = assert(io.popen(line:format(process.quote(to), process.quote(from), SECONDS, process.quote(path), FLAGS,
    process.quote(directory .. "/profile"), process.quote(directory .. "/out")), "w"))
  local self = setmetatable({
    pipe = pipe, directory = directory, to = assert(io.open(to, "wb")), from = assert(io.open(from, "rb")), number = 0,
    addresses = {},
  }, methods)
  self.from:setvbuf("full", 65536)
  local target = call(self, "Target.createTarget", { url = "about:blank" }).targetId
  self.session = call(self, "Target.attachToTarget", { targetId = target, flatten = true }).sessionId
  for _, domain in ipairs { "Page", "Network", "Runtime" } do ask(self, domain .. ".enable") end
  ask(self, "Page.setLifecycleEventsEnabled", { enabled = true })
  return self
end

return M
