-- What the file store asks of the disk, and in which order: a power cut leaves what was asked before it.
local core = require "fleet.core"
local files = require "spec.support.harness.files"
local support = require "spec.support.fixtures.stores"

describe("the file store", function()
  local path, log

  before_each(function()
    path, log = support.directory(), os.tmpname()
    os.remove(log)
  end)
  after_each(function()
    support.remove(path)
    os.remove(log)
  end)

  -- Runs code with the store `store`; returns the calls after the line "begin", with k for the file of the key k.
  local function calls(code, environment)
    local probe = os.getenv "FLEET_BUILD" .. "/lib/probe_disk.so"
    local around = (environment or "") .. (' DISK_LOG="%s" LD_PRELOAD="${LD_PRELOAD:+$LD_PRELOAD:}%s" exec %%s'):format(log, probe)
    local text, ended = support.process([[
      local path, log = ...
      local store = assert(require("fleet.store").file(path))
      local function begin() io.open(log, "w"):close() end
    ]] .. code, { path, log }, around)
    assert.equal("exit 0", ended, text)
    local directory, name = path:match("[^/]+$"), core.sha256("k")
    local list = {}
    for line in files.read(log):gmatch("[^\n]+") do
      list[#list + 1] = (line:gsub(" " .. name, " k"):gsub(" " .. directory:gsub("%p", "%%%0") .. "$", " directory"))
    end
    return list
  end

  local function of(list, ...)
    local kept = {}
    for _, line in ipairs(list) do
      for _, word in ipairs { ... } do
        if line:match("^%l+") == word then kept[#kept + 1] = line end
      end
    end
    return kept
  end

  it("syncs a durable value, then renames it, then syncs the directory", function()
    local list = calls [[ begin() assert(store:put("k", "v", { durable = true })) ]]
    assert.same({ "write k.draft", "write k.draft", "fsync k.draft", "rename k.draft", "fsync directory" },
      { select(2, table.unpack(of(list, "write", "fsync", "rename"))) }, table.concat(list, "\n"))
  end)

  it("syncs a value with a ticket the same way", function()
    local list = calls [[
      local lease = assert(store:lease("k", 60))
      local ticket = assert(store:reserve("k", 100))
      begin()
      assert(store:put("k", "v", { durable = true, lease = lease, ticket = ticket }))
    ]]
    assert.same({ "fsync k.reserved", "rename k.reserved", "fsync directory" }, of(list, "fsync", "rename"))
  end)

  it("syncs what it recovers before it takes its place", function()
    local list = calls [[
      assert(store:put("k", "v", { durable = true }))
      local name = require("fleet.core").sha256("k")
      assert(os.rename(path .. "/" .. name, path .. "/" .. name .. ".reserved"))
      begin()
      assert(store:lease("k", 60))
      assert(store:get("k") == "v")
    ]]
    assert.same({ "fsync k.reserved", "rename k.reserved", "fsync directory" }, of(list, "fsync", "rename"))
  end)

  it("never syncs while it keeps others out", function()
    local list = calls [[
      begin()
      for _, value in ipairs { "a", "b" } do assert(store:put("k", value, { durable = true })) end
    ]]
    local locked, syncs, locks = false, 0, 0
    for _, line in ipairs(list) do
      if line == "lock lock" then locked, locks = true, locks + 1 end
      if line == "unlock lock" then locked = false end
      if line:match("^fsync") then
        assert.is_false(locked, table.concat(list, "\n"))
        syncs = syncs + 1
      end
    end
    assert.same({ 4, 4 }, { syncs, locks })
  end)

  it("decides anew when another process wrote over the record while it waited for the disk", function()
    local list = calls [=[
      assert(store:put("k", "a"))
      local other = string.format("%s -e 'assert(require([[fleet.store]]).file([[%s]]):put([[k]], [[b]]))'",
        require("spec.support.harness.process").lua, path)
      begin()
      require("probe_http").setenv("DISK_AT_FSYNC", other)
      assert(store:put("k", "c", { durable = true }))
      assert(store:get("k") == "c")
    ]=]
    assert.same({ "fsync k.draft", "fsync k.draft", "fsync directory" }, of(list, "fsync"))
  end)

  it("writes over a record that need not last, without a sync or a rename", function()
    local list = calls [[
      assert(store:put("k", "v", { generation = 0 }))
      local lease = assert(store:lease("k", 60))
      begin()
      assert(store:put("k", "w", { lease = lease }))
    ]]
    assert.same({ "write k" }, of(list, "write", "fsync", "rename"))
  end)

  it("never writes over a record that must last", function()
    local list = calls [[
      assert(store:put("k", "v", { durable = true }))
      begin()
      assert(store:put("k", "w", { generation = select(2, store:get("k")) }))
    ]]
    assert.same({ "write k.draft", "write k.draft", "rename k.draft" }, of(list, "write", "rename"))
  end)

  it("is opened without a look at its records", function()
    local list = calls [[
      assert(store:put("k", "v", { durable = true }))
      begin()
      assert(assert(require("fleet.store").file(path)):get("k") == "v")
    ]]
    assert.same({}, of(list, "list", "write", "rename"))
  end)

  it("opens its directory once for a sweep of many steps, and locks no record that it leaves", function()
    local list = calls [[
      local now, wall = 1000, 1774746000
      local store = assert(require("fleet.store").file(path, { clock = function() return now, wall end }))
      for i = 1, 250 do
        local lease = assert(store:lease("session/" .. i, 60))
        assert(store:put("session/" .. i, "v", { lease = lease }))
        lease:release()
      end
      begin()
      for _ = 1, 5 do
        assert(store:put("k", "v", { ttl = 600, durable = true }))
        now, wall = now + 1, wall + 1
      end
    ]]
    assert.same({ "list directory" }, of(list, "list"))
    assert.is_true(#of(list, "open") > 250)
    for _, line in ipairs(of(list, "lock")) do assert.is_nil(line:match "%.lease$", line) end
  end)

  it("gives a reader a whole value while another process writes over it", function()
    local short = ("s"):rep(50)
    local store = assert(require("fleet.store").file(path, { warn = function(text) error(text) end }))
    assert(store:put("k", short, { generation = 0 }))
    local outputs = support.processes(2, [[
      local path, which = ...
      local store = assert(require("fleet.store").file(path, { warn = function(text) error(text) end }))
      local values = { ("s"):rep(50), ("l"):rep(3000) }
      for i = 1, 3000 do
        if which == "1" then
          local _, generation = store:get("k")
          assert(store:put("k", values[i % 2 + 1], { generation = generation }))
        else
          local value = store:get("k")
          assert(value == values[1] or value == values[2], tostring(value))
        end
      end
    ]], { path })
    assert.equal("", table.concat(outputs))
  end)
end)
