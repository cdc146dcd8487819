-- Makes a client for a program that runs the simulator itself: signed in, with a key that is paired with the account's vehicles.
local control = require "fleet.sim.control"
local core = require "fleet.core"
local errors = require "fleet.util.errors"
local fleet = require "fleet"
local garage = require "fleet.sim.garage"
local tables = require "fleet.util.tables"
local test_browser = require "fleet.sim.test_browser"

local M = {}

-- All clients of a simulator share one key and one store, because they must share the counters of that key.
local function shared(sim)
  if not sim.of_clients then
    sim.of_clients = { key = fleet.key.generate(), store = fleet.store.open "memory", signed_in = {} }
  end
  return sim.of_clients
end

local function all_options(sim, options, email)
  local own = shared(sim)
  local all = tables.copy(garage.app(sim.service.garage), {
    base_url = sim.base_url, auth_url = sim.auth_url, token_url = sim.token_url, key = own.key, store = own.store, account = email,
  })
  tables.add(all, options)
  if options.key == false then all.key = nil end
  return all
end

local function pair(sim, client, email)
  for _, key in ipairs(core.context(client).keys or {}) do
    for _, vehicle in ipairs(sim.service.vehicles) do
      if vehicle:access(email) then control.event(sim.service, "pair_key", vehicle.vin, { public_key = key:public_pem() }) end
    end
  end
end

local function sign_in(sim, client, email, options)
  if options.token then return true end
  local signed_in = shared(sim).signed_in
  if not options.store and signed_in[email] then return true end
  local done, err, kind = test_browser.sign_in(client, { login_hint = email })
  if done and not options.store then signed_in[email] = true end
  return done, err, kind
end

--- See Sim:client.
function M.new(sim, options)
  options = options or {}
  local accounts = sim.service.garage.accounts
  local email = options.account or accounts[1].email
  if not sim.service:account(email) then
    local known = {}
    for i, account in ipairs(accounts) do known[i] = account.email end
    errors.usage("sim:client: %s", errors.unknown("account", tostring(email), known))
  end
  local client, err, kind = fleet.new(all_options(sim, options, email))
  if not client then return nil, err, kind end
  local done
  done, err, kind = sign_in(sim, client, email, options)
  if not done then
    client:close()
    return nil, err, kind
  end
  pair(sim, client, email)
  return client
end

return M
