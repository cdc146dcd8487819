-- fleet pair [VIN]: the address where the owner adds the application's key to a vehicle, and whether the key is there.

local core = require "fleet.core"
local prices = require "fleet.budget.prices"
local usage_error = require "fleet.cli.usage_error"
local options = require "fleet.cli.options"
local pairing = require "fleet.cli.pairing"
local show = require "fleet.cli.show"
local vehicles = require "fleet.cli.vehicles"

local wait = { name = "wait", type = "number", placeholder = "SECONDS", doc = "wait until the service says that the key is paired" }

local function run(context, line)
  local given = options.given(context.environment, { wait }, line.options)
  local vin, extra = line.words[1], line.words[2] or line.pairs[1] and line.pairs[1].name .. "="
  if extra then usage_error.raise(string.format("'pair' takes no '%s'", extra), { "pair" }) end
  if given.wait and not vin then usage_error.raise("'pair --wait' needs VIN", { "pair" }) end
  local client = context:client()
  if vin then
    local unfound, why
    vin, unfound, why = vehicles.find(context, vin, { vin_only = true })
    if not vin then return nil, unfound, why end
  end
  if not core.context(client).config.domain then usage_error.raise("'pair' needs --domain: where the public key is hosted", { "pair" }) end
  local result = { url = context:check(client.pairing_url, client, { vin = vin }), vin = vin }
  if not given.wait then return result end
  local out = context.json and context.environment.stderr or context.out
  out:write("The owner opens this address on the phone: ", result.url, "\n")
  out:flush()
  local paired, err, kind = pairing.wait(context, client, vin, given.wait)
  if not paired then return nil, err, kind end
  result.paired = true
  return result
end

local function print_result(out, value)
  if value.paired then return out:write("paired: ", show.clean(value.vin), "\n") end
  out:write("The owner opens this address on the phone that has the Tesla app: ", value.url, "\n")
end

return {
  {
    name = "pair", usage = "pair [VIN]", takes = { wait }, run = run, show = print_result,
    doc = "Prints the address at which an owner adds the application's key to a vehicle; with --wait it looks until the key is there.",
    details = "While it waits it reads fleet_status every few seconds, for " .. prices.text(prices.published.data) .. " each.",
  },
}
