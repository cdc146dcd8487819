-- The recipes of the manual's page, as programs of their own before a proxy of this process.
local files = require "spec.support.harness.files"
local needs = require "spec.support.harness.needs"
local process = require "spec.support.harness.process"
local proxies = require "fleet.proxy"
local signed_sim = require "spec.support.servers.signed_sim"

local function recipe(number, language)
  local section = files.read("doc/manual/proxy.md"):match("\n## From other programs\n(.-)\n## ")
  local count = 0
  for block in section:gmatch("\n```" .. (language or "lua") .. "\n(.-)\n```") do
    count = count + 1
    if count == number then return block end
  end
end

-- What Domoticz does with openURL: postData leaves as JSON, the answer comes to a second call of execute.
local domoticz = [[
local script = load(RECIPE)()
local item = { isHTTPResponse = false }
local host = { log = print }
local asked
function host.openURL(options) asked = options end
script.execute(host, item)
assert(asked.callback == script.on.httpResponses[1])
local headers = ""
for name, value in pairs(asked.headers) do headers = headers .. (" -H '%s: %s'"):format(name, value) end
local pipe = io.popen(("curl -s -X %s%s -d '{}' '%s'"):format(asked.method, headers, asked.url))
local data = pipe:read("a")
pipe:close()
local json = require("cjson").decode(data)
script.execute(host, { isHTTPResponse = true, ok = true, isJSON = true, json = json, data = data })
]]

describe("a recipe of the proxy's page", function()
  local sim, proxy, client, directory

  setup(function()
    sim = signed_sim.start()
    directory = process.temporary("proxy-recipes")
    process.execute("chmod 700 " .. process.quote(directory))
    client = sim:client()
    proxy = assert(proxies.new { client = client, listen = "127.0.0.1:0", secret_file = directory .. "/secret" })
  end)

  teardown(function()
    proxy:close()
    client:close()
    sim:close()
    sim, proxy, client = nil, nil, nil
    process.execute("rm -rf " .. process.quote(directory))
  end)

  -- Runs a program while the loop turns; → what it printed.
  local function run(text, interpreter)
    local secret = files.read(directory .. "/secret"):gsub("%s", "")
    files.write(directory .. "/program.lua", ("proxy_url, vin, secret = %q, %q, %q\n"):format(proxy.url, signed_sim.VIN, secret) .. text)
    os.remove(directory .. "/done")
    process.execute(("(cd %s; timeout 30 %s program.lua >out 2>&1; mv out done) &")
      :format(process.quote(directory), interpreter or "lua5.4"))
    signed_sim.wait(function() return files.find(directory .. "/done") ~= nil end)
    return files.read(directory .. "/done")
  end

  needs("Lua's socket", it, pending)("with LuaSocket sends a command", function()
    assert.equal('200\t{"response":{"result":true,"reason":""}}\tnil\n', run(recipe(1)))
    assert.equal("set_charge_limit", sim.ran[#sim.ran])
  end)

  if os.execute("command -v python3 >/dev/null") then
    it("in Python sends a command", function()
      assert.equal("True\n", run(recipe(1, "python"), "python3"))
      assert.equal("set_charge_limit", sim.ran[#sim.ran])
    end)
  else
    pending("in Python sends a command: python3 is not installed")
  end

  it("for Domoticz asks, and reads the answer in its second call", function()
    local out = run("RECIPE = " .. ("%q"):format(recipe(2)) .. "\n" .. domoticz)
    assert.equal('not charging: {"response":{"reason":"disconnected","result":false}}\n', out)
  end)
end)
