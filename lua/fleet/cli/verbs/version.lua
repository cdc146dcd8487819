-- fleet version

local core = require "fleet.core"
local optional_module = require "fleet.util.optional_module"

local function brief()
  return { fleet = require "fleet.util.version", lua = _VERSION, libraries = core.versions() }
end

-- The report for bugs: this module, the file from which it was loaded, and its libraries.
local function whole()
  local report = brief()
  report.interpreter = jit and jit.version or nil -- luacheck: ignore
  report.build, report.parts = core.build(), {}
  for name, found in pairs(optional_module.all()) do report.parts[name] = found == true and "built" or found end
  report.files = { lua = package.searchpath and package.searchpath("fleet", package.path),
    core = package.searchpath and package.searchpath("fleet.core", package.cpath) }
  return report
end

return {
  {
    name = "version", words = {}, local_only = true,
    doc = "Prints the version of the module and of Lua; with --verbose all that a report of a fault needs.",
    details = "--verbose adds the libraries that are loaded, how the module was built, which optional parts can be loaded, and"
      .. " the files that it came from.",
    run = function(_, line) return line.options.verbose and whole() or brief() end,
  },
}
