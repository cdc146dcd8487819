-- fleet completion: verbs, parameters and options for the Tab key of bash.

local row_verb = require "fleet.cli.row_verb"
local argv = require "fleet.cli.argv"

-- The verbs are read when the script is written: this file is one of them.
local function all_verbs()
  return require("fleet.cli.verbs").by_name
end

local function sorted(list)
  table.sort(list)
  return table.concat(list, " ")
end

local function names_of(verb)
  local list = {}
  for name in pairs(verb.options) do list[#list + 1] = argv.written(name) end
  if verb.row then
    local _, named = row_verb.parameters(verb.row)
    for _, param in ipairs(named) do list[#list + 1] = param.name .. "=" end
  end
  return sorted(list)
end

-- Verbs that take the same words share a line.
local function cases()
  local of, list = {}, {}
  for name, verb in pairs(all_verbs()) do
    local names = names_of(verb)
    if not of[names] then list[#list + 1] = names end
    of[names] = of[names] or {}
    table.insert(of[names], name)
  end
  table.sort(list)
  local lines = {}
  for _, names in ipairs(list) do
    lines[#lines + 1] = "    " .. string.gsub(sorted(of[names]), " ", "|") .. ') words="' .. names .. '" ;;'
  end
  return table.concat(lines, "\n")
end

local script = [[
# Completion of fleet for bash: put it where bash-completion looks, or eval "$(fleet completion)".
_fleet() {
  local current=${COMP_WORDS[COMP_CWORD]} words
  COMPREPLY=()
  if [ "$COMP_CWORD" = 1 ]; then
    COMPREPLY=($(compgen -W "%s" -- "$current"))
    return
  fi
  case ${COMP_WORDS[1]} in
%s
    *) return ;;
  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
  case ${COMPREPLY[0]} in *=) compopt -o nospace ;; esac
}
complete -o default -F _fleet fleet
]]

local function run()
  local names = {}
  for name in pairs(all_verbs()) do names[#names + 1] = name end
  return string.format(script, sorted(names), cases())
end

return {
  {
    name = "completion", words = {}, local_only = true, run = run,
    show = function(out, text) out:write(text) end,
    doc = "Prints a script that completes verbs, parameters and options in bash: eval \"$(fleet completion)\".",
  },
}
