-- Writes index.js to standard output: the sections of the Markdown pages that are named as arguments (below doc/), for the search.

local core = require "fleet.core"

-- The anchor that pandoc gives a heading of GitHub's Markdown.
local function anchor(heading)
  local text = string.lower(string.gsub(heading, "[`*]", ""))
  text = string.gsub(text, "%[(.-)%]%b()", "%1")
  text = string.gsub(string.gsub(text, "→", ""), "[^%w%s_\128-\255-]", "")
  return (string.gsub(text, "%s", "-"))
end

local function plain(text)
  text = string.gsub(string.gsub(text, "<!%-%-.-%-%->", ""), "%[(.-)%]%b()", "%1")
  return string.lower((string.gsub(text, "[`*|#]+", " ")))
end

local function read(path)
  local file = assert(io.open("doc/" .. path))
  local text = file:read "*a"
  file:close()
  return text
end

local function title_of(heading)
  return (string.gsub(string.gsub(heading, "[`*]", ""), "%[(.-)%]%b()", "%1"))
end

-- Pages that explain come first, then reference pages, then the list of all pages.
local references = assert(string.match(read "manual.md", "\n## Look up\n(.*)$"))

local function weight_of(path)
  if path == "manual.md" then return 0.2 end
  return string.find(references, "(" .. path .. ")", 1, true) and 0.35 or 1
end

local function add_sections(sections, path)
  local url, page, current, in_code = string.gsub(path, "%.md$", ".html"), nil, nil, false
  local used = {}
  for line in string.gmatch(read(path) .. "\n", "(.-)\n") do
    local fence = string.find(line, "^```") ~= nil
    if fence then in_code = not in_code end
    local heading = not in_code and string.match(line, "^#+ +(.+)$")
    if heading then
      page = page or title_of(heading)
      local name = anchor(heading)
      local times = used[name]
      used[name] = (times or 0) + 1
      local place = url .. "#" .. name .. (times and "-" .. times or "")
      current = { title = title_of(heading), page = page, url = place, weight = weight_of(path), text = {} }
      sections[#sections + 1] = current
    elseif current and not fence and not string.find(line, "^|[-|]+$") then
      table.insert(current.text, plain(line))
    end
  end
end

local sections = {}
for _, path in ipairs(arg) do add_sections(sections, path) end
for _, section in ipairs(sections) do section.text = string.gsub(table.concat(section.text, " "), "%s+", " ") end
io.write("const sections = ", core.json_encode(sections), "\n")
