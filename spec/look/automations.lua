-- Rehearses the month of every automation's example, draws it, and writes what was measured into its page: part of `make look`.

local measured = require "spec.support.harness.measured"

local read = require("spec.support.harness.files").read

local write = require("spec.support.harness.files").write

local folder = ...

for _, name in ipairs(measured.names) do
  local month, text = measured.of(name)
  local title = string.match(read("examples/automation_" .. name .. ".lua"), 'title = "(.-)"')
  local picture = month:svg { title = title }
  write("doc/manual/pictures/automation-" .. name .. ".svg", picture)
  if folder then
    write(folder .. "/automation-" .. name .. ".svg", picture)
    write(folder .. "/automation-" .. name .. "-dark.svg",
      (string.gsub(string.gsub(picture, "@media %(prefers%-color%-scheme: dark%) {", ""), "\n}\n", "\n")))
  end
  local path = "doc/manual/automation-" .. name .. ".md"
  write(path, measured.put(read(path), text))
end
