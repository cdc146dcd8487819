-- Writes fleet(1) to standard output: the pages of `fleet help`, as roff. Run by make install.

local fleet = require "fleet"
local help = require "fleet.cli.help"
local verbs = require "fleet.cli.verbs"

-- Escapes text for roff.
local function escaped(text)
  text = string.gsub(text, "\\", "\\e")
  text = string.gsub(text, "-", "\\-")
  return (string.gsub("\n" .. text, "\n([.'])", "\n\\&%1"):sub(2))
end

local function verbatim(text)
  return ".nf\n" .. escaped((string.gsub(text, "%s+$", ""))) .. "\n.fi\n"
end

local function section(title, text)
  io.write(".SH ", title, "\n", text)
end

local function own_verbs()
  for _, verb in ipairs(verbs.list) do
    io.write(".SS ", escaped(verbs.usage(verb)), "\n", verbatim(help.text(verb)))
  end
end

io.write(string.format('.TH FLEET 1 "" "%s" "User Commands"\n', fleet._VERSION))
section("NAME", "fleet \\- client of a vehicle, energy and account service\n")
section("SYNOPSIS", ".B fleet\n.I VERB\n[\n.I VIN\n|\n.I SITE\n] [\n.I name=value\n\\&...] [\\-\\-\n.I option\n\\&...]\n")
section("DESCRIPTION", verbatim(help.page {}))
section("VERBS", "What is not a call of the service; 'fleet help VERB' explains the calls.\n")
own_verbs()
section("OPTIONS", verbatim(help.page { "flags" }))
section("EXIT STATUS", verbatim(help.page { "statuses" }))
section("FILES", ".TP\n.I $XDG_CONFIG_HOME/fleet/config.json\nThe configuration that 'fleet setup' writes; mode 0600.\n"
  .. ".TP\n.I $XDG_STATE_HOME/fleet\nTokens, sessions and counts, unless a store is named.\n")
