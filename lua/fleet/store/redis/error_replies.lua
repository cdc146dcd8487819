-- What an error means that a Redis server answers with.

local M = {}

-- What a server says that will soon serve again, or of which another has taken the place.
local passing = { "READONLY", "LOADING", "MASTERDOWN", "CLUSTERDOWN", "TRYAGAIN", "BUSY " }

local function says(text, word)
  return string.find(text, word, 1, true) ~= nil
end

--- Whether asking again serves, after a while or at another server.
function M.is_passing(text)
  for _, word in ipairs(passing) do
    if says(text, word) then return true end
  end
  return false
end

--- Whether the server has thrown the scripts away.
function M.lacks_script(text)
  return says(text, "NOSCRIPT")
end

--- For people, without what was sent.
function M.explain(text)
  if says(text, "MOVED ") or says(text, "CROSSSLOT") then
    return "it is a node of a Redis Cluster, which is not supported: name a server of its own, or one per group of accounts"
  end
  return string.sub(text, 1, 200)
end

return M
