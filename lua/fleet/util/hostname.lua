-- The spelling of host names: core.hostname.problem(text), sentence(text), check(who, text) of an application's domain, and
-- host_problem(text) of any other host (src/base/hostname.h).

return require("fleet.core").hostname
