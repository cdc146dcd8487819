-- What an installation leaves, and that its removal leaves nothing.

local needs = require "spec.support.harness.needs"
local process = require "spec.support.harness.process"
local quote = process.quote
local variant = string.match(process.build, "[^/]*$")

local function shell(line)
  local pipe = io.popen("unset LD_PRELOAD FLEET_BUILD LUA_PATH LUA_CPATH MAKEFLAGS MAKELEVEL; cd " .. quote(process.root)
    .. " && { " .. line .. "; } 2>&1; status=$?; echo; echo $status")
  local text = pipe:read "a"
  pipe:close()
  local out, status = string.match(text, "^(.-)\n*(%d+)\n$")
  return out, tonumber(status)
end

local function files(directory)
  return (shell("find " .. quote(directory) .. " \\( -type f -o -name fleet \\) | sort"))
end

describe("make install", function()
  local directory = process.temporary "install"
  local destination = " VARIANT=" .. variant .. " PREFIX=/usr DESTDIR=" .. quote(directory .. "/a root")

  it("writes the module, the command, and what shells, man, pkg-config and systemd look for", function()
    local out, status = shell("make -s install" .. destination)
    assert.equal(0, status, out)
    local found = files(directory)
    for _, path in ipairs { "share/lua/5.4/fleet/init.lua", "lib/lua/5.4/fleet/core.so", "lib/lua/5.4/fleet/server.so", "bin/fleet",
      "share/man/man1/fleet.1", "share/bash-completion/completions/fleet", "share/zsh/site-functions/_fleet",
      "share/fish/vendor_completions.d/fleet.fish", "include/fleet/fleet.h", "lib/fleet-lua5.4.a", "share/pkgconfig/fleet-lua5.4.pc",
      "lib/systemd/user/fleet-run.service" } do
      assert.is_truthy(string.find(found .. "\n", "/a root/usr/" .. path .. "\n", 1, true), path)
    end
    assert.is_nil(string.find(found, "doc/generate", 1, true))
    local page = needs.missing "pandoc" and "doc/manual/calls.md" or "manual/calls.html"
    assert.is_truthy(string.find(found .. "\n", "/a root/usr/share/doc/fleet/" .. page .. "\n", 1, true), page)
  end)

  it("has the manual as Markdown where there is no pandoc, and links of that tree hold", function()
    local list = shell('LUADIR=l LIBDIR=l BINDIR=b DATADIR=d DOCDIR=docs PREFIX=p PARTS= B=b LUA=lua5.4 LUA_ABI=5.4 HTML= '
      .. "sh doc/packaging/install.sh list | grep '^docs/'")
    for _, path in ipairs { "README.md", "doc/manual.md", "doc/manual/calls.md", "doc/manual/pictures/garage.png" } do
      assert.is_truthy(string.find("\n" .. list .. "\n", "\ndocs/" .. path .. "\n", 1, true), path)
    end
    assert.is_nil(string.find(list, ".html", 1, true))
  end)

  it("installs a command that finds its module, and a version that others can read", function()
    local out, status = shell("cd / && " .. quote(directory .. "/a root/usr/bin/fleet") .. " version --verbose")
    assert.equal(0, status, out)
    assert.matches("a root/usr/bin/../share/lua/5.4/fleet/init.lua", out, 1, true)
    local pc = assert(io.open(directory .. "/a root/usr/share/pkgconfig/fleet-lua5.4.pc")):read "a"
    assert.matches("Version: " .. string.match(out, "fleet +(%S+)"), pc, 1, true)
    assert.matches("prefix=/usr\n", pc, 1, true)
  end)

  it("writes a man page that has the verbs and the exit statuses", function()
    local page = assert(io.open(directory .. "/a root/usr/share/man/man1/fleet.1")):read "a"
    for _, text in ipairs { ".TH FLEET 1", ".SS doctor", "key_not_paired", ".SH EXIT STATUS" } do
      assert.is_truthy(string.find(page, text, 1, true), text)
    end
    for line in string.gmatch(page, "[^\n]+") do
      local request = string.match(line, "^([.']%S*)")
      assert.is_truthy(not request or string.find(" .TH .SH .SS .TP .B .I .nf .fi ", " " .. request .. " ", 1, true), line)
    end
  end)

  it("is undone by make uninstall, which leaves what others put there", function()
    local other = directory .. "/a root/usr/share/lua/5.4/other.lua"
    process.execute("touch " .. quote(other))
    local out, status = shell("make -s uninstall" .. destination)
    assert.equal(0, status, out)
    assert.equal(other, files(directory))
  end)
end)

