-- fleet help [VERB | all | flags | statuses]

local M = {
  {
    name = "help", usage = "help [VERB | all | flags | statuses]", local_only = true,
    doc = "Explains the command, one verb, the options or the exit statuses; 'all' lists every verb.",
    run = function(context, line)
      context.out:write(require("fleet.cli.help").page(line.words, context.environment.columns()))
    end,
  },
}

return M
