-- Files that the file store keeps open while something is held back: whatever is done to them meanwhile is seen as without.
local core = require "fleet.core"
local fork = require "probe_fork"
local support = require "spec.support.fixtures.stores"
local open = require("fleet.store").file

describe("a file store that keeps files open", function()
  local path, clock, store

  local function reopen()
    return assert(open(path, { clock = clock.read }))
  end

  local function file_of(key)
    return path .. "/" .. core.sha256(key)
  end

  -- A put that others see at once, under a lease; returns its generation and the fence.
  local function change(key, value)
    local lease = assert(store:lease(key, 60))
    local generation = assert(store:put(key, value, { lease = lease }))
    assert(lease:release())
    return generation, lease.fence
  end

  -- From here on something is held back; the files of k stay open.
  local function park()
    assert(store:put("first", "of a second"))
    assert(store:put("held back", "v"))
    return change("k", "old")
  end

  before_each(function()
    path, clock = support.directory(), support.clock()
    store = reopen()
  end)
  after_each(function()
    store:close()
    support.remove(path)
  end)

  it("closes them when nothing is held back any more, or the store is closed", function()
    local before = support.descriptors()
    change("k", "v")
    assert.equal(before, support.descriptors())
    for _, finish in ipairs { store.flush, store.close } do
      park()
      assert.is_true(support.descriptors() >= before + 3)
      finish(store)
      assert.equal(before, support.descriptors())
    end
  end)

  it("sees a record that another process put in its place, and writes over that", function()
    local generation = park()
    local theirs = assert(reopen():put("k", "theirs", { durable = true }))
    assert.is_true(theirs > generation)
    assert.same({ "theirs", theirs }, { store:get("k") })
    assert.equal("conflict", select(3, store:put("k", "mine", { generation = generation })))
    change("k", "new")
    assert.equal("new", (reopen():get("k")))
    assert(reopen():delete("k"))
    assert.same({ nil, 0 }, { store:get("k") })
    change("k", "again")
    assert.equal("again", (reopen():get("k")))
  end)

  it("locks the lease that the others lock, when somebody removes or moves it", function()
    for _, act in ipairs { "rm %s.lease", "mv %s.lease " .. path .. "/elsewhere", "ln %s.lease %s.kept && rm %s.lease" } do
      local _, fence = park()
      assert(os.execute((act:gsub("%%s", file_of("k")))))
      local lease = assert(reopen():lease("k", 60))
      assert.is_true(lease.fence > fence)
      assert.equal("busy", select(3, store:lease("k", 60)))
      lease:release()
    end
  end)

  it("goes on in the directory that stands in its place", function()
    park()
    assert(os.execute(("mv %s %s.old && cp -a %s.old %s"):format(path, path, path, path)))
    local lease = assert(reopen():lease("k", 60))
    assert.equal("busy", select(3, store:lease("k", 60)))
    lease:release()
    change("k", "new")
    assert.equal("new", (reopen():get("k")))
    local old = assert(open(path .. ".old"))
    assert.equal("old", (old:get("k")))
    old:close()
    support.remove(path .. ".old")
  end)

  it("orders changes by the lock that the others take, when somebody removes it", function()
    local generation = park()
    os.remove(path .. "/lock")
    local other = reopen()
    generation = assert(other:put("k", "1", { generation = generation }))
    assert(store:put("k", "2", { generation = generation }))
    assert.equal("2", (other:get("k")))
    local gone = assert(store:put("gone", "v", { generation = 0 }))
    assert(store:delete("gone"))
    assert.is_true(assert(other:put("gone", "v", { generation = 0 })) > gone)
  end)

  it("refuses a symbolic link, and a file of another user, in place of one", function()
    park()
    assert(os.execute(("mv %s %s.kept && ln -s %s.kept %s"):format(file_of("k"), file_of("k"), file_of("k"), file_of("k"))))
    assert.equal("store", select(3, store:get("k")))
    assert(os.execute(("mv %s.kept %s"):format(file_of("k"), file_of("k"))))
    assert.equal("old", (store:get("k")))
    local root = io.popen("id -u"):read("l") == "0"
    if not root then return end
    assert(os.execute("chown 65534 " .. file_of("k") .. " " .. file_of("k") .. ".lease"))
    assert.matches("belongs to another user", select(2, store:get("k")).message)
    assert.matches("belongs to another user", select(2, store:lease("k", 60)).message)
  end)

  it("gives a lease to one of two stores of a state", function()
    park()
    local other = reopen()
    local lease = assert(store:lease("k", 60))
    assert.equal("busy", select(3, other:lease("k", 60)))
    assert.equal("busy", select(3, store:lease("k", 60)))
    lease:release()
    lease = assert(other:lease("k", 60))
    assert.equal("busy", select(3, store:lease("k", 60)))
    lease:release()
  end)

  it("gives a lease to the parent or to a forked child, not to both", function()
    park()
    assert.equal(0, fork(function()
      local lease = assert(store:lease("k", 60))
      local value = store:get("k")
      assert(value == "old", value)
      assert(fork(function() assert(select(3, reopen():lease("k", 60)) == "busy") end) == 0)
      assert(store:put("k", "the child's", { lease = lease }))
      lease:release()
    end))
    local lease = assert(store:lease("k", 60))
    assert.equal("the child's", (store:get("k")))
    assert.equal(0, fork(function() assert(select(3, store:lease("k", 60)) == "busy") end))
    lease:release()
    park()
  end)

  it("keeps a bounded number of them open, and none that the process needs", function()
    local text, ended = support.process([[
      local path, most = ...
      local store = assert(require("fleet.store").file(path))
      local function descriptors()
        local count, list = 0, {}
        for n = 0, 1023 do
          list[n] = io.open("/proc/self/fdinfo/" .. n)
          if list[n] then count = count + 1 list[n]:close() end
        end
        return count
      end
      local before = descriptors()
      assert(store:put("first", "of a second"))
      assert(store:put("held back", "v"))
      for i = 1, 200 do
        local lease = assert(store:lease("k" .. i, 60))
        assert(store:put("k" .. i, "v", { lease = lease }))
        lease:release()
      end
      local kept = descriptors() - before
      assert(kept > most / 2 and kept <= tonumber(most), kept)
      local rest, file = {}
      repeat
        file = io.open("/dev/null")
        rest[#rest + 1] = file
      until not file
      assert(#rest > 8)
      for i = 1, 200 do assert(store:get("k" .. i) == "v") end
      assert(store:put("k1", "w", { generation = select(2, store:get("k1")) }))
    ]], { path, 32 }, "ulimit -n 256; exec %s")
    assert.equal("exit 0", ended, text)
  end)

  -- Prologue of a process whose host closes all descriptors; files of its own then get their numbers.
  local host = [[
      local path, own = ...
      local store = assert(require("fleet.store").file(path))
      local probe = require "probe_descriptors"
      local function change(value)
        local lease = assert(store:lease("k", 60))
        assert(store:put("k", value, { lease = lease }))
        lease:release()
      end
      local function park()
        assert(store:put("first", "of a second"))
        assert(store:put("held back", "v"))
        change("old")
        change("old")
      end
      local function reopen()
        local files = {}
        probe.close()
        for i = 1, 6 do files[i] = probe.open(own .. i) end
        return files
      end
      local function check(files)
        for _, file in ipairs(files) do assert(probe.is_open(file), file) end
      end
  ]]

  local function run_host(code, around)
    local own = support.directory()
    for i = 1, 6 do
      local file = assert(io.open(own .. "/" .. i, "w"))
      file:write("the host's")
      file:close()
    end
    local text, ended = support.process(host .. code, { path, own .. "/" }, around)
    for i = 1, 6 do assert.equal("the host's", io.open(own .. "/" .. i):read("a")) end
    support.remove(own)
    assert.equal("exit 0", ended, text)
  end

  it("leaves the files alone that a host opens in their place, after it closed all", function()
    run_host [[
      park()
      local files = reopen()
      change("new")
      check(files)
      local other = assert(require("fleet.store").file(path))
      assert(other:get("k") == "new")
      local lease = assert(other:lease("k", 60))
      assert(select(3, store:lease("k", 60)) == "busy")
      files = reopen()
      assert(store:get("k") == "new")
      check(files)
    ]]
  end)

  it("closes none of the files that a daemon opens in their place", function()
    for _, finish in ipairs { "store:get('k')", "store:flush()", "store:close()", "store = nil collectgarbage() collectgarbage()" } do
      run_host(([[
        park()
        assert(require("probe_fork")(function()
          local files = reopen()
          %s
          check(files)
        end) == 0)
      ]]):format(finish))
    end
  end)

  it("keeps none open as a standard descriptor that the host closed", function()
    run_host([[
      park()
      io.stdout:write("printed")
      io.stdout:flush()
      for _, ending in ipairs { "", ".lease" } do
        local name = path .. "/" .. require("fleet.core").sha256("k") .. ending
        assert(not io.open(name):read("a"):find("printed"), name)
      end
      assert(not io.open(path .. "/lock"):read("a"):find("printed"))
    ]], "exec %s >&-")
  end)
end)
