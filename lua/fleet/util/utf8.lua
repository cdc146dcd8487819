-- Text of others as UTF-8 (RFC 3629): what is none becomes U+FFFD, byte by byte.

local M = {}

local shapes = {
  "^[\194-\223][\128-\191]", "^\224[\160-\191][\128-\191]", "^[\225-\236\238\239][\128-\191][\128-\191]", "^\237[\128-\159][\128-\191]",
  "^\240[\144-\191][\128-\191][\128-\191]", "^[\241-\243][\128-\191][\128-\191][\128-\191]", "^\244[\128-\143][\128-\191][\128-\191]",
}

local function sequence_at(run, at)
  for _, shape in ipairs(shapes) do
    local sequence = string.match(run, shape, at)
    if sequence then return sequence end
  end
end

local function repaired(run)
  local parts, at = {}, 1
  while at <= #run do
    local sequence = sequence_at(run, at)
    parts[#parts + 1] = sequence or "\239\191\189"
    at = at + (sequence and #sequence or 1)
  end
  return table.concat(parts)
end

--- The text with everything replaced that is not UTF-8.
function M.repaired(text)
  return (string.gsub(text, "[\128-\255]+", repaired))
end

--- Whether a text is UTF-8.
function M.valid(text)
  return M.repaired(text) == text
end

return M
