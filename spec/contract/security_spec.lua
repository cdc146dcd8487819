-- doc/security.md: every threat has an answer, a rule that the page states and a spec that exists.

local content = require("spec.support.harness.files").find

-- The rows of all tables with four columns, and the rules of the page as a set.
local function read(text)
  local rows, rules = {}, {}
  for rule in text:gmatch("\n%- %*%*(R%d)%*%* ") do rules[rule] = true end
  for line in text:gmatch("[^\n]+") do
    local threat, answer, rule, specs = line:match("^| (.-) | (.-) | (.-) | (.-) |$")
    if threat and threat ~= "Threat" then rows[#rows + 1] = { threat = threat, answer = answer, rule = rule, specs = specs } end
  end
  return rows, rules
end

local function problem(row, rules)
  if row.answer == "" then return "no answer" end
  if not rules[row.rule] then return "no such rule: " .. row.rule end
  local count = 0
  for path in row.specs:gmatch("`([^`]+)`") do
    count = count + 1
    if not path:find("^spec/[%w_/]+_spec%.lua$") or not (content(path) or ""):find("%f[%w]it%(") then return "no such spec: " .. path end
  end
  if count == 0 then return "no spec" end
end

describe("the page on security", function()
  local rows, rules = read(content("doc/security.md"))

  for _, row in ipairs(rows) do
    it("answers: " .. row.threat, function() assert.is_nil(problem(row, rules)) end)
  end

  it("has many threats, and nine rules", function()
    assert.is_true(#rows >= 30)
    for i = 1, 9 do assert.is_true(rules["R" .. i]) end
  end)

  it("is linked from the README and the manual", function()
    assert.matches("](doc/security.md)", content("README.md"), 1, true)
    assert.matches("](security.md)", content("doc/manual.md"), 1, true)
  end)

  it("would be found out", function()
    local row = { answer = "a", rule = "R1", specs = "`spec/none_spec.lua`" }
    assert.equal("no such spec: spec/none_spec.lua", problem(row, rules))
    assert.equal("no spec", problem({ answer = "a", rule = "R1", specs = "" }, rules))
    assert.equal("no such rule: R10", problem({ answer = "a", rule = "R10", specs = "`spec/promise/at_most_once_spec.lua`" }, rules))
    assert.equal("no answer", problem({ answer = "" }, rules))
  end)
end)
