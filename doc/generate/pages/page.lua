-- A filter of pandoc for one page: links between Markdown pages become links between HTML pages, wide tables scroll, and the page gets
-- the list of all pages at its side, the one before it and the one after it. The order is that of doc/manual.md.

-- luacheck: read_globals pandoc

local function is_page(target)
  return string.find(target, "%.md$") or string.find(target, "%.md#") or string.find(target, "^#")
end

-- What is not in the manual is named, not linked.
local function rewritten(link)
  if string.find(link.target, "^%a+://") or string.find(link.target, "%.svg$") then return link end
  if not is_page(link.target) then return link.content end
  local target = string.gsub(string.gsub(link.target, "^doc/", ""), "%.%./(%u+%.md)", "%1")
  link.target = string.gsub(target, "%.md", ".html", 1)
  return link
end

local function placed(image)
  image.src = string.gsub(image.src, "^doc/", "")
  return image
end

local function scrolling(element)
  return pandoc.Div({ element }, pandoc.Attr("", { "wide" }))
end

-- ---- the list of pages ----

local function escaped(text)
  return (string.gsub(text, "[&<>]", { ["&"] = "&amp;", ["<"] = "&lt;", [">"] = "&gt;" }))
end

--- The groups of doc/manual.md: { title =, { title =, url = }, … }.
local function groups_of(text)
  local groups = {}
  for line in string.gmatch(text .. "\n", "(.-)\n") do
    local heading = string.match(line, "^## (.+)$")
    local title, path = string.match(line, "^%- %[(.-)%]%((.-)%)")
    if heading then groups[#groups + 1] = { title = heading } end
    if title then table.insert(groups[#groups], { title = title, url = (string.gsub(path, "%.md$", ".html")) }) end
  end
  return groups
end

local function link_to(root, page, attributes)
  return string.format('<a href="%s%s"%s>%s</a>', root, page.url, attributes or "", escaped(page.title))
end

local function navigation(groups, root, url)
  local out = {}
  for _, group in ipairs(groups) do
    out[#out + 1] = string.format("<p>%s</p>\n<ul>", escaped(group.title))
    for _, page in ipairs(group) do
      out[#out + 1] = "<li>" .. link_to(root, page, page.url == url and ' aria-current="page"') .. "</li>"
    end
    out[#out + 1] = "</ul>"
  end
  return table.concat(out, "\n")
end

local function neighbours(groups, root, url)
  local list, here = {}, nil
  for _, group in ipairs(groups) do
    for _, page in ipairs(group) do
      list[#list + 1] = page
      if page.url == url then here = #list end
    end
  end
  if not here then return "" end
  local before, after = list[here - 1], list[here + 1]
  return (before and link_to(root, before, ' rel="prev"') or "") .. (after and link_to(root, after, ' rel="next"') or "")
end

local function read(path)
  local file = assert(io.open(path))
  local text = file:read "*a"
  file:close()
  return text
end

local function raw(text)
  return pandoc.MetaBlocks { pandoc.RawBlock("html", text) }
end

-- The first heading is the title of the page.
local function completed(document)
  for _, block in ipairs(document.blocks) do
    if block.t == "Header" then
      document.meta.pagetitle = pandoc.MetaString(pandoc.utils.stringify(block))
      break
    end
  end
  local url = pandoc.utils.stringify(document.meta.page)
  local root = string.find(url, "/", 1, true) and "../" or ""
  local groups = groups_of(read "doc/manual.md")
  document.meta.navigation = raw(navigation(groups, root, url))
  document.meta.neighbours = raw(neighbours(groups, root, url))
  return document
end

return { { Link = rewritten, Image = placed, Table = scrolling, Pandoc = completed } }
