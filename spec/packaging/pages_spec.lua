-- The manual as HTML: plain pages whose links lead to pages, and a search that needs no server.

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

  it("links pages to pages, also from README, and to nothing that is no page", function()
    if select(2, shell "command -v pandoc") ~= 0 then return pending "pandoc is not installed" end
    made(string.format("%s/manual.html %s/manual/stores.html %s/README.html", directory, directory, directory))
    assert.matches('href="manual/calls.html"', content(directory .. "/manual.html"), 1, true)
    assert.matches('href="manual.html"', content(directory .. "/README.html"), 1, true)
    local page = content(directory .. "/manual/stores.html")
    assert.matches('href="../manual.css"', page, 1, true)
    assert.matches("<title>Stores", page, 1, true)
    for link in string.gmatch(page, '<a href="([^"#:]+)"') do
      local source = string.gsub(string.gsub(link, "%.html$", ".md"), "^", process.root .. "/doc/manual/")
      assert.is_truthy(io.open(source), link)
    end
  end)

  it("has an index of every section, whose addresses are those of the pages", function()
    if select(2, shell "command -v pandoc") ~= 0 then return pending "pandoc is not installed" end
    made(directory .. "/index.js")
    local sections = require("cjson").decode((string.gsub(content(directory .. "/index.js"), "^const sections = ", "")))
    local seen = {}
    for _, section in ipairs(sections) do seen[section.url] = section end
    assert.matches("signatures, options, results", seen["manual.html#the-manual-of-fleet"].text, 1, true)
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
end)
