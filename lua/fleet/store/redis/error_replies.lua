-- Interprets the error replies of a Redis server.

local M = {}

-- Replies of a server that will soon serve again, or that another server has replaced.
local passing = { "READONLY", "LOADING", "MASTERDOWN", "CLUSTERDOWN", "TRYAGAIN", "BUSY " }

local function says(text, word)
  return string.find(text, word, 1, true) ~= nil
end

--- Whether a retry can succeed, later or at another server.
function M.is_passing(text)
  for _, word in ipairs(passing) do
    if says(text, word) then return true end
  end
  return false
end

--- Whether the server has lost the scripts.
function M.lacks_script(text)
  return says(text, "NOSCRIPT")
end

--- The error for a person, without the data that was sent.
function M.explain(text)
  if says(text, "MOVED ") or says(text, "CROSSSLOT") then
    return "it is a node of a Redis Cluster, which is not supported: name a server of its own, or one per group of accounts"
  end
  return string.sub(text, 1, 200)
end

return M
