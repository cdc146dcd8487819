-- A filter of pandoc: links between Markdown pages become links between HTML pages; what is not in the manual is named, not linked.

-- luacheck: read_globals pandoc

local function is_page(target)
  return string.find(target, "%.md$") or string.find(target, "%.md#") or string.find(target, "^#")
end

local function rewritten(link)
  if string.find(link.target, "^%a+://") or string.find(link.target, "%.svg$") then return link end
  if not is_page(link.target) then return link.content end
  local target = string.gsub(string.gsub(link.target, "^doc/", ""), "%.%./(%u+%.md)", "%1")
  link.target = string.gsub(target, "%.md", ".html", 1)
  return link
end

-- Wide tables scroll by themselves on a narrow screen.
local function scrolling(element)
  return pandoc.Div({ element }, pandoc.Attr("", { "wide" }))
end

-- The first heading is the title of the page.
local function titled(document)
  for _, block in ipairs(document.blocks) do
    if block.t == "Header" then
      document.meta.pagetitle = pandoc.MetaString(pandoc.utils.stringify(block))
      break
    end
  end
  return document
end

return { { Link = rewritten, Table = scrolling, Pandoc = titled } }
