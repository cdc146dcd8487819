-- One account, several processes, one directory: what the file store and the sequence of lua/fleet/oauth/exchange.lua promise together.
local core = require "fleet.core"
local accounts = require "spec.support.fixtures.accounts"
local support = require "spec.support.fixtures.stores"
local tokens = require "fleet.oauth.tokens"

-- In a child: account, tokens and server of the directories in `...`; the clock is the machine's.
local prelude = [[
  local core, accounts, tokens = require "fleet.core", require "spec.support.fixtures.accounts", require "fleet.oauth.tokens"
  local directory, server_directory, single_use = ...
  local store = assert(require("fleet.store").file(directory))
  local server = accounts.shared_server(server_directory, { single_use = single_use == "true" })
  local clock = { read = function() return core.clock() end, advance = core.pause }
  local account = accounts.account(server, store, clock, { client_secret = single_use == "true" and false or "shh" })
  account.sleep = core.pause
]]

describe("one account in several processes", function()
  local directory, server_directory, server, account

  local function sign_in(single_use)
    server = accounts.shared_server(server_directory, { single_use = single_use })
    local clock = { read = function() return core.clock() end, advance = core.pause }
    local store = assert(require("fleet.store").file(directory))
    account = accounts.account(server, store, clock, { client_secret = not single_use and "shh" })
    assert(tokens.exchange_code(account, { code = "good-code", redirect_uri = "https://x.example/cb" }))
  end

  local function stored()
    return core.json_decode((account.store:get("token/home/user")))
  end

  local function expire()
    local record = stored()
    record.saved_at, record.expires_at = record.saved_at - 30000, record.expires_at - 30000
    assert(account.store:put("token/home/user", core.json_encode(record), { durable = true }))
  end

  before_each(function() directory, server_directory = support.directory(), support.directory() end)
  after_each(function()
    support.remove(directory)
    support.remove(server_directory)
  end)

  for _, single_use in ipairs { true, false } do
    it("makes one exchange for 16 processes, single use " .. tostring(single_use), function()
      sign_in(single_use)
      expire()
      local outputs = support.processes(16, prelude .. [[ print((tokens.access(account, "user"))) ]],
        { directory, server_directory, single_use })
      assert.equal(("a2\n"):rep(16), table.concat(outputs))
      server.load()
      assert.equal(2, server.count)
      assert.equal(server.newest, stored().refresh_token)
    end)
  end

  it("makes one exchange when 16 processes were refused the same token", function()
    sign_in(true)
    local outputs = support.processes(16, prelude .. [[ print((tokens.access(account, "user", { rejected = "a1" }))) ]],
      { directory, server_directory, true })
    assert.equal(("a2\n"):rep(16), table.concat(outputs))
  end)

  it("does not exchange on a full disk, and goes on when there is room", function()
    local around = support.tmpfs(directory, "64k")
    if not around then return pending("no file system can be mounted here") end
    local text, ended = support.process(prelude .. [[
      assert(tokens.exchange_code(account, { code = "good-code", redirect_uri = "https://x.example/cb" }))
      local file = io.open(directory .. "/filler", "w")
      while file:write(("x"):rep(512)) and file:flush() do end
      file:close()
      print(select(3, tokens.refresh(account)), server.count)
      os.remove(directory .. "/filler")
      print(tokens.refresh(account), server.count)
    ]], { directory, server_directory, true }, around)
    assert.equal("exit 0", ended, text)
    assert.equal("store\t1\ntrue\t2\n", text)
  end)

  it("does not exchange on a read-only disk", function()
    local around = support.tmpfs(directory, "64k")
    if not around then return pending("no file system can be mounted here") end
    local text, ended = support.process(prelude .. [[
      assert(tokens.exchange_code(account, { code = "good-code", redirect_uri = "https://x.example/cb" }))
      os.execute("mount -o remount,ro " .. directory)
      print((tokens.access(account, "user")), select(3, tokens.refresh(account)), server.count)
    ]], { directory, server_directory, true }, around)
    assert.equal("exit 0", ended, text)
    assert.equal("a1\tstore\t1\n", text)
  end)

  it("asks for a sign-in when the only copy is damaged, and takes the next one", function()
    sign_in(true)
    local listing = io.popen("ls " .. directory)
    local name = listing:read("a"):match("(%x+)\n")
    listing:close()
    local file = assert(io.open(directory .. "/" .. name, "wb"))
    file:write("half")
    file:close()
    sign_in(true)
    assert.equal(server.newest, stored().refresh_token)
  end)

  if not core.fault_point then return end

  local refresh = prelude .. [[
    core.fault_point(tonumber((select(4, ...))))
    assert(tokens.refresh(account))
  ]]

  -- Kills a refresh at its nth step; returns whether it got to its end, and what the server and the store then hold.
  local function killed_at(step, single_use)
    sign_in(single_use)
    local _, ended = support.process(refresh, { directory, server_directory, single_use, step })
    server.load()
    if ended ~= "exit 0" then assert.equal("signal 9", ended) end
    return ended == "exit 0", server.newest == stored().refresh_token
  end

  for _, single_use in ipairs { false, true } do
    it("survives kill -9 at every step of a refresh, single use " .. tostring(single_use), function()
      local steps, unavoidable = 0, 0
      for step = 1, 100 do
        support.remove(directory)
        support.remove(server_directory)
        directory, server_directory = support.directory(), support.directory()
        local finished, same = killed_at(step, single_use)
        local ok, err, kind = tokens.refresh(accounts.account(server, account.store, { read = account.clock, advance = core.pause },
          account.config))
        if not ok then -- the server acted, and the process died before the last byte of the new pair was written
          assert.is_true(single_use and not same and kind == "auth", "step " .. step .. ": " .. tostring(err))
          unavoidable = unavoidable + 1
        end
        steps = step
        if finished then break end
      end
      assert.is_true(steps > 15 and steps < 100)
      assert.is_true(single_use and unavoidable > 0 and unavoidable < 6 or unavoidable == 0)
      if os.getenv("FLEET_FIGURES") then
        print(("kill -9: %d steps, %d locked out, single use %s"):format(steps - 1, unavoidable, tostring(single_use)))
      end
    end)
  end
end)
