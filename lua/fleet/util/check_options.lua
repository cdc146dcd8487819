-- The options of a call that has no row: names and kinds of value.

local core = require "fleet.core"

local M = {}

--- names(where, what, given, known): raises unless every name in the table given (or nil) stands in known, a list or the keys of a
--- table. where: the call, what: "option".
M.names = core.check_names

--- seconds(where, name, value, default): value, or default for nil; raises unless it is a finite number above 0.
M.seconds = core.check_seconds

return M