-- One prefix, several Luas: each loads its own, and what serves all goes with the last of them.
describe("make install for several Luas", function()
  local directory = process.temporary "install-several"
  local root = directory .. "/a root"
  local versions = { { "5.4", "lua5.4", "5.4" }, { "5.1", "lua5.1", "5.1" }, { "5.3", "lua5.3", "5.3" }, { "jit", "luajit", "5.1" } }

  local function make(target, version)
    local out, status = shell("make -s " .. target .. " LUA_VERSION=" .. version .. " PREFIX=/usr DESTDIR=" .. quote(root))
    assert.equal(0, status, out)
  end

  -- What a program of this Lua reads with the module of the folders of that ABI.
  local function read(lua, abi)
    local script = [[local client = require("fleet").new { token = "t", base_url = "https://service.example", http = function(request)
      return { status = 200, headers = {}, body = '{"response":[{"vin":"5YJ30123456789ABC"}],"count":1}' } end }
      print(_VERSION, package.searchpath and package.searchpath("fleet", package.path) or "", assert(client:vehicles():collect())[1].vin)]]
    return (shell(string.format("LUA_PATH=%s LUA_CPATH=%s %s -e %s", quote(root .. "/usr/share/lua/" .. abi .. "/?.lua;" .. root
      .. "/usr/share/lua/" .. abi .. "/?/init.lua;;"), quote(root .. "/usr/lib/lua/" .. abi .. "/?.so;;"), lua, quote(script))))
  end

  local it_with_all = needs({ "lua5.1", "lua5.3", "luajit" }, it, pending)

  it_with_all("leaves each its own, and none takes the command from Lua 5.4", function()
    for _, one in ipairs(versions) do make("install", one[1]) end
    for _, one in ipairs(versions) do
      assert.matches("^Lua " .. one[3]:gsub("%.", "%%.") .. "%s.*5YJ30123456789ABC$", read(one[2], one[3]))
    end
    assert.matches("fleet is built for Lua 5.1 here, and another Lua loads it: build it for that one", read("lua5.4", "5.1"), 1, true)
    assert.equal("#!/usr/bin/env lua5.4", (shell("head -n 1 " .. quote(root .. "/usr/bin/fleet"))))
  end)

  it_with_all("is undone one by one: the others stay whole, and the last leaves nothing", function()
    make("uninstall", "5.1")
    assert.equal("", (shell("find " .. quote(root) .. " -path '*lua/5.1/fleet*' -o -name 'fleet-lua5.1*'")))
    assert.matches("5YJ30123456789ABC$", read("lua5.3", "5.3"))
    assert.matches("/usr/bin/fleet\n.*/usr/include/fleet/fleet%.h", files(root))
    make("uninstall", "5.4")
    assert.matches("5YJ30123456789ABC$", read("lua5.3", "5.3"))
    assert.is_nil(string.find(files(root), "/usr/bin/fleet", 1, true))
    make("uninstall", "5.3")
    assert.equal("", files(root))
  end)
end)

describe("the pkg-config file", function()
  needs({ "pkg-config", "cc" }, it, pending)("links a C host by the line that the host names", function()
    local root = process.temporary "install-host"
    local out, status = shell("make -s install PREFIX=" .. quote(root))
    assert.equal(0, status, out)
    local source = process.root .. "/examples/hosts/poll.c"
    local flags = string.match(assert(io.open(source)):read "*a", "(%$%(pkg%-config[^)]*%))")
    out, status = shell("PKG_CONFIG_PATH=$(dirname $(find " .. quote(root) .. " -name 'fleet-lua*.pc')); export PKG_CONFIG_PATH; cc -o "
      .. quote(root .. "/poll") .. " " .. quote(source) .. " " .. flags .. " 2>&1")
    assert.equal(0, status, out)
  end)
end)

describe("a folder that names a version of Lua", function()
  local function asked(arguments)
    return shell("make -n -s install PREFIX=/nowhere DATADIR= LUADIR=/nowhere/rocks-5.1/fleet/lua " .. arguments)
  end

  it("is built for that one, as LuaRocks expects", function()
    assert.matches('LUA="lua5.1" LUA_ABI=5.1', asked "", 1, true)
    assert.matches('LUA="luajit" LUA_ABI=5.1', asked "LUA_VERSION=jit", 1, true)
  end)

  it("is refused to the build of another", function()
    local out, status = asked "LUA_VERSION=5.3"
    assert.equal(2, status)
    assert.matches("fleet is built for Lua 5.3, and /nowhere/rocks-5.1/fleet/lua belongs to Lua 5.1", out, 1, true)
  end)
end)

