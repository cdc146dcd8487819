-- Counters, gauges and histograms, and their text as a monitoring system reads it.
local metrics = require "fleet.metrics.registry"

local function registry()
  return metrics.new {
    { name = "calls_total", kind = "counter", doc = "Calls\nmade.", labels = { "class", "kind" } },
    { name = "spent", kind = "gauge", doc = "Dollars." },
    { name = "seconds", kind = "histogram", doc = "How long.", labels = { "class" }, buckets = { 0.5, 1 } },
  }
end

describe("metrics", function()
  it("print as the text format wants them", function()
    local m = registry()
    m:add("calls_total", { class = "data" })
    m:add("calls_total", { class = "data" }, 2)
    m:add("calls_total", { class = "command", kind = 'a "quote" \\ and\nline' })
    m:set("spent", nil, 0.25)
    for _, seconds in ipairs { 0.25, 0.5, 0.75, 2 } do m:observe("seconds", { class = "data" }, seconds) end
    assert.equal([[
# HELP calls_total Calls\nmade.
# TYPE calls_total counter
calls_total{class="data",kind=""} 3
calls_total{class="command",kind="a \"quote\" \\ and\nline"} 1
# HELP spent Dollars.
# TYPE spent gauge
spent 0.25
# HELP seconds How long.
# TYPE seconds histogram
seconds_bucket{class="data",le="0.5"} 2
seconds_bucket{class="data",le="1"} 3
seconds_bucket{class="data",le="+Inf"} 4
seconds_sum{class="data"} 3.5
seconds_count{class="data"} 4
]], m:text())
  end)

  it("name a bucket by the digits that it was declared with, and lose none of a value", function()
    local rows = { { name = "s", kind = "histogram", doc = "", buckets = { 0.005, 0.1, 2.5 } }, { name = "g", kind = "gauge", doc = "" } }
    local m = metrics.new(rows)
    m:observe("s", nil, 0.1)
    m:set("g", nil, 0.1 + 0.2)
    local text = m:text()
    for _, bound in ipairs { "0.005", "0.1", "2.5" } do assert.matches('s_bucket{le="' .. bound .. '"} ', text, 1, true) end
    assert.equal(0.1 + 0.2, tonumber(text:match "\ng ([^\n]+)"))
  end)

  it("count a value in its own bucket, whichever came before", function()
    local bounds, values = { 0.005, 0.1, 2.5 }, { 0, 0.005, 0.006, 0.1, 2.4, 2.5, 2.6 }
    for _, before in ipairs(values) do
      for _, value in ipairs(values) do
        local m = metrics.new { { name = "s", kind = "histogram", doc = "", buckets = bounds } }
        m:observe("s", nil, before)
        m:observe("s", nil, value)
        local text = m:text()
        for _, bound in ipairs(bounds) do
          local inside = (before <= bound and 1 or 0) + (value <= bound and 1 or 0)
          assert.matches('s_bucket{le="' .. bound .. '"} ' .. inside .. "\n", text, 1, true)
        end
      end
    end
  end)

  it("take as many buckets as are declared, and a value only where it is a number", function()
    local bounds = {}
    for i = 1, 300 do bounds[i] = i end
    local m = metrics.new { { name = "s", kind = "histogram", doc = "", buckets = bounds } }
    local put = m:putter "s"
    for _, value in ipairs { 300, 0.5, 299.5, 301 } do put(value) end
    for _, wrong in ipairs { "much", {}, false } do assert.is_false(pcall(put, wrong)) end
    local text = m:text()
    for bound, inside in pairs { [1] = 1, [299] = 1, [300] = 3, ["+Inf"] = 4 } do
      assert.matches(string.format('s_bucket{le="%s"} %d\n', bound, inside), text, 1, true)
    end
    assert.matches("s_sum 901\ns_count 4\n", text, 1, true)
  end)

  it("print a point in a locale that writes a comma", function()
    local before = os.setlocale(nil, "numeric")
    local set = os.setlocale("de_DE.UTF-8", "numeric")
    local m = registry()
    m:set("spent", nil, 0.25)
    local text = m:text()
    os.setlocale(before, "numeric")
    if not set then return pending("needs a locale that writes a comma") end
    assert.matches("spent 0%.25\n", text)
  end)

  it("hold a bounded number of series, and lose no count by that", function()
    local m = registry()
    for i = 1, 3000 do m:add("calls_total", { class = "vin" .. i }) end
    local text = m:text()
    local _, lines = text:gsub("\ncalls_total{", "")
    assert.equal(501, lines)
    assert.matches('calls_total{class="other",kind="other"} 2500\n', text)
  end)

  it("refuse a name that was not declared, and the wrong verb for one that was", function()
    local m = registry()
    assert.error_matches(function() m:add("call_total") end, "unknown name 'call_total'.*calls_total")
    assert.error_matches(function() m:set("calls_total", nil, 1) end, "'calls_total' is a counter")
    assert.error_matches(function() metrics.new { { name = "a b", kind = "gauge", doc = "" } } end, "'a b' is no name")
    assert.error_matches(function() metrics.new { { name = "a", kind = "sum", doc = "" } } end, "'a' must be a counter")
  end)
end)
