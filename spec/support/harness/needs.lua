-- Specs that need a program wait where it is not installed; `make test` names them at its end.
--
--   needs("nginx", it, pending)("reads", fn)     declares the spec by it(), or as pending with its reason; pending is the spec file's.
--                                                A list of names: all are needed.
--   needs.missing("luac5.1")                     the reason as text, or nil where all are installed

local lua = require("spec.support.harness.process").bare_lua

local tests = {
  ["valgrind's headers"] = "test -e /usr/include/valgrind/memcheck.h",
  locales = "test -e /usr/share/i18n/locales/de_DE",
}

local function test_of(name)
  local module = string.match(name, "^Lua's (%S+)$") -- a module of the Lua that runs the specs
  if module then return lua .. " -e \"require '" .. module .. "'\" 2>/dev/null" end
  return tests[name] or "PATH=$PATH:/usr/sbin:/sbin; command -v " .. name .. " >/dev/null"
end

local M = {}

function M.missing(...)
  for i = 1, select("#", ...) do
    local name = select(i, ...)
    local ok = os.execute(test_of(name))
    if ok ~= true and ok ~= 0 then return name .. " is not installed" end
  end
end

return setmetatable(M, { __call = function(_, names, block, pending)
  if type(names) == "string" then names = { names } end
  local why = M.missing((table.unpack or unpack)(names)) -- luacheck: ignore
  return why and function(what) pending(what .. ": " .. why) end or block
end })