describe("make dist", function()
  it("writes the same bytes for the same commit", function()
    local git = select(2, shell "git rev-parse HEAD")
    if git ~= 0 then return pending("not a git checkout: there is nothing to write an archive from") end
    local function archive(name)
      local directory = process.temporary("dist-" .. name)
      local out, status = shell("make -s dist DIST=" .. quote(directory))
      assert.equal(0, status, out)
      return directory .. "/fleet-" .. string.match(require("fleet")._VERSION, "%S+$") .. ".tar.gz"
    end
    local first, second = archive "a", archive "b"
    assert.equal(0, select(2, shell("cmp " .. first .. " " .. second)))
    local listed = shell("tar -tzf " .. first)
    assert.matches("/Makefile\n", listed)
    assert.is_nil(string.find(listed, "/build/", 1, true))
  end)
end)

describe("make rock", function()
  needs({ "luarocks", "zip" }, it, pending)("writes a rock that unpacks elsewhere and names the release's address", function()
    if select(2, shell "git rev-parse HEAD") ~= 0 then return pending "not a git checkout" end
    local directory, elsewhere = process.temporary "rock", process.temporary "rock-elsewhere"
    local name = "fleet-" .. require "fleet.util.version"
    local out, status = shell("make -s rock DIST=" .. quote(directory) .. " SOURCE_URL=https://example.com/" .. name
      .. ".tar.gz HOMEPAGE=https://example.com/fleet ISSUES=https://example.com/fleet/issues")
    assert.equal(0, status, out)
    out, status = shell("cd " .. quote(elsewhere) .. " && luarocks unpack " .. quote(directory .. "/" .. name .. "-1.src.rock"))
    assert.equal(0, status, out)
    local unpacked = elsewhere .. "/" .. name .. "-1"
    assert.equal(0, select(2, shell("test -f " .. quote(unpacked .. "/" .. name .. "/src/bind/lua/fleet.h"))))
    local written = assert(io.open(unpacked .. "/" .. name .. "-1.rockspec")):read "*a"
    for _, address in ipairs {
      "https://example.com/" .. name .. ".tar.gz", "https://example.com/fleet", "https://example.com/fleet/issues" } do
      assert.matches('"' .. address .. '"', written, 1, true)
    end
  end)
end)

describe("a rockspec", function()
  local function read(path)
    local values = {}
    assert(loadfile(process.root .. "/" .. path, "t", values))()
    return values
  end

  it("of the release says the same as that of the checkout, but for version and source", function()
    local release, checkout = read "fleet-1.0.0-1.rockspec", read "fleet-scm-1.rockspec"
    assert.equal("fleet " .. string.match(release.version, "^[%d.]+"), require("fleet")._VERSION)
    assert.are_not.same(release.source, checkout.source)
    release.version, release.source = checkout.version, checkout.source
    assert.are.same(checkout, release)
  end)

  needs("luarocks", it, pending)("passes the linter of LuaRocks", function()
    for _, path in ipairs { "fleet-1.0.0-1.rockspec", "fleet-scm-1.rockspec" } do
      local out, status = shell("luarocks lint " .. path)
      assert.equal(0, status, out)
    end
  end)
end)

describe("the recipes of other systems", function()
  local version = string.match(require("fleet")._VERSION, "%S+$")

  local function content(path)
    return assert(io.open(process.root .. "/doc/packaging/" .. path)):read "a"
  end

  it("name this version", function()
    assert.matches("\nPKG_VERSION:=" .. version .. "\n", content "openwrt/Makefile", 1, true)
    assert.matches("\npkgver=" .. version .. "\n", content "alpine/APKBUILD", 1, true)
    assert.matches("^fleet %(" .. version:gsub("%.", "%%.") .. "%-1%) ", content "debian/changelog")
  end)

  it("have the fields that their systems ask for, and shell that parses", function()
    for _, field in ipairs { "pkgname", "pkgver", "pkgrel", "pkgdesc", "url", "arch", "license", "source" } do
      assert.is_truthy(string.find(content "alpine/APKBUILD", "\n" .. field .. "=", 1, true), field)
    end
    for _, field in ipairs { "PKG_NAME", "PKG_VERSION", "PKG_RELEASE", "PKG_LICENSE" } do
      assert.is_truthy(string.find(content "openwrt/Makefile", "\n" .. field .. ":=", 1, true), field)
    end
    for _, path in ipairs { "alpine/APKBUILD", "install.sh", "debian/tests/demo" } do
      local out, status = shell("sh -n doc/packaging/" .. path)
      assert.equal(0, status, out)
    end
  end)
end)
