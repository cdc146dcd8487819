-- The blocks of a page of the manual, for specs.
local M = {}

--- parts(text) -> what stands outside blocks, and the blocks in order: { language =, heading = (of their section), text = }.
function M.parts(text)
  local blocks, outside = {}, {}
  local block, heading
  for line in string.gmatch(text .. "\n", "(.-)\n") do
    local fence = string.match(line, "^```(%w*)")
    if fence and block then
      blocks[#blocks + 1] = { language = block.language, heading = heading, text = table.concat(block, "\n") }
      block = nil
    elseif fence then
      block = { language = fence }
    elseif block then
      block[#block + 1] = line
    else
      heading = string.match(line, "^##+ (.+)$") or heading
      outside[#outside + 1] = line
    end
  end
  assert(not block, "a block is not closed")
  return table.concat(outside, "\n"), blocks
end

--- The blocks of Lua among them.
function M.lua(text)
  local _, blocks = M.parts(text)
  local list = {}
  for _, block in ipairs(blocks) do
    if block.language == "lua" then list[#list + 1] = block end
  end
  return list
end

return M
