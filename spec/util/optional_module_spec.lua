-- Optional modules of the build: a program that needs a missing one gets one sentence.

local optional_module = require "fleet.util.optional_module"
local process = require "spec.support.harness.process"

describe("an optional module", function()
  local cpath = package.cpath

  local function without_shared_objects(fn)
    local loaded = package.loaded["fleet.server"]
    package.loaded["fleet.server"], package.cpath = nil, process.directory .. "/nowhere/?.so"
    local ok, first, second = pcall(fn)
    package.cpath, package.loaded["fleet.server"] = cpath, loaded
    assert(ok, first)
    return first, second
  end

  it("is found where it was built", function()
    assert.equal(require "fleet.server", optional_module.find "server")
    assert.equal(require "fleet.server", optional_module.need "server")
    assert.is_true(optional_module.all().server)
  end)

  it("that was left out is one sentence, not a list of paths", function()
    local found, why = without_shared_objects(function() return optional_module.find "server" end)
    assert.is_nil(found)
    assert.equal("this build of fleet has no fleet.server: install the development package of libmicrohttpd and build again", why)
    local _, raised = without_shared_objects(function() return pcall(optional_module.need, "server") end)
    assert.equal(why, raised)
  end)

  it("that is there and cannot be loaded keeps the loader's own reason", function()
    local directory = process.temporary "module"
    process.execute("mkdir " .. directory .. "/fleet && echo no object >" .. directory .. "/fleet/server.so")
    local found, why = without_shared_objects(function()
      package.cpath = directory .. "/?.so"
      return optional_module.find "server"
    end)
    assert.is_nil(found)
    assert.matches("server.so", why, 1, true)
    assert.is_nil(string.find(why, "development package", 1, true))
  end)

  it("is left out of the build, with a word, where pkg-config does not find its library", function()
    local function made(setting)
      local pipe = io.popen("env -u MAKEFLAGS -u MAKELEVEL make -n -C " .. process.quote(process.root) .. " build VARIANT=none "
        .. setting .. " 2>&1")
      local text = pipe:read "a"
      pipe:close()
      return text
    end
    assert.matches("none/lib/fleet/server.so", made "", 1, true)
    local without = made "LIBRARIES_server=no-such-library"
    assert.is_nil(string.find(without, "lib/fleet/server.so", 1, true))
    assert.matches("fleet.server is left out: pkg-config does not find no-such-library", without, 1, true)
    assert.matches("none/lib/fleet/core.so", without, 1, true)
  end)
end)
