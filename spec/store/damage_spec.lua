-- One flipped bit in what the file store counts with, files of other users, and stores that an earlier version wrote.
local core = require "fleet.core"
local files = require "spec.support.harness.files"
local support = require "spec.support.fixtures.stores"
local accounts = require "spec.support.fixtures.accounts"
local tokens = require "fleet.oauth.tokens"
local open = require("fleet.store").file

describe("a damaged file store", function()
  local path, warnings

  local function reopen()
    return assert(open(path, { warn = function(text) warnings[#warnings + 1] = text end }))
  end

  local function file_of(key)
    return path .. "/" .. core.sha256(key)
  end

  local write, read = files.write, files.read

  local function is_root()
    local pipe = io.popen("id -u")
    local id = pipe:read("l")
    pipe:close()
    return id == "0"
  end

  before_each(function() path, warnings = support.directory(), {} end)
  after_each(function() support.remove(path) end)

  -- Every text that differs from this one in one bit.
  local function flips(text)
    local at, bit = 1, 0
    return function()
      if at > #text then return nil end
      local byte = text:byte(at)
      local flipped = byte + (math.floor(byte / 2 ^ bit) % 2 == 1 and -1 or 1) * 2 ^ bit
      local changed = text:sub(1, at - 1) .. string.char(flipped) .. text:sub(at + 1)
      bit = bit + 1
      if bit == 8 then at, bit = at + 1, 0 end
      return changed
    end
  end

  -- A change of a record, from lease to release; returns generation and fence.
  local function change(store, value)
    local lease = assert(store:lease("k", 60))
    local ticket = assert(store:reserve("k", 1000))
    local generation = assert(store:put("k", value, { durable = true, lease = lease, ticket = ticket }))
    assert.equal(value, (store:get("k")))
    lease:release()
    return generation, lease.fence
  end

  for _, file in ipairs { "lock", "lease" } do
    local function place() return file == "lock" and path .. "/lock" or file_of("k") .. ".lease" end

    it("continues with any bit of the number in the " .. file .. " file flipped, and reports it", function()
      local last, fence = change(reopen(), "0")
      local good, seen = read(place()), 0
      for text in flips(good) do
        write(place(), text)
        warnings = {}
        local store = reopen()
        local gone = assert(store:put("gone", "v", { durable = true }))
        assert(store:delete("gone"))
        local generation, new_fence = change(store, tostring(seen))
        assert.is_true(generation > last and new_fence > fence)
        assert.is_true(assert(store:put("gone", "v", { durable = true })) > gone)
        assert.matches("was damaged and was set anew", warnings[1])
        assert.equal(26, #read(place()))
        last, fence, seen = generation, new_fence, seen + 1
        store:close()
      end
      assert.equal(26 * 8, seen)
    end)

    for _, text in ipairs { "", "0", ("9"):rep(26), ("9"):rep(21), ("x"):rep(4000), "9223372036854775807\n" } do
      it(("goes on with %d odd bytes in the %s file"):format(#text, file), function()
        local last, fence = change(reopen(), "0")
        write(place(), text)
        local generation, new_fence = change(reopen(), "1")
        assert.is_true(generation > last and new_fence > fence)
      end)
    end
  end

  it("proves before an exchange that the next generation can be written, not only read", function()
    local rest = "8999999999999872 1 0 1\nk\nv"
    local store = reopen()
    assert(store:put("other", "v", { durable = true }))
    write(file_of("k"), "fleet-store 2\n" .. core.sha256(rest) .. "\n" .. rest)
    local lease = assert(store:lease("k", 60))
    local ticket = assert(store:reserve("k", 10)) -- one is left
    assert.is_truthy(store:put("k", "w", { durable = true, lease = lease, ticket = ticket }))
    local none, err, kind = store:reserve("k", 10)
    assert.is_nil(none)
    assert.equal("store", kind)
    assert.matches("counts no further", err.message)
    assert.equal("store", select(3, store:put("k", "x", { durable = true, lease = lease })))
    assert.equal("w", (store:get("k")))
    lease:release()
  end)

  it("takes a record with a number beyond its range as damaged", function()
    for _, numbers in ipairs { "9000000000000001 1 0 1", "1 9000000000000001 0 1", "1 1 9000000000000001 1", "1 1 0 2", "1 1 0",
      "99999999999999999999999999 1 0 1", "-1 1 0 1", "1 1 0 1 1" } do
      local rest = numbers .. "\nk\nv"
      write(file_of("k"), "fleet-store 2\n" .. core.sha256(rest) .. "\n" .. rest)
      assert.same({ nil, 0 }, { reopen():get("k") })
    end
  end)

  it("loses no token to a flipped bit in the lock or the lease", function()
    local server_directory = support.directory()
    local server = accounts.shared_server(server_directory, { single_use = true })
    local clock = { read = function() return core.clock() end, advance = core.pause }
    local function account() return accounts.account(server, reopen(), clock, {}) end
    assert(tokens.exchange_code(account(), { code = "good-code", redirect_uri = "https://x.example/cb" }))
    for _, place in ipairs { path .. "/lock", file_of("token/home/user") .. ".lease" } do
      for text in flips(read(place):sub(1, 3)) do
        write(place, text .. read(place):sub(4))
        assert(tokens.refresh(account()))
        assert.equal(server.newest, core.json_decode((reopen():get("token/home/user"))).refresh_token)
      end
    end
    support.remove(server_directory)
  end)

  -- ---- files of others ----

  it("does not take over another user's files, reports it, and continues", function()
    if not is_root() then return pending("only root can give a file away") end
    local store = reopen()
    local generation = store:put("k", "mine", { durable = true })
    store:put("k", "theirs", { durable = true })
    os.execute(("mv %s %s.reserved"):format(file_of("k"), file_of("k")))
    assert(store:put("k", "mine", { durable = true }) <= generation + 1024)
    os.execute("chown 65534 " .. file_of("k") .. ".reserved")
    local left = read(file_of("k") .. ".reserved")
    os.remove(file_of("k"))
    write(file_of("k") .. ".reserved", left)
    os.execute("chown 65534 " .. file_of("k") .. ".reserved")
    local lease = assert(store:lease("k", 60))
    assert.same({ nil, 0 }, { store:get("k") })
    assert.matches("belongs to another user and is not taken over", table.concat(warnings, "\n"))
    local ticket = assert(store:reserve("k", 100))
    assert.is_truthy(store:put("k", "new", { durable = true, lease = lease, ticket = ticket }))
    lease:release()
    assert.equal("new", (store:get("k")))
  end)

  for _, name in ipairs { "lock", "lease" } do
    it("refuses the " .. name .. " file of another user with a sentence", function()
      if not is_root() then return pending("only root can give a file away") end
      local store = reopen()
      change(store, "v")
      os.execute("chown 65534 " .. (name == "lock" and path .. "/lock" or file_of("k") .. ".lease"))
      local act = name == "lock" and store.reserve or store.lease
      local done, err, kind = act(store, "k", 1)
      assert.is_nil(done)
      assert.equal("store", kind)
      assert.matches("belongs to another user", err.message)
    end)
  end

  it("reads no record of another user", function()
    if not is_root() then return pending("only root can give a file away") end
    local store = reopen()
    assert(store:put("k", "theirs", { durable = true }))
    os.execute("chown 65534 " .. file_of("k"))
    local value, err, kind = store:get("k")
    assert.same({ nil, "store" }, { value, kind })
    assert.matches("belongs to another user", err.message)
    assert.equal("store", select(3, store:put("k", "mine", { durable = true })))
  end)

  -- ---- fences ----

  it("refuses the put of one whose lease was lost, by the fence alone", function()
    local store, other = reopen(), reopen()
    local old = assert(store:lease("k", 60))
    assert(store:put("k", "old", { lease = old }))
    os.execute(("ln %s.lease %s.kept && rm %s.lease"):format(file_of("k"), file_of("k"), file_of("k")))
    local new = assert(other:lease("k", 60))
    assert.is_true(new.fence > old.fence)
    assert.is_truthy(other:put("k", "new", { lease = new }))
    assert.equal("conflict", select(3, store:put("k", "late", { lease = old })))
    assert.equal("conflict", select(3, store:put("k", "late", { lease = old, durable = true })))
    assert.equal("new", (store:get("k")))
    assert.is_truthy(other:put("k", "newer", { lease = new }))
    old:release()
    new:release()
  end)

  it("knows a lease for lost whose file was removed", function()
    local store = reopen()
    local lease = assert(store:lease("k", 60))
    assert.is_true(lease:renew())
    os.remove(file_of("k") .. ".lease")
    assert.equal("conflict", select(3, lease:renew()))
    assert.equal("conflict", select(3, store:put("k", "v", { lease = lease, durable = true })))
    lease:release()
    local again = assert(store:lease("k", 60))
    assert.is_true(again:renew())
    again:release()
  end)

  it("locks the file that the others lock, when it is removed", function()
    local store, other = reopen(), reopen()
    local generation = assert(store:put("k", "1", { durable = true }))
    os.remove(path .. "/lock")
    generation = assert(other:put("k", "2", { durable = true, generation = generation }))
    assert.is_truthy(store:put("k", "3", { durable = true, generation = generation }))
    local gone = assert(store:put("gone", "v", { generation = 0 }))
    assert(store:delete("gone"))
    assert.is_true(assert(other:put("gone", "v", { generation = 0 })) > gone)
  end)

  -- ---- version 1 ----

  local function old_record(key, value, generation, fence, ends)
    local rest = ("%d %d %d\n%s\n%s"):format(generation, fence, ends or 0, key, value)
    write(file_of(key), "fleet-store 1\n" .. core.sha256(rest) .. "\n" .. rest)
  end

  local function old_store()
    old_record("token/default/user", "a pair", 7, 3)
    old_record("session/f/v/d", "a session", 9, 4)
    write(path .. "/lock", ("%020d\n"):format(9))
    write(file_of("token/default/user") .. ".lease", ("%020d\n"):format(3))
    write(file_of("token/default/user") .. ".aB3xYz", "half a record")
    os.execute("chmod 600 " .. path .. "/*; touch -d '2 hours ago' " .. path .. "/*.aB3xYz")
  end

  it("of version 1 is read, and written anew record by record", function()
    old_store()
    local store = reopen()
    assert.same({ "a pair", 7 }, { store:get("token/default/user") })
    local lease = assert(store:lease("token/default/user", 60))
    assert.equal(4, lease.fence)
    local generation = assert(store:put("token/default/user", "a new pair", { lease = lease, durable = true, generation = 7 }))
    assert.is_true(generation > 9)
    lease:release()
    assert.is_truthy(store:put("session/f/v/d", "moved", { generation = 9 }))
    assert.is_truthy(store:put("new", "v", { generation = 0, durable = true }))
    assert.same({ "a new pair", "moved" }, { (reopen():get("token/default/user")), (reopen():get("session/f/v/d")) })
    assert.matches("^fleet%-store 2\n", read(file_of("token/default/user")))
    assert.is_nil(io.open(file_of("token/default/user") .. ".aB3xYz"))
    assert.same({}, warnings)
  end)

  it("of version 1 gives back what a killed process of that version had written", function()
    old_store()
    local rest = "8 3 0\ntoken/default/user\nthe newest pair"
    write(file_of("token/default/user") .. ".reserved", "fleet-store 1\n" .. core.sha256(rest) .. "\n" .. rest)
    local store = reopen()
    assert(store:lease("token/default/user", 60)):release()
    assert.same({ "the newest pair", 8 }, { store:get("token/default/user") })
  end)

  if not core.fault_point then return end

  it("of version 1 loses nothing when the first write is killed at any step", function()
    local reached = 0
    for step = 1, 60 do
      support.remove(path)
      path = support.directory()
      old_store()
      local _, ended = support.process([[
        local core, store = require "fleet.core", assert(require("fleet.store").file((...)))
        core.fault_point(tonumber((select(2, ...))))
        local lease = assert(store:lease("token/default/user", 60))
        local ticket = assert(store:reserve("token/default/user", 100))
        assert(store:put("token/default/user", "a new pair", { durable = true, lease = lease, ticket = ticket }))
        lease:release()
      ]], { path, step })
      local store = reopen()
      local lease = assert(store:lease("token/default/user", 60))
      local value = store:get("token/default/user")
      assert.is_true(value == "a pair" or value == "a new pair", "step " .. step .. " left " .. tostring(value))
      assert.is_truthy(store:put("token/default/user", "next", { durable = true, lease = lease }))
      lease:release()
      reached = step - 1
      if ended == "exit 0" then break end
      assert.equal("signal 9", ended)
    end
    assert.is_true(reached > 8 and reached < 59, reached)
  end)

  it("keeps the old value or the new one of what need not last, killed at every step of a put", function()
    for step = 1, 30 do
      support.remove(path)
      path = support.directory()
      assert(reopen():put("k", "old", { generation = 0 }))
      local _, ended = support.process([[
        local core, store = require "fleet.core", assert(require("fleet.store").file((...)))
        local _, generation = store:get("k")
        core.fault_point(tonumber((select(2, ...))))
        assert(store:put("k", ("new"):rep(300), { generation = generation }))
      ]], { path, step })
      local value = reopen():get("k")
      assert.is_true(value == "old" or value == ("new"):rep(300), "step " .. step .. " left " .. tostring(value))
      if ended == "exit 0" then
        assert.is_true(step > 2)
        return
      end
    end
    error("never finished")
  end)
end)
