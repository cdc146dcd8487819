-- fleet help [verb | flags | statuses]

local M = {
  {
    name = "help", usage = "help [VERB | flags | statuses]", local_only = true,
    doc = "Explains the command, one verb, the options or the exit statuses.",
    run = function(context, line)
      context.out:write(require("fleet.cli.help").page(line.words))
    end,
  },
}

return M
