local core = require "fleet.core"
local support = require "spec.support.fixtures.stores"
local open = require("fleet.store").file

describe("fleet.store.file", function()
  local path, clock, store, warnings

  local function reopen()
    return assert(open(path, { clock = clock.read, warn = function(text) warnings[#warnings + 1] = text end }))
  end

  local function file_of(key)
    return path .. "/" .. core.sha256(key)
  end

  local function overwrite(key, bytes)
    local file = assert(io.open(file_of(key), "wb"))
    file:write(bytes)
    file:close()
  end

  local function contents(key)
    local file = assert(io.open(file_of(key), "rb"))
    local bytes = file:read("a")
    file:close()
    return bytes
  end

  local function output(command)
    local pipe = io.popen(command)
    local text = pipe:read("a")
    pipe:close()
    return text
  end

  before_each(function()
    path, clock, warnings = support.directory(), support.clock(), {}
    store = reopen()
  end)
  after_each(function()
    store:close()
    support.remove(path)
  end)

  -- ---- who may read ----

  it("writes with a reservation what must last, with or without durable, and keeps no descriptor of it", function()
    assert(store:put("k", "0"))
    local before = support.descriptors()
    for i = 1, 20 do
      local ticket = assert(store:reserve("k", 100))
      assert(store:put("k", tostring(i), { ticket = ticket }))
      ticket:close()
    end
    assert.equal(before, support.descriptors())
    local held = assert(io.open "/dev/null")
    assert.equal(before + 1, support.descriptors())
    held:close()
    assert.matches("^fleet%-store 2\n%x+\n%d+ 0 0 1\nk\n20$", contents("k"))
  end)

  it("makes its directory and the ones above it 0700 and its files 0600, whatever the umask", function()
    local text, ended = support.process([[
      local store = require("fleet.store").file((...) .. "/a/b")
      assert(store:put("token/x/user", "v", { durable = true }))
      assert(store:lease("k", 1))
      store:close()
    ]], { path }, "umask 0; %s")
    assert.equal("exit 0", ended, text)
    assert.equal("700\n700\n600\n600\n600\n", output("stat -c %a " .. path .. "/a " .. path .. "/a/b " .. path .. "/a/b/*"))
  end)

  it("puts no key and no value into a file name", function()
    store:put("state/secret", "v", { durable = true })
    assert.is_nil(output("ls " .. path):find("secret", 1, true))
  end)

  it("warns when directory or file are open to others", function()
    store:put("k", "v", { durable = true })
    os.execute("chmod 755 " .. path .. "; chmod 644 " .. file_of("k"))
    local other = reopen()
    other:get("k")
    other:get("k")
    assert.equal(2, #warnings)
    assert.matches("is open to others %(mode 755%): chmod 700", warnings[1])
    assert.matches("is open to others: chmod 600", warnings[2])
  end)

  it("refuses a directory that every user can write to, says what to do, and takes it then", function()
    for _, mode in ipairs { "777", "1777", "702" } do
      os.execute("chmod " .. mode .. " " .. path)
      local other, err, kind = open(path)
      assert.is_nil(other)
      assert.equal("store", kind)
      assert.matches("every user of this machine can write to the store directory .*: chmod 700 it", err.message)
    end
    os.execute("chmod 700 " .. path)
    assert(open(path)):close()
  end)

  it("refuses a symbolic link in place of a file, to read and to lock", function()
    local target = os.tmpname()
    os.execute("ln -s " .. target .. " " .. file_of("k") .. "; ln -s " .. target .. " " .. file_of("k") .. ".lease")
    local value, err, kind = store:get("k")
    assert.is_nil(value)
    assert.equal("store", kind)
    assert.matches("it is a symbolic link", err.message)
    assert.equal("store", select(3, store:lease("k", 1)))
    os.remove(target)
  end)

  it("follows a link to its directory once, when it is opened", function()
    local link = os.tmpname()
    os.execute("ln -sf " .. path .. " " .. link)
    local other = assert(open(link))
    os.execute("ln -sfn /nonexistent " .. link)
    assert.is_truthy(other:put("k", "v", { durable = true }))
    assert.equal("v", (store:get("k")))
    os.remove(link)
  end)

  it("refuses a directory that belongs to another user", function()
    if output("id -u") ~= "0\n" then return pending("only root can give a directory away") end
    os.execute("chown 65534 " .. path)
    local other, err, kind = open(path)
    os.execute("chown 0 " .. path)
    assert.is_nil(other)
    assert.equal("store", kind)
    assert.matches("belongs to another user", err.message)
  end)

  it("says why a directory cannot be one", function()
    assert.matches("cannot make the directory 'hosts': Not a directory", select(2, open("/etc/hosts")).message, 1, true)
    assert.matches("cannot make the directory", select(2, open("/proc/fleet")).message, 1, true)
    assert.error_matches(function() open("") end, "a directory expected")
  end)

  -- ---- damage ----

  local damages = {
    { "an empty file", function() return "" end },
    { "half a file", function(text) return text:sub(1, math.floor(#text / 2)) end },
    { "a file without its last byte", function(text) return text:sub(1, -2) end },
    { "a changed value", function(text) return text:sub(1, -2) .. "X" end },
    { "a changed generation", function(text) return (text:gsub("\n%d+ (%d+ %d+ %d\n)", "\n999 %1")) end },
    { "zeros, as some file systems leave after a power cut", function(text) return ("\0"):rep(#text) end },
    { "another key's record", function() return contents("other") end },
  }
  for _, damage in ipairs(damages) do
    it("takes " .. damage[1] .. " as absent, warns, and writes over it", function()
      store:put("other", "o", { durable = true })
      local generation = store:put("token/a/user", "value", { durable = true })
      overwrite("token/a/user", damage[2](contents("token/a/user")))
      assert.same({ nil, 0 }, { store:get("token/a/user") })
      assert.matches("is damaged and is ignored %(token%)", warnings[1])
      assert.is_true(assert(store:put("token/a/user", "new", { generation = 0, durable = true })) > generation)
      assert.equal("new", (store:get("token/a/user")))
    end)
  end

  it("does not write over what a newer version wrote", function()
    overwrite("k", "fleet-store 3\nwhatever")
    assert.equal("store", select(3, store:get("k")))
    local _, err = store:put("k", "v", { durable = true })
    assert.matches("written by a newer version", err.message)
    assert.equal("fleet-store 3\nwhatever", contents("k"))
  end)

  it("does not take a device or a pipe for a file", function()
    os.execute("mkfifo " .. file_of("k"))
    assert.equal("store", select(3, store:get("k")))
  end)

  it("writes over the draft that a killed process left, and removes it with its key", function()
    local left = file_of("k") .. ".draft"
    for _, act in ipairs { "put", "delete" } do
      os.execute("touch " .. left .. " " .. file_of("k") .. ".reserved")
      assert.is_truthy(store[act](store, "k", act == "put" and "v" or nil, act == "put" and { durable = true } or nil))
      assert.is_nil(io.open(left))
    end
    assert.is_nil(io.open(file_of("k") .. ".reserved"))
  end)

  it("brings nothing back that was deleted", function()
    store:put("k", "v", { durable = true })
    os.execute(("cp %s %s.reserved"):format(file_of("k"), file_of("k")))
    store:delete("k")
    assert(store:lease("k", 60)):release()
    assert.same({ nil, 0 }, { store:get("k") })
  end)

  it("recovers at the next lease what a killed process had written and not yet renamed", function()
    store:put("k", "old", { durable = true })
    local old = contents("k")
    store:put("k", "new", { durable = true })
    os.execute(("mv %s %s.reserved"):format(file_of("k"), file_of("k")))
    overwrite("k", old)
    assert.equal("old", (store:get("k")))
    local lease = assert(store:lease("k", 60))
    assert.equal("new", (store:get("k")))
    lease:release()
  end)

  it("recovers no half, no older and no other record", function()
    store:put("k", "first", { durable = true })
    local first = contents("k")
    local generation, newer = store:put("k", "second", { durable = true }), 0
    while newer <= generation do newer = store:put("other", "other", { durable = true }) end
    for _, left in ipairs { first, contents("other"), contents("k"):sub(1, -2), "" } do
      local file = assert(io.open(file_of("k") .. ".reserved", "wb"))
      file:write(left)
      file:close()
      assert(store:lease("k", 60)):release()
      assert.same({ "second", generation }, { store:get("k") })
    end
  end)

  -- ---- writing behind ----

  it("writes at a lease's end what was put before it, and later what was put behind under it", function()
    store:put("other", "at once")
    for _, case in ipairs { { "k", {}, "new" }, { "j", { behind = true }, "old" } } do
      local key, options, expected = table.unpack(case)
      reopen():put(key, "old", { durable = true })
      local lease = assert(store:lease(key, 60))
      if options.behind then options.lease = lease end
      store:put(key, "new", options)
      assert.equal("old", (reopen():get(key)))
      assert.is_true(lease:release())
      assert.same({ expected, "new" }, { (reopen():get(key)), (store:get(key)) })
    end
  end)

  it("gives a put a larger generation than those that were put behind, also where its directory was emptied meanwhile", function()
    for _ = 1, 5 do assert(store:put("k", "v", { durable = true })) end
    assert(store:put("k", "written", { behind = true })) -- the first of a second
    local behind = assert(store:put("k", "behind", { behind = true }))
    os.execute("rm -rf " .. path .. "/* " .. path .. "/.[!.]*")
    local generation = assert(store:put("k", "now", { durable = true }))
    assert.is_true(generation > behind, generation .. " " .. behind)
    assert.same({ "now", generation }, { reopen():get("k") })
  end)

  it("lets a lease go after the store was closed", function()
    local lease = assert(store:lease("k", 60))
    assert(store:put("k", "1", { lease = lease, behind = true }))
    store:close()
    assert.is_true(lease:release())
    assert.equal("1", (reopen():get("k")))
    assert(reopen():lease("k", 60)):release()
  end)

  it("makes deferred writes at most every second, and at close", function()
    store:put("count/a", "1")
    assert.equal("1", (reopen():get("count/a")))
    store:put("count/a", "2")
    store:put("count/b", "2")
    assert.equal("2", (store:get("count/a")))
    assert.equal("1", (reopen():get("count/a")))
    assert.equal(1, store:due())
    clock.advance(1)
    assert.equal(0, store:due())
    store:put("count/c", "3")
    assert.same({ "2", "2", "3" }, { (reopen():get("count/a")), (reopen():get("count/b")), (reopen():get("count/c")) })
    store:put("count/a", "4")
    store:close()
    assert.equal("4", (reopen():get("count/a")))
  end)

  it("does not write behind over what another wrote meanwhile", function()
    store:put("k", "0")
    store:put("k", "mine, earlier")
    reopen():put("k", "theirs, later", { durable = true })
    store:flush()
    assert.equal("theirs, later", (store:get("k")))
  end)

  it("gives one generation to one value: of two that deferred, the first writes", function()
    store:put("k", "0")
    local other = reopen()
    other:put("k", "0")
    assert.equal((store:put("k", "first")), (other:put("k", "second")))
    store:flush()
    other:flush()
    assert.equal("first", (reopen():get("k")))
    assert.equal((store:put("k", "third")), (other:put("k", "fourth")))
    store:flush()
    assert.equal("third", (other:get("k")))
  end)

  it("writes at once what others decide by: compared, leased and durable values", function()
    store:put("x", "0")
    local lease = assert(store:lease("leased", 1))
    store:put("leased", "1", { lease = lease })
    store:put("compared", "1", { generation = 0 })
    store:put("durable", "1", { durable = true })
    local other = reopen()
    for _, key in ipairs { "leased", "compared", "durable" } do assert.equal("1", (other:get(key))) end
    store:put("leased", "2")
    lease:release()
    assert.equal("2", (other:get("leased")))
  end)

  -- ---- time ----

  it("keeps a ttl over a restart, by the wall clock", function()
    store:put("state/x", "1", { ttl = 600, durable = true })
    clock.mono = 0
    assert.equal("1", (reopen():get("state/x")))
    clock.wall = clock.wall + 600
    assert.is_nil((reopen():get("state/x")))
  end)

  it("removes the files of values whose ttl has passed, unread ones too", function()
    for i = 1, 5 do store:put("state/" .. i, "1", { ttl = 600, generation = 0 }) end
    store:put("state/renewed", "1", { ttl = 600, generation = 0 })
    clock.advance(599)
    store:put("state/renewed", "1", { durable = true })
    clock.advance(1)
    store:put("state/next", "1", { ttl = 600, generation = 0 })
    for i = 1, 5 do assert.is_nil(io.open(file_of("state/" .. i))) end
    assert.equal("1", (store:get("state/renewed")))
    assert.equal("1", (store:get("state/next")))
  end)

  it("closes its directory with the store, also in the middle of a sweep", function()
    for i = 1, 300 do assert(store:put("session/" .. i, "v", { durable = true })) end
    local before = support.descriptors()
    local other = reopen()
    assert(other:put("state/x", "1", { ttl = 600, durable = true }))
    assert.equal(before + 1, support.descriptors())
    other:close()
    assert.equal(before, support.descriptors())
  end)

  -- ---- no room, no right ----

  local try_all = [[
    local store = assert(require("fleet.store").file((...)))
    local function say(what, value, err) print(what, value and "ok" or err.kind .. ": " .. err.message) end
    say("get", store:get("k") or "nothing")
    say("lease", store:lease("k", 1))
    say("reserve", store:reserve("k", tonumber((select(2, ...)))))
    say("put", store:put("k", ("x"):rep(tonumber((select(2, ...)))), { durable = true }))
    say("behind", store:put("count", ("x"):rep(100)))
    say("kept", store:get("count"))
    say("old", store:get("old") or "nothing")
  ]]

  it("says before an exchange that a file size limit leaves no room, and survives the signal", function()
    store:put("old", "v", { durable = true })
    local text, ended = support.process(try_all, { path, 100000 }, "ulimit -f 16; %s")
    assert.equal("exit 0", ended, text)
    assert.matches("reserve\tstore: cannot reserve space for '%x+': File too large", text)
    assert.matches("put\tstore: cannot write '%x+': File too large", text)
    assert.matches("old\tok", text)
  end)

  it("says before an exchange that the disk is full, and keeps what it has", function()
    local around = support.tmpfs(path, "64k")
    if not around then return pending("no file system can be mounted here") end
    local text, ended = support.process(try_all, { path, 100000 }, around)
    assert.equal("exit 0", ended, text)
    assert.matches("lease\tok", text)
    assert.matches("reserve\tstore: cannot reserve space for '%x+': No space left on device", text)
    assert.matches("put\tstore: cannot write '%x+': No space left on device", text)
    assert.matches("behind\tok", text)
  end)

  it("writes into its reservation after the disk has filled up", function()
    local around = support.tmpfs(path, "64k")
    if not around then return pending("no file system can be mounted here") end
    local text, ended = support.process([[
      local path = ...
      local store = assert(require("fleet.store").file(path))
      assert(store:put("k", "old", { durable = true }))
      local ticket = assert(store:reserve("k", 8000))
      local file = io.open(path .. "/filler", "w")
      while file:write(("x"):rep(4096)) and file:flush() do end
      print(store:put("other", ("y"):rep(8000), { durable = true }) == nil)
      print(store:put("k", ("z"):rep(8000), { durable = true, ticket = ticket }) ~= nil)
      print(#(store:get("k")))
    ]], { path }, around)
    assert.equal("exit 0", ended, text)
    assert.equal("true\ntrue\n8000\n", text)
  end)

  it("reads on a read-only disk, refuses what must last, and keeps the rest in memory", function()
    local around = support.tmpfs(path, "64k", "mount -o remount,ro " .. path .. " &&")
    if not around then return pending("no file system can be mounted here") end
    local text, ended = support.process(try_all, { path, 100 }, around)
    assert.equal("exit 0", ended, text)
    for _, what in ipairs { "lease", "reserve", "put" } do
      assert.matches(what .. "\tstore: cannot %w+ '[%w%.]+': Read%-only file system", text)
    end
    assert.matches("behind\tok", text)
    assert.matches("kept\tok", text)
  end)

  -- ---- several at once ----

  it("excludes two states of one process from each other", function()
    local state = require("probe_state")()
    state:run("store = require('fleet.store').file('" .. path .. "')")
    local lease = assert(store:lease("k", 60))
    assert.equal("busy", state:run("return select(3, store:lease('k', 60))"))
    assert.is_truthy(store:put("k", "1", { lease = lease, durable = true }))
    assert.equal("1", state:run("return (store:get('k'))"))
    lease:release()
    assert.equal("table", state:run("lease = store:lease('k', 60); return type(lease)"))
    assert.equal("busy", select(3, store:lease("k", 60)))
    state:close()
    assert(store:lease("k", 60)):release()
  end)

  it("loses no update of eight processes that count in one key", function()
    local outputs = support.processes(8, [[
      local store = assert(require("fleet.store").file((...)))
      for _ = 1, 25 do
        repeat
          local value, generation = store:get("counter")
          local put, err, kind = store:put("counter", tostring((tonumber(value) or 0) + 1), { generation = generation })
          assert(put or kind == "conflict", err)
        until put
      end
    ]], { path })
    assert.equal("", table.concat(outputs))
    assert.equal("200", (store:get("counter")))
  end)

  it("loses no addition of eight processes to one set of counters, and gives each total once", function()
    local outputs = support.processes(8, [[
      local store, totals = assert(require("fleet.store").file((...))), {}
      for i = 1, 50 do totals[i] = math.floor(assert(store:add("count/a/2026-11", { n = 1, ["n/" .. select(2, ...)] = 1 })).n) end
      print(table.concat(totals, " "))
    ]], { path })
    local seen = {}
    for total in table.concat(outputs, " "):gmatch("%d+") do
      assert.is_nil(seen[total], total)
      seen[total] = true
    end
    local all = assert(store:add("count/a/2026-11", {}))
    assert.equal(400, all.n, table.concat(outputs))
    for i = 1, 8 do assert.equal(50, all["n/" .. i]) end
  end)

  it("gives each of the values that eight processes write into one key another generation", function()
    local outputs = support.processes(8, [[
      local store, drawn = assert(require("fleet.store").file((...))), {}
      for i = 1, 15 do drawn[i] = assert(store:put("k", "v", { durable = true })) end
      print(table.concat(drawn, " "))
    ]], { path })
    local seen, count = {}, 0
    for _, drawn in ipairs(outputs) do assert.matches("^[%d ]+\n$", drawn) end
    for generation in table.concat(outputs, " "):gmatch("%d+") do
      assert.is_nil(seen[generation])
      seen[generation], count = true, count + 1
    end
    assert.equal(120, count, table.concat(outputs))
  end)

  it("gives each of eight processes another fence, and the lease to one at a time", function()
    local outputs = support.processes(8, [[
      local core, store = require "fleet.core", assert(require("fleet.store").file((...)))
      local fences = {}
      while #fences < 10 do
        local lease, err, kind = store:lease("k", 60)
        assert(lease or kind == "busy", err)
        if lease then
          assert(store:put("holder", (select(2, ...)), { durable = false, generation = (select(2, store:get("holder"))) }))
          assert((store:get("holder")) == (select(2, ...)))
          fences[#fences + 1] = lease.fence
          lease:release()
        end
        core.pause(0.001)
      end
      print(table.concat(fences, " "))
    ]], { path })
    local seen, count = {}, 0
    for _, text in ipairs(outputs) do
      assert.matches("^[%d ]+\n$", text)
      local last = 0
      for fence in text:gmatch("%d+") do
        assert.is_nil(seen[fence])
        assert.is_true(tonumber(fence) > last)
        seen[fence], last, count = true, tonumber(fence), count + 1
      end
    end
    assert.equal(80, count, table.concat(outputs))
  end)

  it("ends a lease with the process that held it", function()
    local _, ended = support.process([[
      local store = assert(require("fleet.store").file((...)))
      assert(store:lease("k", 1e9))
      os.execute("kill -9 $PPID")
    ]], { path })
    assert.equal("signal 9", ended)
    assert(store:lease("k", 60)):release()
  end)

  it("leaves the parent's lease alone in a forked child", function()
    local fork = require "probe_fork"
    local lease, ticket = assert(store:lease("k", 60)), assert(store:reserve("k", 10))
    assert.equal(0, fork(function()
      assert(select(3, lease:renew()) == "closed")
      assert(select(3, store:lease("k", 60)) == "busy")
      ticket:close()
      lease:release()
    end))
    assert.is_true(lease:renew())
    assert.equal("busy", select(3, reopen():lease("k", 60)))
    assert.is_truthy(store:put("k", "v", { lease = lease, ticket = ticket, durable = true }))
    lease:release()
    assert(reopen():lease("k", 60)):release()
  end)
end)

-- In the build with fault points (VARIANT=fault) a process can be killed at any step that touches the disk.
if core.fault_point then
  describe("fleet.store.file, killed at every step of a durable put", function()
    it("leaves the old value or the new one, whole, and everything usable", function()
      local reached, olds, news = 0, 0, 0
      for step = 1, 60 do
        local path = support.directory()
        assert(require("fleet.store").file(path)):put("k", "old", { durable = true })
        local _, ended = support.process([[
          local core, store = require "fleet.core", assert(require("fleet.store").file((...)))
          core.fault_point(tonumber((select(2, ...))))
          local lease = assert(store:lease("k", 60))
          local ticket = assert(store:reserve("k", 100))
          assert(store:put("k", ("new"):rep(30), { durable = true, lease = lease, ticket = ticket }))
          lease:release()
        ]], { path, step })
        local store = assert(require("fleet.store").file(path))
        local lease = assert(store:lease("k", 60))
        local value, generation = store:get("k")
        assert.is_true(value == "old" or value == ("new"):rep(30), "step " .. step .. " left " .. tostring(value))
        olds, news = olds + (value == "old" and 1 or 0), news + (value ~= "old" and 1 or 0)
        assert.is_truthy(store:put("k", "next", { lease = lease, generation = generation, durable = true }))
        lease:release()
        support.remove(path)
        if ended == "exit 0" then
          reached = step - 1
          break
        end
        assert.equal("signal 9", ended)
      end
      assert.is_true(reached > 10 and olds > 5 and news > 1, ("steps %d, old %d, new %d"):format(reached, olds, news))
    end)
  end)
end
