-- The manual as HTML: plain pages whose links lead to pages, and a search that needs no server.

local browsers = require "spec.support.harness.browser"
local process = require "spec.support.harness.process"
local quote = process.quote

local function shell(line)
  local pipe = io.popen("unset LD_PRELOAD MAKEFLAGS MAKELEVEL; cd " .. quote(process.root) .. " && " .. line .. " 2>&1; echo $?")
  local text = pipe:read "a"
  pipe:close()
  local out, status = string.match(text, "^(.-)(%d+)\n$")
  return out, tonumber(status)
end

local function content(path)
  local file = assert(io.open(path))
  local text = file:read "a"
  file:close()
  return text
end

describe("the manual as HTML", function()
  local directory = process.temporary "pages"

  local function made(pages)
    local out, status = shell("make -s " .. pages .. " HTML=" .. quote(directory) .. " VARIANT=" .. string.match(process.build, "[^/]*$"))
    assert.equal(0, status, out)
  end

  it("links to files and headings that exist, also from README", function()
    if select(2, shell "command -v pandoc") ~= 0 then return pending "pandoc is not installed" end
    made "pages"
    assert.matches('href="manual.html"', content(directory .. "/README.html"), 1, true)
    local texts, count = {}, 0
    for path in io.popen("cd " .. quote(directory) .. " && find . -name '*.html' | cut -c3-"):lines() do
      texts[path] = content(directory .. "/" .. path)
    end
    for path, text in pairs(texts) do
      for link in string.gmatch(text, '<a href="([^":]+)"') do
        local target, anchor = string.match(link, "^([^#]*)#?(.*)$")
        local folder = string.match(path, "^(.-)[^/]*$")
        target = target == "" and path or string.gsub(folder .. target, "manual/%.%./", "")
        local there = texts[target] or io.open(directory .. "/" .. target)
        assert.is_truthy(there, path .. " leads to " .. link)
        if anchor ~= "" then assert.is_truthy(string.find(there, 'id="' .. anchor .. '"', 1, true), path .. " leads to " .. link) end
        count = count + 1
      end
    end
    assert.is_true(count > 1000)
  end)

  it("leads from the first page by the next one through every page, and back by the previous one", function()
    if select(2, shell "command -v pandoc") ~= 0 then return pending "pandoc is not installed" end
    made "pages"
    local function neighbour(path, relation)
      local pattern = '<a href="([^"]+)" rel="' .. relation .. '">'
      local target = string.match(content(directory .. "/" .. path), pattern)
      return target and string.gsub(string.match(path, "^(.-)[^/]*$") .. target, "manual/%.%./", "")
    end
    local visited, path = {}, "manual/quick-start.html"
    assert.is_nil((neighbour(path, "prev")))
    while path do
      assert.is_nil(visited[path], path)
      visited[path] = true
      local after = neighbour(path, "next")
      if after then assert.equal(path, (neighbour(after, "prev"))) end
      path = after
    end
    for source in io.popen("cd " .. quote(process.root .. "/doc") .. " && ls *.md manual/*.md"):lines() do
      if source ~= "manual.md" then assert.is_true(visited[(string.gsub(source, "%.md$", ".html"))], source) end
    end
  end)

  it("has an index of every section, whose addresses are those of the pages", function()
    if select(2, shell "command -v pandoc") ~= 0 then return pending "pandoc is not installed" end
    made(directory .. "/index.js")
    local sections = require("cjson").decode((string.gsub(content(directory .. "/index.js"), "^const sections = ", "")))
    local seen = {}
    for _, section in ipairs(sections) do seen[section.url] = section end
    assert.matches("signatures, options, results", seen["manual.html#use"].text, 1, true)
    local page = content(directory .. "/manual/stores.html")
    local count = 0
    for url in pairs(seen) do
      local anchor = string.match(url, "^manual/stores%.html#(.*)$")
      if anchor then
        assert.is_truthy(string.find(page, 'id="' .. anchor .. '"', 1, true), anchor)
        count = count + 1
      end
    end
    assert.is_true(count > 2)
  end)

  it("has all pages at the side in five groups, the contents of the page, and the pages before and after it", function()
    if select(2, shell "command -v pandoc") ~= 0 then return pending "pandoc is not installed" end
    made(directory .. "/manual/calls.html")
    local page = content(directory .. "/manual/calls.html")
    local side = assert(string.match(page, '<nav id="pages".-</nav>'))
    assert.equal(5, select(2, string.gsub(side, "<p>%u", "")))
    assert.matches('<a href="../manual/calls.html" aria-current="page">Calls</a>', side, 1, true)
    assert.equal(1, select(2, string.gsub(side, "aria%-current", "")))
    for path in io.popen("ls " .. quote(process.root) .. "/doc/manual/*.md"):lines() do
      local name = string.match(path, "([^/]+)%.md$")
      assert.matches('href="../manual/' .. name .. '.html"', side, 1, true)
    end
    assert.matches('<a href="#outcomes"', assert(string.match(page, '<details class="contents".-</details>')), 1, true)
    assert.matches('<a href="../manual/client.html" rel="prev">Clients</a>', page, 1, true)
    assert.matches('<a href="../manual/vehicles.html" rel="next">Vehicles</a>', page, 1, true)
  end)

  it("finds by the words of users, guides before references", function()
    if select(2, shell "command -v pandoc") ~= 0 then return pending "pandoc is not installed" end
    local browser = browsers.start()
    if not browser then return pending "no browser is installed" end
    made(string.format("%s/manual.html %s/index.js %s/search.js %s/manual.css", directory, directory, directory, directory))
    for words, wanted in pairs {
      powerwall = "^manual/energy", ["how do I wake my car?"] = "^manual/vehicles",
      ["raspberry pi"] = "^manual/install", price = "^manual/cost",
      login = "^manual/quick%-start%-account", ["home assistant"] = "^manual/[hm][oq]",
      frunk = "^manual/cookbook", plug = "^manual/automation", panels = "^manual/energy",
    } do
      browser:open("file://" .. directory .. "/manual.html?q=" .. string.gsub(words, " ", "%%20"))
      local found = {}
      for i = 1, 3 do
        local url = browser:evaluate("(document.querySelectorAll('#found a')[" .. i - 1 .. "] || { href: '' }).href")
        found[i] = string.sub(url, #"file://" + #directory + 2)
      end
      local hit = false
      for _, url in ipairs(found) do hit = hit or string.find(url, wanted) ~= nil end
      assert.is_true(hit, words .. ": " .. table.concat(found, ", "))
    end
    browser:open("file://" .. directory .. "/manual.html?q=xylophone")
    assert.matches("Nothing found", browser:text "#found", 1, true)
    browser:close()
  end)
end)
