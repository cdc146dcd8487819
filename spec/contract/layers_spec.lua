-- Arrows (doc/architecture.md) point down only, and every third party has one door.

local function lines(command)
  local pipe = assert(io.popen(command))
  local list = {}
  for line in pipe:lines() do list[#list + 1] = line end
  pipe:close()
  return list
end

local read = require("spec.support.harness.files").read

-- A room below src/, and those below it that it may include. A room of src/bind/ sees the same as bind.
local may_include = {
  tables = { tables = true },
  base = { base = true, tables = true },
  time = { time = true, base = true, tables = true },
  crypto = { crypto = true, base = true, tables = true },
  store = { store = true, crypto = true, base = true, tables = true },
  http = { http = true, time = true, base = true, tables = true },
  oauth = { oauth = true, http = true, crypto = true, time = true, base = true, tables = true },
  signing = { signing = true, crypto = true, base = true, tables = true },
  call = { call = true, http = true, signing = true, crypto = true, time = true, base = true, tables = true },
  tariff = { tariff = true, time = true, base = true, tables = true },
  bind = { bind = true, call = true, http = true, oauth = true, signing = true, tariff = true, store = true, crypto = true, time = true,
    base = true, tables = true },
  server = { server = true, bind = true, base = true, tables = true },
  mqtt = { mqtt = true, bind = true, base = true, tables = true },
  redis = { redis = true, bind = true, base = true, tables = true },
  stream = { stream = true, bind = true, crypto = true, signing = true, base = true, tables = true }, -- of signing one generated message
}

local doors = {
  { "^lua%.h$", "^src/bind/", "^src/server/", "^src/redis/", "^src/mqtt/", "^src/stream/" },
  { "^lauxlib%.h$", "^src/bind/", "^src/server/", "^src/redis/", "^src/mqtt/", "^src/stream/" },
  { "^curl/", "^src/http/" },
  { "^openssl/", "^src/crypto/", "^src/redis/tls%.c$", "^src/stream/", "^src/mqtt/tls%.c$" },
  { "^protobuf%-c/", "^src/signing/wire/", "^src/stream/proto/" },
  { "^microhttpd%.h$", "^src/server/" },
  { "^gnutls/", "^src/server/" },
  { "^hiredis", "^src/redis/" },
  { "^mosquitto%.h$", "^src/mqtt/" },
}

local sources = lines("find src -name '*.[ch]' -not -path 'src/*/proto/*' | sort")

local function includes(path)
  local own, foreign = {}, {}
  for quote, name in string.gmatch("\n" .. read(path), "\n#include ([<\"])([^>\"]+)[>\"]") do
    local list = quote == "\"" and own or foreign
    list[#list + 1] = name
  end
  return own, foreign
end

local function passes(door, path)
  for i = 2, #door do
    if string.find(path, door[i]) then return true end
  end
  return false
end

-- Every way from a name back to itself in a graph of lists; returns the first.
local function find_cycle(graph)
  local state, trail = {}, {}
  local function visit(name)
    if state[name] == "done" then return nil end
    trail[#trail + 1] = name
    if state[name] == "open" then return table.concat(trail, " -> ") end
    state[name] = "open"
    for _, other in ipairs(graph[name] or {}) do
      local cycle = visit(other)
      if cycle then return cycle end
    end
    state[name] = "done"
    trail[#trail] = nil
  end
  for name in pairs(graph) do
    local cycle = visit(name)
    if cycle then return cycle end
  end
end

describe("the layers of the C sources", function()
  it("have files to look at", function()
    assert.is_true(#sources > 20)
  end)

  for _, path in ipairs(sources) do
    it(path .. " includes only what lies below it", function()
      local folder = string.match(path, "^src/([^/]+)/")
      local allowed = assert(may_include[folder], "unknown folder " .. folder)
      for _, name in ipairs((includes(path))) do
        local target = string.match(name, "^([^/]+)/")
        assert.is_true(allowed[target] or false, path .. " includes " .. name)
      end
    end)

    it(path .. " uses third parties through their door only", function()
      local _, foreign = includes(path)
      for _, name in ipairs(foreign) do
        for _, door in ipairs(doors) do
          if string.find(name, door[1]) then assert.is_true(passes(door, path), path .. " includes " .. name) end
        end
      end
    end)
  end

  it("hold no circle of headers", function()
    local graph = {}
    for _, path in ipairs(sources) do
      if string.find(path, "%.h$") then graph[string.sub(path, 5)] = includes(path) end
    end
    assert.is_nil(find_cycle(graph))
  end)

  it("would notice a circle", function()
    assert.is_truthy(find_cycle { a = { "b" }, b = { "c" }, c = { "a" } })
  end)
end)

-- A header that two files share can hide that each calls the other: what the objects define and need cannot.
-- What makes random bytes or digests, and the only file where it may stand.
local only_in = {
  { "RAND_", "src/crypto/random.c" }, { "getrandom", "src/crypto/random.c" }, { "/dev/u?random", "src/crypto/random.c" },
  { "EVP_Digest", "src/crypto/digest.c" }, { "EVP_Q_digest", "src/crypto/digest.c" }, { "%f[%w]SHA%d+%(", "src/crypto/digest.c" },
  { "math%.random", "nowhere" }, { "%f[%w]rand%(", "nowhere" }, { "d2i_", "src/crypto/x509.c" },
}

it("one source of random bytes, one digest and one reader of certificates serve all", function()
  local seen = {}
  for _, path in ipairs(lines("find src lua -name '*.[ch]' -o -name '*.lua' | grep -v /proto/ | sort")) do
    local text = read(path)
    for _, one in ipairs(only_in) do
      if string.find(text, one[1]) then
        assert.are.equal(one[2], path, one[1])
        seen[one[1]] = true
      end
    end
  end
  assert.are.same({ EVP_Digest = true, RAND_ = true, d2i_ = true }, seen)
end)

describe("the calls between C files", function()
  local defines, needs = {}, {}
  local objects = os.getenv "FLEET_BUILD" .. "/obj/"
  local compiled = {}
  for _, path in ipairs(sources) do
    if string.find(path, "%.c$") then
      needs[path] = {}
      compiled[#compiled + 1] = objects .. string.gsub(string.sub(path, 5), "%.c$", ".o")
    end
  end
  for _, line in ipairs(lines("nm -A " .. table.concat(compiled, " ") .. " 2>/dev/null")) do
    local object, kind, name = string.match(line, "^(.*)%.o:[%x ]* (%u) ([%w_]+)$")
    local path = kind and "src/" .. string.sub(object, #objects + 1) .. ".c"
    if kind == "U" then table.insert(needs[path], name) elseif kind then defines[name] = path end
  end

  local function called_by(path)
    local list = {}
    for _, name in ipairs(needs[path]) do
      if defines[name] and defines[name] ~= path then list[#list + 1] = defines[name] end
    end
    return list
  end

  it("go down only, from room to room", function()
    local seen = 0
    for path in pairs(needs) do
      local allowed = may_include[string.match(path, "^src/([^/]+)/")]
      for _, target in ipairs(called_by(path)) do
        seen = seen + 1
        assert.is_true(allowed[string.match(target, "^src/([^/]+)/")] or false, path .. " calls into " .. target)
      end
    end
    assert.is_true(seen > 100)
  end)

  it("form no circle", function()
    local graph = {}
    for path in pairs(needs) do graph[path] = called_by(path) end
    assert.is_nil(find_cycle(graph))
  end)
end)

describe("the shared objects", function()
  local build = os.getenv("FLEET_BUILD")
  local symbols = { core = "luaopen_fleet_core", server = "luaopen_fleet_server" }
  for _, name in ipairs { "mosquitto", "redis", "stream" } do -- only where their libraries are
    if #lines("ls " .. build .. "/lib/fleet/" .. name .. ".so 2>/dev/null") > 0 then symbols[name] = "luaopen_fleet_" .. name end
  end
  for name, symbol in pairs(symbols) do
    it(name .. " exports one symbol", function()
      local names = lines("nm -D --defined-only " .. build .. "/lib/fleet/" .. name .. ".so | awk '$2 ~ /[TDBRVW]/ {print $3}'")
      local own = {}
      for _, found in ipairs(names) do
        if not string.find(found, "^_") and not string.find(found, "^__") then own[#own + 1] = found end
      end
      assert.same({ symbol }, own)
    end)
  end
end)

describe("the Lua modules", function()
  local modules = {}
  for _, path in ipairs(lines("find lua -name '*.lua' | sort")) do
    local name = string.gsub(string.gsub(string.gsub(path, "^lua/", ""), "%.lua$", ""), "/", ".")
    name = string.gsub(name, "%.init$", "")
    modules[name] = { path = path, needs = {} }
    for needed in string.gmatch(read(path), "require%s*%(?%s*[\"']([%w%._]+)[\"']") do
      table.insert(modules[name].needs, needed)
    end
  end

  it("form no circle", function()
    local graph = {}
    for name, module in pairs(modules) do graph[name] = module.needs end
    assert.is_nil(find_cycle(graph))
  end)

  it("form no circle of rooms", function()
    local graph = {}
    for name, module in pairs(modules) do
      local room = string.match(name, "^fleet%.([%w_]+)") or "fleet"
      graph[room] = graph[room] or {}
      for _, needed in ipairs(module.needs) do
        local other = string.match(needed, "^fleet%.([%w_]+)")
        if other and other ~= room and other ~= "core" then table.insert(graph[room], other) end
      end
    end
    assert.is_nil(find_cycle(graph))
  end)

  it("never require the command line from outside it", function()
    for name, module in pairs(modules) do
      for _, needed in ipairs(module.needs) do
        local cli = string.find(needed .. ".", "^fleet%.cli%.")
        if cli then assert.is_truthy(string.find(name, "^fleet%.cli"), name .. " requires " .. needed) end
      end
    end
  end)

  it("keep stores free of everything but the core, the kit and their contract", function()
    for name, module in pairs(modules) do
      for _, needed in ipairs(module.needs) do
        local good = needed == "fleet.core" or needed == "fleet.store" or needed == "fleet.store.object"
          or needed == "fleet.store.arguments" or needed == "fleet.store.counters" or string.find(needed, "^fleet%.util%.") ~= nil
        -- A network and other processes are waited for in the loop.
        if string.find(name, "^fleet%.store%.redis") or name == "fleet.store.file" then
          good = good or needed == "fleet.async" or string.find(needed, "^fleet%.store%.redis%.") ~= nil
        end
        if string.find(name, "^fleet%.store%.") then assert.is_true(good, name .. " requires " .. needed) end
      end
    end
  end)

  require("spec.support.harness.needs")("luac5.1", it, pending)("keep to the syntax that older Lua versions parse", function()
    local paths = {}
    for _, module in pairs(modules) do paths[#paths + 1] = module.path end
    assert.are.same({}, lines("luac5.1 -p " .. table.concat(paths, " ") .. " 2>&1"))
  end)
end)
