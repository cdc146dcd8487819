-- fleet help [VERB | all | flags | statuses]

local M = {
  {
    name = "help", usage = "help [VERB | all | flags | statuses]", local_only = true,
    doc = "Explains the command, one verb, the options or the exit statuses; 'all' lists every verb.",
    run = function(context, line)
      if line.pairs[1] then
        require("fleet.cli.usage_error").raise(string.format("'help' takes no '%s='", line.pairs[1].name), { "help" })
      end
      context.out:write(require("fleet.cli.help").page(line.words, context.environment.columns()))
    end,
  },
}

return M
