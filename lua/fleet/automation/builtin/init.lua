-- The names of all automations; each has a file in this directory. `make doc` writes the list.
--
-- A file returns {
--   doc =           one sentence
--   precedence =    who wins where two want different things of one car: the larger number
--   handles =       { "car" }, { "site" } or both: what must be given; the first is whose record it keeps. { "car|site" }: one
--   also =          { "car" }: what may be given besides
--   needs =         { section = { field, … } }: without these fields a section counts as not seen (readings.lua)
--   reads =         { section = { field, … } }: what it reads of a look at all, or function(config) that returns it and needs a value
--                   of each; left out: everything that readings.lua names
--   options =       { name = { type =, default =, needed =, min =, max =, doc = } }
--   prepare =       function(config): the rest of the checks, and what is derived from the options once; raises
--   observe =       function(config, now) -> inputs of the next decision that are not the service's: prices
--   decide =        function(config, now, state) -> { why =, actions =, claims =, again_at = }; pure but for state.memory
--   month =         function(config) -> billed calls of an ordinary month by class, for the estimate
-- }
return {
  "storm_ready",
  "charge_by",
  "left_open",
  "precondition_by",
  "surplus_charge",
  "keep_limit",
  "charge_home_battery",
  "ensure",
  "tariff_sync",
}
