-- What a signed command says after every fault of the simulator, once. The table stands in the manual; with FLEET_WRITE=1
-- this spec writes it there.

local faults = require "fleet.sim.faults"
local manual_table = require "spec.support.harness.manual_table"
local signed_world = require "spec.support.fixtures.signed_world"

-- What a fault can be like, where it has more than one form.
local FORMS = {
  clock_step = { {}, { seconds = -600 } }, corrupted_tag = { {}, { of = "request" } },
  duplicated = { {}, { of = "request" }, { of = "request", answer = "second" } }, lost = { {}, { of = "request" } },
}

local CALLS = {
  { "set_charge_limit", function(car) return car:set_charge_limit { percent = 64 } end },
  { "honk_horn", function(car) return car:honk_horn() end },
}

local function result(fault, options, call)
  local world = signed_world.new()
  local car = world:car()
  assert(car:flash_lights())
  world:forget()
  world:fault(fault, 1, options)
  local value, err = call[2](car)
  local text = value and "ok" or ("%s, %s"):format(err.kind, err.outcome)
  local count = #world.ran
  world:close()
  return ("%s (%d)"):format(text, count)
end

local function line(fault, form)
  local options, name = { message = "command" }, fault
  for _, key in ipairs { "of", "answer", "seconds" } do
    if form[key] then options[key], name = form[key], ("%s, %s = %s"):format(name, key, tostring(form[key])) end
  end
  return ("| %s | %s | %s |"):format(name, result(fault, options, CALLS[1]), result(fault, options, CALLS[2]))
end

local function matrix()
  local lines = { "| Fault, once | sets a value (done so often) | other |", "|---|---|---|" }
  local elsewhere = { token_error = true }
  for _, fault in ipairs(faults.TELEMETRY) do elsewhere[fault] = true end
  for _, fault in ipairs(faults.names()) do
    for _, form in ipairs(FORMS[fault] or { {} }) do
      if not elsewhere[fault] then lines[#lines + 1] = line(fault, form) end
    end
  end
  return table.concat(lines, "\n") .. "\n"
end

it("the table of signed commands in the manual is what the client does", function()
  local made = matrix()
  assert.equal(made, manual_table.of("doc/manual/simulator-faults.md", "signed matrix", made))
end)
