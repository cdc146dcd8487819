-- Both pages as a browser sees them. Where there is none, these facts are pending.
local cqueues = require("cqueues")
local miniloop = require("spec.support.miniloop")
local sims = require("fleet.sim")
local text = require("fleet.sim.text")

local function browser()
  for _, name in ipairs({ "chromium", "chromium-browser", "google-chrome" }) do
    local pipe = io.popen("command -v " .. name .. " 2>/dev/null")
    local path = pipe:read("*l")
    pipe:close()
    if path then return path end
  end
  return nil
end

local BROWSER = browser()

describe("in a browser", function()
  local loop, sim, profile

  before_each(function()
    loop, profile = miniloop.new(), os.tmpname()
    os.remove(profile)
    sim = assert(sims.new({ loop = loop, clock = function() return 0, 1773136800 end }))
  end)

  after_each(function()
    sim:close()
    os.execute("rm -rf " .. profile)
  end)

  -- The document after its scripts have run. The browser is another process: the loop serves it meanwhile.
  local function document(url)
    local out = os.tmpname()
    os.execute(("(timeout 60 %s --headless --no-sandbox --disable-gpu --user-data-dir=%s --virtual-time-budget=3000 --dump-dom '%s' " ..
      ">%s 2>/dev/null; echo END >>%s) &"):format(BROWSER, profile, url, out, out))
    local body
    loop:run(function()
      repeat
        cqueues.poll(0.05)
        local file = io.open(out)
        body = file:read("*a")
        file:close()
      until body:find("END\n$")
    end, 70)
    os.remove(out)
    return body
  end

  local function fact(name, fn)
    if BROWSER then it(name, fn) else pending(name .. " (no browser here)") end
  end

  fact("the garage page shows vehicles, energy and the log of calls, and no secret", function()
    sim.log:add(sim.service:now(), { method = "GET", path = "/api/1/<b>", host = "base" }, 404)
    local body = document(sim.base_url .. "/")
    for _, words in ipairs({ "Blue", "Red", "5YJ3FLEE9RF000001", "62 %", "Battery", "Home", "/api/1/&lt;b&gt;", "404" }) do
      assert.matches(words, body, 1, true)
    end
    assert.is_nil(body:find(sim.control_token, 1, true))
  end)

  fact("the consent page asks for the scopes, and its names are text", function()
    local body = document(sim.auth_url .. "/oauth2/v3/authorize?" .. text.query({
      { "response_type", "code" }, { "client_id", "<script>x</script>" }, { "redirect_uri", "http://app/cb" }, { "state", "s" },
      { "scope", "openid vehicle_cmds" }, { "show_keypair_step", "true" },
    }))
    for _, words in ipairs({ "vehicle_cmds", "Allow", "Refuse", "virtual key", "&lt;script&gt;x" }) do
      assert.matches(words, body, 1, true)
    end
    assert.is_nil(body:find("<script>x", 1, true))
  end)
end)
