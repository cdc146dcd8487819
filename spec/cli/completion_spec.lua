-- The Tab key in bash, zsh and fish: the same words in each, and those are the ones that help shows.

local files = require "spec.support.harness.files"
local process = require "spec.support.harness.process"
local sims = require "spec.support.servers.sim_process"

local quote = process.quote
local clean = "env -u LD_PRELOAD "
local directory

setup(function()
  directory = process.temporary("completion")
  for _, shell in ipairs { "bash", "zsh", "fish" } do
    process.execute(sims.fleet .. " completion " .. shell .. " >" .. quote(directory .. "/" .. shell))
  end
end)
teardown(function() process.execute("rm -r " .. quote(directory)) end)

local function sorted(text)
  local list = {}
  for word in string.gmatch(text, "%S+") do list[#list + 1] = word end
  table.sort(list)
  return table.concat(list, " ")
end

-- How each shell completes a line whose last word is being typed; the completion of values is shortened to the values.
local complete = {}

function complete.bash(line)
  local words = string.gsub(line, "=", " = ") -- as readline splits it
  if string.find(line, "%s$") then words = words .. "''" end
  local script = ". " .. quote(directory .. "/bash") .. "; COMP_WORDS=(" .. words
    .. "); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); compopt() { :; }; _fleet; echo ${COMPREPLY[@]}"
  return sorted((sims.shell(clean .. "bash -c " .. quote(script))))
end

function complete.zsh(line)
  local stub = [=[
compdef() { :; }
compadd() {
  while [[ $1 == -* && $1 != -- ]]; do [[ $1 == -S ]] && shift; shift; done
  shift
  for word in "$@"; do [[ $word == $PREFIX* ]] && print -r -- $word; done
}
_files() { :; }
]=]
  local script = stub .. ". " .. quote(directory .. "/zsh") .. "\nwords=(" .. line .. (string.find(line, "%s$") and "''" or "")
    .. ") CURRENT=$#words PREFIX=$words[-1]\n_fleet"
  local path = files.write(directory .. "/script", script)
  return sorted((string.gsub((sims.shell(clean .. "zsh -f " .. quote(path))), "[%w_]+=(%S+)", "%1")))
end

function complete.fish(line)
  local script = "source " .. directory .. "/fish; complete -C " .. quote(line)
  local out = sims.shell("HOME=" .. quote(directory) .. " " .. clean .. "fish -c " .. quote(script))
  return sorted((string.gsub(out, "[%w_]+=(%S+)", "%1")))
end

local lines = {
  { "fleet honk", "honk_horn" },
  { "fleet charge_port", "charge_port_door_close charge_port_door_open" },
  { "fleet chargi", "charging" },
  { "fleet charging hi", "history" },
  { "fleet charging history pageN", "pageNo=" },
  { "fleet set_charge_limit VIN perc", "percent=" },
  { "fleet actuate_trunk VIN which_trunk=", "front rear" },
  { "fleet actuate_trunk VIN which_trunk=f", "front" },
  { "fleet vehicles --t", "--timeout --token --token-url" },
  { "fleet vehicles --wak", "" }, -- means nothing for it, and help does not show it
  { "fleet honk_horn VIN --wak", "--wake" },
  { "fleet vehicles --region ", "cn eu na" },
  { "fleet run --dr", "--dry-run" },
  { "fleet version --tok", "" },
  { "fleet help sta", "status statuses" },
  { "fleet sim event unp", "unplug" },
  { "fleet sim fault execut", "executed_503" },
  { "fleet explain key_not_p", "key_not_paired" },
  { "fleet explain executed", "" },
  { "fleet completion ", "bash fish zsh" },
  { "fleet tariff ", "check diff plot show" },
}

for _, shell in ipairs { "bash", "zsh", "fish" } do
  describe("completion in " .. shell, function()
    local there = os.execute("command -v " .. shell .. " >/dev/null 2>&1")
    for _, line in ipairs(lines) do
      local name = "of '" .. line[1] .. "'"
      if there then
        it(name, function() assert.equal(line[2], complete[shell](line[1])) end)
      else
        pending(name .. " (no " .. shell .. " here)")
      end
    end
  end)
end

describe("the script", function()
  it("offers the names that the last list of vehicles has left, behind verbs of a vehicle", function()
    local names = require "fleet.cli.names"
    names.remember({ getenv = function(name) return name == "XDG_CACHE_HOME" and directory or nil end }, {
      { display_name = "Blue", vin = "5YJ3E1EA7KF000001" }, { display_name = "Model $(x) Y", vin = "5YJ3E1EA7KF000002" },
      { vin = "5YJ3E1EA7KF000003" }, { display_name = "a b" }, "no record",
    })
    clean = "env -u LD_PRELOAD XDG_CACHE_HOME=" .. quote(directory) .. " "
    for _, shell in ipairs { "bash", "zsh", "fish" } do
      if os.execute("command -v " .. shell .. " >/dev/null 2>&1") then
        assert.equal("Blue", complete[shell]("fleet honk_horn Bl"), shell)
        assert.equal("000002 000003", complete[shell]("fleet wake 0"), shell)
        assert.equal("", complete[shell]("fleet live_status Bl"), shell) -- a site's verb
      end
    end
    clean = "env -u LD_PRELOAD "
  end)

  it("of another shell is refused", function()
    local _, status = sims.shell(sims.fleet .. " completion tcsh 2>/dev/null")
    assert.equal(2, status)
  end)

  it("offers every verb, parameter and option that help shows", function()
    local help = require "fleet.cli.help"
    local completion, verbs = require "fleet.cli.completion", require "fleet.cli.verbs"
    local shared = completion.shared()
    for name, verb in pairs(verbs.by_name) do
      local after, offered = completion.after(verb), {}
      for _, list in ipairs { after.words, shared[after.shared].words } do
        for _, word in ipairs(list) do offered[word] = true end
      end
      for option in string.gmatch(help.text(verb), "\n  (%-%-[%l%-]+)") do assert.is_true(offered[option], name .. " " .. option) end
      if verb.row then
        local _, named = require("fleet.cli.row_verb").parameters(verb.row)
        for _, param in ipairs(named) do assert.is_true(offered[param.name .. "="], name .. " " .. param.name) end
      end
    end
  end)
end)
