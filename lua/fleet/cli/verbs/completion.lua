-- fleet completion: verbs, parameters, choices and options for the Tab key of bash, zsh and fish.

local completion = require "fleet.cli.completion"
local usage_error = require "fleet.cli.usage_error"
local unpack = require("fleet.util.compat").unpack

local bash = [[
# Completion of fleet for bash: put it where bash-completion looks, or eval "$(fleet completion bash)".
_fleet() {
  local current=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} words= choices= name=
%s
  COMPREPLY=()
  case "$COMP_CWORD ${COMP_WORDS[1]} ${COMP_WORDS[2]}" in
%s
    *) return ;;
  esac
  if [ "$current" = = ]; then name=$before current=
  elif [ "$before" = = ]; then name=${COMP_WORDS[COMP_CWORD-2]}
  else case $before in --*) name=$before ;; esac; fi
  if [ -n "$name" ]; then
    local choice left=
    for choice in $choices; do case $choice in "$name="*) left="$left ${choice#*=}" ;; esac; done
    COMPREPLY=($(compgen -W "$left" -- "$current"))
    [ -z "$left" ] || return
    case $before in --*) ;; *) return ;; esac
  fi
  COMPREPLY=($(compgen -W "$words" -- "$current"))
  case ${COMPREPLY[0]} in *=) compopt -o nospace ;; esac
}
complete -o default -F _fleet fleet
]]

local zsh = [==[
#compdef fleet
# Completion of fleet for zsh: put it as _fleet into a directory of $fpath, or eval "$(fleet completion zsh)" after compinit.
_fleet() {
  local offered= choices=
%s
  case "$((CURRENT - 1)) ${words[2]} ${words[3]}" in
%s
    *) _files; return ;;
  esac
  if [[ $PREFIX == *=* ]]; then
    compadd -- ${(M)${=choices}:#${PREFIX%%%%=*}=*}
    return
  fi
  if [[ ${words[CURRENT-1]} == --* ]]; then
    local -a left
    left=(${(M)${=choices}:#${words[CURRENT-1]}=*})
    if (( $#left )); then
      compadd -- ${left#*=}
      return
    fi
  fi
  local -a open closed
  open=(${(M)${=offered}:#*=}) closed=(${${=offered}:#*=})
  compadd -S '' -- $open
  compadd -- $closed
}
if [ "$funcstack[1]" = _fleet ]; then _fleet "$@"; else compdef _fleet fleet; fi
]==]

local fish = [[
# Completion of fleet for fish: put it into ~/.config/fish/completions/fleet.fish, or fleet completion fish | source
function __fleet_words
  set -l before (commandline -opc)
  set -l current (commandline -ct)
  set -l words
  set -l choices
%s
  switch (count $before)" $before[2] $before[3]"
%s
  end
  if string match -q -- '--*' $before[-1]
    set -l left (string match -- "$before[-1]=*" $choices)
    if test (count $left) -gt 0
      string replace -r '^[^=]*=' '' -- $left
      return
    end
  end
  if string match -q -- '*=*' $current
    printf '%%s\n' $choices
  else
    printf '%%s\n' $words
  end
end
complete -c fleet -f -a '(__fleet_words)'
]]

-- How a shell writes a pattern (quoted except for its stars), and one position.
local function quoted_pattern(pattern)
  local parts = {}
  for i, part in ipairs(pattern) do parts[i] = (part == "*" or part == "") and part or '"' .. part .. '"' end
  return table.concat(parts)
end

-- The words, and the variables that hold shared words and the names of vehicles.
local function with_shared(list, place, suffix)
  local parts = { unpack(list) }
  if place.names and suffix == "" then parts[#parts + 1] = "$names" end
  if place.shared then parts[#parts + 1] = "$" .. place.shared .. suffix end
  return table.concat(parts, " ")
end

local function of_sh(variable)
  return function(place)
    return string.format("    %s) %s=\"%s\" choices=\"%s\" ;;", quoted_pattern(place.pattern), variable,
      with_shared(place.words, place, ""), with_shared(place.choices, place, "_choices"))
  end
end

local function of_fish(place)
  return string.format("    case '%s'\n      set words %s\n      set choices %s", table.concat(place.pattern),
    with_shared(place.words, place, ""), with_shared(place.choices, place, "_choices"))
end

-- The shared lists as shell variables. form: writes one variable from a name and words.
local function variables(form)
  local lines, shared = {}, completion.shared()
  for _, name in ipairs { "own", "client" } do
    lines[#lines + 1] = string.format(form, name, table.concat(shared[name].words, " "))
    lines[#lines + 1] = string.format(form, name .. "_choices", table.concat(shared[name].choices, " "))
  end
  return table.concat(lines, "\n")
end

-- The names that `fleet vehicles` has written: fleet.cli.names.
local names_of_sh = '\n  local names="$(cat "${XDG_CACHE_HOME:-$HOME/.cache}/fleet/names" 2>/dev/null)"'
local names_of_fish = "\n  set -l cache $XDG_CACHE_HOME\n  test -n \"$cache\"; or set cache $HOME/.cache\n"
  .. "  set -l names (cat $cache/fleet/names 2>/dev/null)"

local shells = {
  bash = { bash, of_sh "words", '  local %s="%s"', names_of_sh }, zsh = { zsh, of_sh "offered", '  local %s="%s"', names_of_sh },
  fish = { fish, of_fish, "  set -l %s %s", names_of_fish },
}

local function run(_, line)
  local name, extra = line.words[1] or "bash", line.words[2] or line.pairs[1] and line.pairs[1].name .. "="
  if extra then usage_error.raise(string.format("'completion' takes no '%s'", extra), { "completion" }) end
  local shell = shells[name]
  if not shell then usage_error.unknown("shell", name, { "bash", "fish", "zsh" }, { "completion" }) end
  local lines = {}
  for i, place in ipairs(completion.places()) do lines[i] = shell[2](place) end
  return string.format(shell[1], variables(shell[3]) .. shell[4], table.concat(lines, "\n"))
end

return {
  {
    name = "completion", usage = "completion [bash | zsh | fish]", local_only = true, run = run,
    show = function(out, text) out:write(text) end,
    doc = "Prints a script that completes verbs, parameters, choices, options and the names of cars, for bash unless another shell is "
      .. "named.",
    details = "bash  eval \"$(fleet completion)\"\nzsh   eval \"$(fleet completion zsh)\"   after compinit\n"
      .. "fish  fleet completion fish | source\n"
      .. "The names are those that the last `fleet vehicles` showed: pressing Tab makes no call.",
  },
}
