-- The last question of a torture: is the pair still good? Who was killed may hold the lease of the token for a while, and a busy
-- machine exchanges slowly: what is late is waited for.

local core = require "fleet.core"

return function(client)
  local ends = core.clock() + 120
  local done, err
  repeat done, err = client:refresh() until done or err.kind ~= "timeout" or core.clock() > ends
  assert(done, err)
end
