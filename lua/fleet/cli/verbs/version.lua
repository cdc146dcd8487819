-- fleet version

local core = require "fleet.core"

local M = {
  {
    name = "version", words = {}, local_only = true, doc = "Prints the version of the module and of Lua.",
    run = function()
      return { fleet = string.match(require("fleet")._VERSION, "%S+$"), lua = _VERSION, libraries = core.versions and core.versions() }
    end,
  },
}

return M
