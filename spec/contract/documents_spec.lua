-- The written word against the tree: pages, links, examples and commands that are named exist; what stands in
-- a block of Lua or JSON can be read. That the generated files are current is a fact of tables_spec.

local cjson = require "cjson"

local content = require("spec.support.harness.files").find
local parts = require("spec.support.harness.markdown").parts

local function files(pattern)
  local list, pipe = {}, io.popen("ls " .. pattern .. " 2>/dev/null")
  for path in pipe:lines() do list[#list + 1] = path end
  pipe:close()
  return list
end

local pages = files "doc/manual/*.md"

local function all_documents()
  local list = files "*.md doc/*.md"
  for _, path in ipairs(pages) do list[#list + 1] = path end
  return list
end

-- ---- links ----

local function resolved(from, target)
  local path = string.match(from, "^(.*/)[^/]*$") or ""
  path = path .. target
  local count
  repeat path, count = string.gsub(path, "[^/]+/%.%./", "", 1) until count == 0
  return path
end

-- How a heading is named in a link.
local function anchors(text)
  local found = {}
  for heading in string.gmatch("\n" .. text, "\n#+ ([^\n]*)") do
    local name = string.gsub(string.lower(heading), "[^%w%-_ ]", "")
    found[string.gsub(name, " ", "-")] = true
  end
  return found
end

local function links(text)
  local list = {}
  for target in string.gmatch(parts(text), "%]%(([^%s%)]+)%)") do list[#list + 1] = target end
  return list
end

describe("links", function()
  it("lead to files and headings that exist", function()
    local count = 0
    for _, path in ipairs(all_documents()) do
      for _, target in ipairs(links(content(path))) do
        if not string.find(target, "^https?://") then
          local file, anchor = string.match(target, "^([^#]*)#?(.*)$")
          local there = file == "" and path or resolved(path, file)
          local text = content(there) or #files("-d " .. there) > 0 and ""
          assert.is_truthy(text, path .. " leads to " .. target)
          if anchor ~= "" then assert.is_true(anchors(text)[anchor], path .. " leads to " .. target) end
          count = count + 1
        end
      end
    end
    assert.is_true(count > 20)
  end)

  it("and paths in the text are those of files that exist", function()
    for _, path in ipairs(all_documents()) do
      for code in string.gmatch(parts(content(path)), "`([^`\n]+)`") do
        local top = string.match(code, "^([%l]+)/[%w_%-%./]+$")
        if top == "doc" or top == "examples" or top == "src" or top == "lua" or top == "spec" then
          assert.is_true(#files("-d " .. code) > 0, path .. " names " .. code)
        end
      end
    end
  end)

  it("lead from the manual to every page, and to no other", function()
    local linked, present = {}, {}
    for _, target in ipairs(links(content "doc/manual.md")) do
      local name = string.match(target, "^manual/([%w_%-]+%.md)$")
      if name then linked[name] = true end
    end
    for _, path in ipairs(pages) do present[string.match(path, "[^/]+$")] = true end
    assert.are.same(present, linked)
  end)

  it("would be missed", function()
    assert.are.same({ "a.md#b" }, links "see [x](a.md#b)\n```\n[y](c.md)\n```")
    assert.are.equal("doc/reference.md", resolved("doc/manual/calls.md", "../reference.md"))
    assert.is_true(anchors("# A\n\n## Where to add something\n")["where-to-add-something"])
  end)
end)

-- ---- doc/architecture.md ----

describe("doc/architecture.md", function()
  local drawing = require "doc.generate.drawing"

  it("says what every room holds", function()
    local text = content "doc/architecture.md"
    for _, room in ipairs(files "-d src/*/ lua/fleet/*/") do
      room = string.gsub(room, "/$", "")
      assert.is_truthy(string.find(text, "\n| `" .. room .. "` | ", 1, true), room .. " has no line in doc/architecture.md")
    end
  end)

  it("shows the drawing of this tree: run make doc after a change", function()
    assert.is_true(content "doc/architecture.svg" == drawing.svg(), "doc/architecture.svg")
  end)

  local function graph(uses)
    local made = { rooms = {}, uses = {}, notes = {} }
    for room, others in pairs(uses) do
      made.rooms[#made.rooms + 1] = room
      made.uses[room], made.notes[room] = {}, {}
      for _, other in ipairs(others) do made.uses[room][other] = true end
    end
    return made
  end

  local function arrows(picture)
    return select(2, string.gsub(picture, '<path d="M[^"]*"[^>]*/>\n', ""))
  end

  it("has an arrow for every use that no longer way says, and none for the rest", function()
    local empty = graph {}
    local chain = graph { a = { "b" }, b = { "c" }, c = { "d" }, d = {}, e = {}, f = {}, g = {} }
    local shortcut = graph { a = { "b", "c" }, b = { "c" }, c = { "d" }, d = {}, e = {}, f = {}, g = {} }
    assert.are.equal(3, arrows(drawing.svg(chain, empty)))
    assert.are.equal(drawing.svg(chain, empty), drawing.svg(shortcut, empty))
    local other = graph { a = { "b" }, b = { "c" }, c = { "e" }, d = {}, e = {}, f = {}, g = {} }
    assert.is_false(drawing.svg(chain, empty) == drawing.svg(other, empty))
  end)

  it("draws two rooms that use each other on one level, with an arrow of two heads", function()
    local picture = drawing.svg(graph { a = { "b" }, b = { "a" }, c = {}, d = {}, e = {}, f = {}, g = {} }, graph {})
    assert.are.equal(1, arrows(picture))
    assert.is_truthy(string.find(picture, 'class="both"', 1, true))
  end)
end)

-- ---- what comments cite ----

-- Papers that no reader of the tree has, by the ways in which they were cited.
local ABSENT = {
  "interface %d", "interface sections? %d", "service%-facts", "field.problems? %d", "wire.protocol %d", "design %d+%.%d",
  "traps? t%d", "facts %d%.%d", "%f[%w]r1[a-e]%f[%W]", "%f[%w][swf][ip] %d+%.%d",
}

local function absent(text)
  text = string.lower(text)
  for _, pattern in ipairs(ABSENT) do
    local at, last = string.find(text, pattern)
    if at then return string.sub(text, at, last) end
  end
end

-- The sections of doc/protocol.md that a text cites; "#other" right after a first one counts too.
local function cited(text)
  local list = {}
  for first, rest in string.gmatch(text, "doc/protocol%.md#([%l%d%-]+)([^\n]*)") do
    list[#list + 1] = first
    for further in string.gmatch(rest, "[ ,]#([%l][%l%-]+)") do list[#list + 1] = further end
  end
  return list
end

describe("a comment", function()
  local kinds = "-name '*.[ch]' -o -name '*.lua' -o -name '*.tsv' -o -name '*.mk'"
  local sources = files("$(find src lua spec examples doc/generate -type f \\( " .. kinds .. " \\))")

  it("cites sections of doc/protocol.md that exist", function()
    local known, count = anchors(content "doc/protocol.md"), 0
    for _, path in ipairs(sources) do
      if path ~= "spec/contract/documents_spec.lua" then
        for _, anchor in ipairs(cited(content(path))) do
          assert.is_true(known[anchor], path .. " cites doc/protocol.md#" .. anchor)
          count = count + 1
        end
      end
    end
    assert.is_true(count > 100)
  end)

  it("cites no paper that is not in the tree", function()
    for _, path in ipairs(sources) do
      if path ~= "spec/contract/documents_spec.lua" then assert.is_nil(absent(content(path)), path) end
    end
  end)

  it("names only rules that doc/security.md has", function()
    local rules = content "doc/security.md"
    for _, path in ipairs(sources) do
      for rule in string.gmatch(content(path), "%f[%w]rule (R%w+)") do
        assert.is_truthy(string.find(rules, "- **" .. rule .. "**", 1, true), path .. " names rule " .. rule)
      end
    end
  end)

  it("would be found out", function()
    assert.are.equal("field problem 3", absent "(Field problem 36)")
    assert.are.equal("facts 6.2", absent "Facts 6.2: an end")
    assert.are.equal("r1d", absent "see R1d")
    assert.is_nil(absent "RFC 6749 4.1, doc/protocol.md#scopes")
    assert.are.same({ "scopes", "tokens" }, cited "doc/protocol.md#scopes and #tokens.")
  end)
end)

-- ---- prices ----

local FREE = { "%f[%w]free%f[%W]", "%f[%w]nothing%f[%W]", "%f[%w]not billed%f[%W]", "%f[%w]no cost%f[%W]" }

-- The row of `car:info()` or `fleet info`, or nil.
local function row_of(code)
  local by_name = require("fleet.call.rows").by_name
  local name = string.match(code, "^fleet ([%l_]+)")
  if name then return by_name[name] end
  local handle, method = string.match(code, "([%l_]+):([%l_]+)")
  return method and (by_name[method] or by_name[handle .. "." .. method])
end

-- The calls of which the same clause says that they are free, and which are priced.
local function falsely_free(text)
  local found = {}
  text = string.gsub(string.gsub(parts(text), "[.:;]%s", "\n\n"), "[|\n]%s*[-|\n]", "\n\n") .. "\n\n"
  for clause in string.gmatch(text, "(.-)\n\n+") do
    local prose, free = string.gsub(clause, "`[^`]*`", ""), false
    for _, pattern in ipairs(FREE) do free = free or string.find(prose, pattern) ~= nil end
    for code in string.gmatch(free and clause or "", "`([^`]+)`") do
      local row = row_of(code)
      if row and row.billing ~= "free" then found[#found + 1] = code end
    end
  end
  return found
end

describe("a call that a document calls free", function()
  it("is not priced", function()
    for _, path in ipairs(all_documents()) do assert.are.same({}, falsely_free(content(path)), path) end
  end)

  it("would be found out", function()
    assert.are.same({ "car:info()" }, falsely_free "Poll `car:info()`, which is free\nof charge.")
    assert.are.same({ "fleet vehicles" }, falsely_free "| x | `fleet vehicles` costs nothing |")
    assert.are.same({}, falsely_free "`client:products()` is free; `car:info()` costs a data call. `car:wake()` is free to run.")
    assert.are.same({}, falsely_free "| `car:info()` | priced |\n| `site:live_status()` | free |")
  end)
end)

-- Where the options of a constructor are listed, and the page that explains them.
local OPTIONS = {
  { "lua/fleet/sim/init.lua", "OPTIONS", "doc/manual/simulator.md" },
  { "lua/fleet/sim/rehearsal/init.lua", "known", "doc/manual/rehearsal.md" },
  { "lua/fleet/store/redis/address.lua", "known", "doc/manual/many_machines.md" },
}

local function unexplained(source, name, page)
  local list, missing = assert(string.match(source, "\nlocal " .. name .. " = (%b{})"), name), {}
  local options = assert(load("return " .. list))()
  for key, value in pairs(options) do
    local option = type(key) == "string" and key or value
    if not string.find(page, "%f[%w_]" .. option .. "%f[^%w_]") then missing[#missing + 1] = option end
  end
  assert(next(options), name)
  return missing
end

describe("an option of a constructor", function()
  it("is explained on its page", function()
    for _, row in ipairs(OPTIONS) do assert.are.same({}, unexplained(content(row[1]), row[2], content(row[3])), row[1]) end
  end)

  it("would be missed", function()
    assert.are.same({ "port_number" }, unexplained("\nlocal known = { port = 1, port_number = 2 }", "known", "`port`, 0"))
  end)
end)

-- Where a document says what a call of a class costs, in dollars.
local PRICED = {
  { "`data` | ([%d%.]+)", "data" }, { "`command` | ([%d%.]+)", "command" }, { "`wake` | ([%d%.]+)", "wake" },
  { "`specs` | ([%d%.]+)", "specs" },
  { "data call %(([%d%.]+) USD%)", "data" }, { "read of a car costs ([%d%.]+) USD", "data" }, { "a command (0%.%d+), a wake", "command" },
  { "a wake%s+(0%.%d+)", "wake" },
}

local function prices(text)
  local found = {}
  for _, pair in ipairs(PRICED) do
    for dollars in string.gmatch(text, pair[1]) do found[#found + 1] = { class = pair[2], dollars = tonumber(dollars) } end
  end
  return found
end

describe("a price in a document", function()
  local per_dollar = require("fleet.automation.cost").per_dollar

  it("is that of the table", function()
    local count = 0
    for _, path in ipairs { "README.md", "doc/manual/cost.md", "doc/manual/cookbook.md", "doc/manual/migrate.md" } do
      local found = prices(content(path))
      for _, price in ipairs(found) do
        assert.is_true(math.abs(price.dollars * per_dollar[price.class] - 1) < 1e-9, path .. ": " .. price.class)
      end
      assert.is_true(#found > 0, path)
      count = count + #found
    end
    assert.are.equal(9, count)
  end)
end)

-- ---- examples and commands ----

local function targets()
  local found = {}
  local rules = "\n"
  for _, path in ipairs { "Makefile", "spec/checks.mk", "spec/packaging/machines.mk", "doc/packaging/packaging.mk",
    "doc/generate/pages/pages.mk" } do
    rules = rules .. content(path)
  end
  for list in string.gmatch(rules, "\n%.PHONY: ([^\n]*)") do
    for name in string.gmatch(list, "%S+") do found[name] = true end
  end
  return found
end

-- "charging history" or "login": the longest name of a verb at the beginning of the words.
local function is_verb(words)
  local verbs = require "fleet.cli.verbs"
  local one, two = string.match(words, "^(%S+)%s*(%S*)")
  return verbs.by_name[one] ~= nil or verbs.by_name[one .. "." .. two] ~= nil
end

-- What the text tells a reader to type: commands in blocks of shell, and code that begins like one.
local function commands(text)
  local list = {}
  local outside, blocks = parts(text)
  for _, block in ipairs(blocks) do
    if block.language == "sh" then
      for line in string.gmatch(block.text, "[^\n]+") do
        list[#list + 1] = string.gsub(line, "%s+#.*$", "")
      end
    end
  end
  for code in string.gmatch(outside, "`([^`\n]+)`") do
    if string.find(code, "^make %l") or string.find(code, "^fleet %l") then list[#list + 1] = code end
  end
  return list
end

-- Whether a command can be run: true, false, or nil when it is none of ours.
local function runnable(command)
  command = string.gsub(command, "^[%u_]+=%S+ ", "")
  local example = string.match(command, "^lua5%.4 (examples/[%w_]+%.lua)")
  if example then return content(example) ~= nil end
  local target = string.match(command, "^make ([%w_%-]+)")
  if target then return targets()[target] == true end
  local words = string.match(command, "^fleet (%l.*)$")
  if words then return is_verb(words) end
end

describe("a document", function()
  it("names no command that does not exist", function()
    for _, path in ipairs(all_documents()) do
      for _, command in ipairs(commands(content(path))) do
        assert.are_not.equal(false, runnable(command), path .. ": " .. command)
      end
    end
  end)

  it("of the manual names an example or a command that a reader can run", function()
    for _, path in ipairs(pages) do
      local found = false
      for _, command in ipairs(commands(content(path))) do found = found or runnable(command) == true end
      assert.is_true(found, path)
    end
  end)

  it("would be found out", function()
    assert.is_true(runnable "lua5.4 examples/tables.lua")
    assert.is_false(runnable "lua5.4 examples/none.lua")
    assert.is_true(runnable "make test")
    assert.is_false(runnable "make coffee")
    assert.is_true(runnable "fleet charging history page_size=5")
    assert.is_false(runnable "fleet nonsense")
    assert.is_nil(runnable "luarocks --lua-version 5.4 make")
    assert.are.same({ "make a", "fleet b" }, commands("```sh\nmake a   # why\n```\n`fleet b` and `fleet.c`"))
  end)

  it("has blocks of Lua that parse and blocks of JSON that can be read", function()
    local count = 0
    for _, path in ipairs(all_documents()) do
      local _, blocks = parts(content(path))
      for _, block in ipairs(blocks) do
        if block.language == "lua" then
          local chunk, problem = load(block.text, path)
          if not chunk then chunk, problem = load("return " .. block.text, path) end
          assert.is_truthy(chunk, tostring(problem) .. "\n" .. block.text)
          count = count + 1
        elseif block.language == "json" then
          assert.has_no.errors(function() cjson.decode(block.text) end, path)
        end
      end
    end
    assert.is_true(count > 5)
  end)

  it("has no machine's path and no line that only a machine reads", function()
    local parent = string.match(require("spec.support.harness.process").root, "^(/.+/)[^/]+$") -- where this machine keeps the tree
    local markers = { "/home/", parent ~= "/tmp/" and parent or nil } -- examples may name /tmp
    for _, path in ipairs(all_documents()) do
      local text = content(path)
      for _, marker in ipairs(markers) do assert.is_nil(string.find(text, marker, 1, true), path) end
    end
  end)
end)
