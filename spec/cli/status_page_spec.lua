-- The status page of `fleet run --listen`: what it shows, and whom it answers.

local core = require "fleet.core"
local fleet = require "fleet"
local files = require "spec.support.harness.files"
local process = require "spec.support.harness.process"
local run_process = require "spec.support.servers.run_process"
local sims = require "spec.support.servers.sim_process"
local status_page = require "fleet.cli.status_page"

local quote = process.quote

local automations = [[
return function(client)
  local fleet = require "fleet"
  local car = client:vehicle "5YJSFLEE9KF000002"
  local tariff = fleet.tariff.from_rows { currency = "EUR", name = "t", time_zone = "Europe/Berlin",
    rows = { { from = "00:00", to = "05:00", price = 0.19 }, { from = "05:00", to = "24:00", price = 0.31 } } }
  return {
    fleet.automation.ensure { name = "<img src=x onerror=alert(1)>&\"'", car = car, settings = { set_sentry_mode = { on = false } } },
    fleet.automation.charge_by { car = car, ready_by = "07:00", level = 90, tariff = tariff, look_every = 60 },
  }
end
]]

describe("the status page", function()
  local runs, run, url

  -- Asks as curl does. Returns status and body.
  local function ask(path, arguments)
    local text = sims.shell("env -u LD_PRELOAD curl -s -m 20 -w '\n%{http_code}' " .. (arguments or "") .. " " .. quote(url .. path))
    local body, status = string.match(text, "^(.*)\n(%d+)%s*$")
    return tonumber(status), body
  end

  setup(function()
    runs = run_process.begin()
    run = runs.start(automations, "--listen --state " .. quote(runs.directory .. "/state"))
    url = string.match(run.says "status page: http", "status page: (http://127%.0%.0%.1:%d+)/\n")
    run.says "all settings are as wanted"
    run.says "charge_by: "
  end)
  teardown(function() runs.stop() end)

  it("shows every automation with its sentence, next look and cost", function()
    local status, body = ask "/"
    assert.equal(200, status)
    assert.matches("<p>All settings are as wanted</p>", body, 1, true)
    assert.matches("<h2>charge_by</h2>", body, 1, true)
    assert.matches("vehicle ...000002", body, 1, true)
    assert.matches("<dt>Next look</dt><dd>%a%a%a %d%d:%d%d</dd>", body)
    assert.matches("<dt>Cost so far</dt><dd>%d+ reads?.- %([%d.]+ USD%)</dd>", body)
    assert.matches("<dt>Commands today</dt><dd>0 of at most 40</dd>", body)
    assert.is_nil(string.find(body, "5YJSFLEE9KF000002", 1, true))
  end)

  it("escapes what it shows", function()
    local _, body = ask "/"
    assert.is_nil(string.find(body, "<img", 1, true))
    assert.matches("&lt;img src=x onerror=alert(1)&gt;&amp;&quot;&#39;", body, 1, true)
  end)

  it("runs no script and loads nothing from elsewhere", function()
    local _, head = ask("/", "-D - -o /dev/null")
    assert.matches("Content-Security-Policy: default-src 'none'; style-src 'unsafe-inline'", head, 1, true)
    assert.matches("Cache-Control: no-store", head, 1, true)
    local _, body = ask "/"
    assert.is_nil(string.find(body, "<script", 1, true))
    assert.is_nil(string.find(string.gsub(body, "http://www.w3.org/2000/svg", ""), "https?://"))
  end)

  it("says the same as JSON", function()
    local status, body = ask "/status.json"
    local read = core.json_decode(body)
    assert.equal(200, status)
    assert.equal(2, #read.automations)
    local night = read.automations[2]
    assert.equal("charge_by", night.kind)
    assert.is_true(night.running)
    assert.is_true(core.time(night.next_look) > core.time(night.why_at))
    assert.is_true(night.cost.usd >= 0.002)
    assert.same({}, night.plan and night.plan.slots or {}) -- it stands without a cable
  end)

  it("answers to this machine's own names only", function()
    local port = string.match(url, "%d+$")
    for _, host in ipairs { "localhost", "127.0.0.1", "localhost:" .. port, "LOCALHOST:" .. port, "[::1]:" .. port } do
      assert.equal(200, (ask("/", "-H " .. quote("Host: " .. host))), host)
    end
    for _, host in ipairs { "evil.example", "127.0.0.1.evil.example:" .. port, "localhost:1", "evil.example:" .. port, "[::2]:" .. port } do
      assert.equal(403, (ask("/", "-H " .. quote("Host: " .. host))), host)
      assert.equal(403, (ask("/status.json", "-H " .. quote("Host: " .. host))), host)
    end
    assert.equal(403, (ask("/", "-0 -H 'Host:'")))
  end)

  it("refuses what a web page asks in its own name", function()
    assert.equal(403, (ask("/status.json", "-H 'Origin: http://evil.example'")))
    assert.equal(403, (ask("/status.json", "-H 'Origin: null'")))
  end)

  it("changes nothing: it takes GET and HEAD and knows two paths", function()
    assert.equal(200, (ask("/", "-I")))
    for _, method in ipairs { "POST", "PUT", "DELETE", "OPTIONS" } do assert.equal(405, (ask("/", "-X " .. method)), method) end
    assert.equal(404, (ask "/automations"))
    assert.equal(404, (ask "/../auto.lua"))
  end)

  it("keeps what is remembered in the directory of --state, and tokens elsewhere", function()
    local kept = fleet.store.file(runs.directory .. "/state")
    local key = "automation/default/5YJSFLEE9KF000002/charge_by"
    assert.matches('"calls":{"data":', assert(kept:get(key)), 1, true)
    kept:close()
    local client = fleet.store.file((string.gsub(string.match(runs.env, "FLEET_STORE=(%S+)"), "'", "")))
    assert.is_nil((client:get(key)))
    client:close()
  end)

  it("goes on over a hang-up, and is gone after the end", function()
    files.write(run.file, (string.gsub(automations, 'level = 90', 'level = 90, name = "second"')))
    run.signal "HUP"
    run.says "second: "
    local _, body = ask "/"
    assert.matches("<h2>second</h2>", body, 1, true)
    assert.is_nil(string.find(body, "<h2>charge_by</h2>", 1, true))
    run.signal "TERM"
    assert.equal("0\n", run.ended())
    assert.equal(0, (ask "/"))
  end)

  it("listens on a Unix socket, which its mode protects", function()
    local socket = runs.directory .. "/page.sock"
    local own = runs.start(automations, "--listen unix:" .. quote(socket))
    own.says("status page: unix:" .. socket)
    url = "http://anything"
    assert.equal(200, (ask("/", "--unix-socket " .. quote(socket))))
    assert.matches("^srw%-%-%-%-%-%-%-", (sims.shell("ls -l " .. quote(socket))))
    own.signal "TERM"
    assert.equal("0\n", own.ended())
  end)
end)

describe("the address of the status page", function()
  it("is loopback or a socket", function()
    assert.same({ host = "127.0.0.1", port = 8087 }, status_page.address "127.0.0.1:8087")
    assert.same({ host = "::1", port = 0 }, status_page.address "[::1]:0")
    assert.same({ unix = "/run/x" }, status_page.address "unix:/run/x")
  end)

  for _, text in ipairs { "0.0.0.0:8087", "192.168.1.2:80", "[::]:80", "[fe80::1]:80", "8.8.8.8:80" } do
    it("is not " .. text .. ", which others reach", function()
      local ok, raised = pcall(status_page.address, text)
      assert.is_false(ok)
      assert.matches("can be reached from other machines", raised.message or tostring(raised), 1, true)
    end)
  end

  for _, text in ipairs { "localhost:80", "127.0.0.1", "127.0.0.1:70000", "8087", "unix:relative", "" } do
    it("is not '" .. text .. "'", function()
      local ok, raised = pcall(status_page.address, text)
      assert.is_false(ok)
      assert.matches("--listen is 127.0.0.1:port", raised.message or tostring(raised), 1, true)
    end)
  end
end)

it("one automation whose state cannot be read does not take the page from the others", function()
  local broken = { config = { name = "broken" }, status = function() error("no <disk>") end }
  local html = require("fleet.cli.status_page.html").of({ status_page.status_of(broken) }, { file = "f", at = 0, version = "1" })
  assert.matches("no &lt;disk&gt;", html, 1, true)
end)

describe("the plan of the night", function()
  local months = require "spec.support.fixtures.month"

  -- The status of charge_by at half past ten in the evening of some day of a month, and the month.
  local function evening(options)
    local automation, seen
    local month = months.of {
      days = 12, also = { { "22:30", function() seen = automation:status() end, date = "2026-03-11" } },
      automation = function(car)
        local own = { car = car, ready_by = "07:00", level = 80, tariff = months.tariff, wake = true }
        for name, value in pairs(options) do own[name] = value end
        automation = fleet.automation.charge_by(own)
        return automation
      end,
    }
    return seen, month
  end

  local ways = { ["schedules in the car"] = { place = { lat = 52.52, lon = 13.405 } }, ["start and stop"] = { schedules = false } }
  for way, options in pairs(ways) do
    it("is what is then done, by " .. way, function()
      local seen, month = evening(options)
      local plan, outside, inside = seen.plan, 0, 0
      assert.equal(options.schedules == nil, plan.in_car)
      assert.is_true(#plan.slots >= 1)
      for _, sample in ipairs(month.samples) do
        if sample.at >= plan.from and sample.at < plan.to and sample.kwh > 0.05 then
          local planned = false
          for _, slot in ipairs(plan.slots) do planned = planned or sample.at >= slot.from - 300 and sample.at < slot.to + 900 end
          if planned then inside = inside + sample.kwh else outside = outside + sample.kwh end
        end
      end
      assert.is_true(inside > 5, tostring(inside))
      assert.is_true(outside < 0.1 * inside, tostring(outside))
    end)
  end

  it("is a picture with a column for each price, the stretch of charging and its hours", function()
    local seen = evening { schedules = false }
    local picture = require("fleet.chart.night").svg(seen.plan, seen.zone)
    assert.matches("80 %% by 07:00: charges 0%d:%d%d to 0%d:%d%d", picture)
    local _, columns = string.gsub(picture, 'class="price"', "")
    assert.is_true(columns >= 3)
    assert.matches('class="chosen"', picture, 1, true)
    assert.matches("prefers-color-scheme: dark", picture, 1, true)
    assert.matches(">EUR per kWh</text>", picture, 1, true)
    assert.matches(">ready by 07:00</text>", picture, 1, true)
    assert.matches(">does not charge</text>", picture, 1, true)
  end)

  it("without prices has neither a scale nor colours to explain", function()
    local seen = evening { schedules = false }
    seen.plan.prices = {}
    local picture = require("fleet.chart.night").svg(seen.plan, seen.zone)
    assert.not_matches("per kWh", picture, 1, true)
    assert.not_matches("does not charge", picture, 1, true)
    assert.matches(">ready by 07:00</text>", picture, 1, true)
  end)

  it("in the page has the page's background, and is drawn for a phone, where letters and hours have room", function()
    local seen = evening { schedules = false }
    local text = require("fleet.cli.status_page.html").of({ seen }, { file = "a.lua", at = seen.plan.from, version = "1" })
    local wide, narrow = string.match(text, '<div class="wide">(.-)</div><div class="narrow">(.-)</div>')
    assert.matches('<svg [^>]*width="320"', narrow)
    assert.not_matches('class="page"', wide .. narrow, 1, true)
    for _, picture in ipairs { wide, narrow } do
      local last
      for x, hour in string.gmatch(picture, 'x="([%d.]+)" y="[%d.]+" text%-anchor="middle">(%d%d):00<') do
        if last then assert.is_true(tonumber(x) - last >= 45, hour) end
        last = tonumber(x)
      end
      assert.is_number(last)
    end
    for line in string.gmatch(narrow, '<text class="head"[^>]*>([^<]+)<') do assert.is_true(#line <= 34, line) end
  end)
end)

it("the page shows all times in one zone, and counts in words", function()
  local at = fleet.time("2026-03-11T21:30:00Z")
  local zone = assert(require("fleet.automation.options").zone("charge_by", { zone = "Europe/Berlin" }))
  local function one(name, more)
    local status = { name = name, kind = name, subject = "vehicle ...000002", running = true, why = "waits", why_at = at,
      next_look = at + 900,
      why_text = "21:30 UTC", next_text = "21:45 UTC", cost = { usd = 0.022, text = "1 read, 1 wake, 2 free calls (0.022 USD)" },
      commands_today = 0, daily_cap = 40 }
    for key, value in pairs(more or {}) do status[key] = value end
    return status
  end
  local about = { file = "a.lua", at = at, version = "1" }
  local of = require("fleet.cli.status_page.html").of
  local text = of({ one "keep_limit", one("charge_by", { zone = zone }) }, about)
  assert.matches("<dd>Wed 22:30</dd>", text, 1, true)
  assert.matches("<dd>Wed 22:45</dd>", text, 1, true)
  assert.matches("1 read, 1 wake, 2 free calls (0.022 USD)", text, 1, true)
  assert.matches("a.lua, at 2026-03-11 22:30 CET, fleet 1", text, 1, true)
  local without = of({ one "keep_limit" }, about)
  assert.matches("<dd>21:30 UTC</dd>", without, 1, true)
  assert.matches("at 2026-03-11 21:30 UTC", without, 1, true)
end)
