-- The spelling of host names: of an application's domain, as the service registers it, and of other hosts. Users lose hours
-- over an https://, a capital or a path (doc/protocol.md#registration), so every mistake has its own sentence.

local errors = require "fleet.util.errors"

local M = {}

-- What may stand in the text, in the order in which it is looked for, and what to do. The first apply to every host.
local mistakes = {
  { "^%s*$", "is empty" },
  { "://", "leave out the scheme" },
  { "@", "leave out what stands before the @" },
  { "[/\\]", "leave out the path" },
  { "[?#]", "leave out what follows the name" },
  { ":", "leave out the port" },
  { "%s", "leave out the spaces" },
  { "%*", "name one host, without *" },
  { "[\128-\255]", "write it in its xn-- form" },
  { "[^%w%.%-]", "it may hold letters, digits, dots and hyphens only" },
  { "%.$", "leave out the dot at its end" },
  { "%.%.", "a name is missing between two dots" },
  { "^%.", "leave out the dot at its beginning" },
}
local mistakes_of_domains = {
  { "%u", "write it in small letters" },
  { "^[%d%.]+$", "a name is needed, not an address" },
  { "^[^%.]*$", "a dot is missing: it must be reachable from the internet" },
}

local function label_problem(text)
  for label in string.gmatch(text, "[^%.]+") do
    if #label > 63 then return "one of its parts is longer than 63 characters" end
    if string.find(label, "^%-") or string.find(label, "%-$") then return "no part may begin or end with a hyphen" end
  end
end

-- The host that was meant, where one can be seen.
local function meant(text)
  local host = string.lower(string.match(text, "^%s*(.-)%s*$"))
  host = string.gsub(string.gsub(string.gsub(host, "^%a[%w+.-]*://", ""), "^[^/?#]*@", ""), "[/\\?#:].*$", "")
  return (string.gsub(host, "%.$", ""))
end

local function first_of(list, text)
  for _, mistake in ipairs(list) do
    if string.find(text, mistake[1]) then return mistake[2] end
  end
end

--- What is wrong with the name of any host, or nil: a part of a sentence.
function M.host_problem(text)
  if type(text) ~= "string" then return "it must be text" end
  return first_of(mistakes, text) or #text > 253 and "it is longer than 253 characters" or label_problem(text)
end

--- What is wrong with a domain: nil where nothing is, else a part of a sentence and the name that was meant, or nil.
function M.problem(text)
  local found = M.host_problem(text) or first_of(mistakes_of_domains, text)
  if not found then return nil end
  if type(text) ~= "string" then return found end
  local guess = meant(text)
  return found, guess ~= text and M.problem(guess) == nil and guess or nil
end

--- The sentence about a wrong domain: "'domain' must be a host name such as app.example.com: …", or nil.
function M.sentence(text)
  local problem, guess = M.problem(text)
  if not problem then return nil end
  return "'domain' must be a host name such as app.example.com: " .. problem
    .. (guess and " (did you mean '" .. guess .. "'?)" or "")
end

--- Raises for a wrong domain. who: what the sentence begins with.
function M.check(who, text)
  local sentence = M.sentence(text)
  if sentence then errors.usage(who .. ": " .. sentence) end
end

return M
