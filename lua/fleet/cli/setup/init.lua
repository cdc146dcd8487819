-- The steps of `fleet setup`. Each step first checks whether it is done already, so that setup can be run again at any time: after hosting
-- the key, after pairing, after a network failure.
--
-- A step returns "done", "skipped" or "todo", a sentence and, for "todo", what to do; or nil, err, kind, which ends setup. What a person
-- must do elsewhere (hosting, pairing) is a "todo" and does not end setup: signing in and reading work without it.

local application = require "fleet.cli.setup.application"
local vehicles = require "fleet.cli.setup.vehicles"
local config_file = require "fleet.cli.config_file"
local core = require "fleet.core"
local findings = require "fleet.registration.findings"
local well_known_key = require "fleet.registration.well_known_key"
local options = require "fleet.cli.options"
local regions = require "fleet.cli.regions"
local scopes = require "fleet.cli.scopes"
local sign_in = require "fleet.cli.sign_in"
local atomic_file = require "fleet.util.atomic_file"

local M = {}

local function is_third_party(s)
  return s.app == "third_party"
end

-- ---- 2: the key, 3: the configuration ----

local function key(s)
  local path = s.options.key or string.gsub(s.path, "[^/]*$", "") .. "fleet-key.pem"
  local loaded, err, kind = core.key.load(path, nil, { insecure_key_mode = s.options.insecure_key_mode })
  local file = not loaded and io.open(path, "rb")
  if file then file:close() end
  if file then return nil, err, kind end
  local state = loaded and "skipped" or "done"
  if not loaded then
    local made
    made, err, kind = core.directory_make((atomic_file.parts(path)))
    if not made then return nil, err, kind end
    loaded = core.key.generate()
    made, err, kind = loaded:save(path)
    if not made then return nil, err, kind end
  end
  s.options.key, s.key = core.real_path(path) or path, { bytes = loaded:public_bytes(), pem = loaded:public_pem() }
  loaded:close()
  return state, s.options.key .. ", fingerprint " .. findings.fingerprint(s.key.bytes)
end

local not_kept = { token = true, log = true, http = true, metrics = true, audit = true }

local function configuration(s)
  local members = {}
  for name, value in pairs(s.options) do
    if not not_kept[name] then members[name] = value end
  end
  local state, err, kind = config_file.save(s.path, members)
  if not state then return nil, err, kind end
  s.client = s.context:client(s.options)
  return state == "kept" and "skipped" or "done", s.path .. " (readable by you only)"
end

-- ---- 4: hosting, 5: registration ----

local function hosting(s)
  if not s.options.domain then return "skipped", "no domain: commands are sent unsigned, which most vehicles refuse" end
  local found = well_known_key.fetch(core.context(s.client), s.options.domain, { url = s.given.key_url })
  if found.bytes == s.key.bytes then return "skipped", "the key is at " .. found.url end
  local why = found.problem or "another key is hosted there"
  return "todo", found.url .. ": " .. why,
    "put this file there, readable without a login, and leave it there: " .. s.key_file
end

-- Writes the public key beside the private one, ready to be copied to the web server.
local function public_file(s)
  local path = string.gsub(s.options.key, "%.pem$", "") .. ".public.pem"
  local before = core.file_read(path, 65536)
  s.key_file = path
  if before == s.key.pem then return true end
  return atomic_file.write(path, s.key.pem)
end

-- Registers in one region unless the right key is registered there. Returns "done" or "skipped", or nil and what is wrong.
local function register_in(s, client)
  local place = require("fleet.region").describe(core.context(client))
  local known = findings.registered(client.partner:public_key { domain = s.options.domain })
  if known.bytes == s.key.bytes then return "skipped", place end
  local done, err = client.partner:register { domain = s.options.domain }
  if not done then return nil, err.message end
  known = findings.registered(client.partner:public_key { domain = s.options.domain })
  if known.bytes == s.key.bytes then return "done", place end
  return nil, known.problem or "in " .. place .. " another key is registered than the one here: host the one here, then run setup again"
end

local function registration(s)
  if not is_third_party(s) then return "skipped", "an open-source app has no partner token: Tesla registers it" end
  if not s.options.domain then return "todo", "no domain: the service wants one before it answers", "run setup again with --domain" end
  local places, problems, state = {}, {}, "skipped"
  for _, name in ipairs(s.regions or { false }) do
    local client = regions.client(s.context, s.options, name or nil)
    local result, text = register_in(s, client)
    client:close()
    local list = result and places or problems
    list[#list + 1] = text
    if result == "done" then state = "done" end
  end
  if problems[1] then return "todo", table.concat(problems, "; "), "see the step before, then run 'fleet setup' again" end
  return state, s.options.domain .. " in " .. table.concat(places, " and ")
end

-- ---- 6: signing in, 7: the region ----

local function login(s)
  local slots, err, kind = s.client:token_info()
  if not slots then return nil, err, kind end
  local user = slots.user
  if user and (user.refresh_by or (user.expires_in or 0) > 60) then return "skipped", "signed in already" end
  local asked = is_third_party(s) and s.options.domain and { show_keypair_step = true } or {}
  slots, err, kind = sign_in(s.context, s.client, asked, s.given.paste)
  if not slots then return nil, err, kind end
  local granted = slots.user and slots.user.scopes or {}
  local missing = slots.user and slots.user.not_granted or {}
  return "done", "signed in" .. (granted[1] and "; granted: " .. table.concat(granted, " ") or "")
    .. (missing[1] and "; not granted: " .. table.concat(missing, " ") .. "; ask again: " .. scopes.ask_again(s.options) or "")
end

local function region(s)
  local found, err = s.client:discover_region()
  if not found then return "todo", err.message, "run 'fleet setup' again when it is mended" end
  return "done", (found.region and found.region .. ", " or "") .. found.base_url
end

--- The steps in their order: name, description, function.
M.steps = {
  { "application", "what Tesla's developer site says of it", application.run },
  { "key", "the private key that signs commands, readable by you only", key },
  { "configuration", "the options of every later call", configuration },
  { "hosting", "the public half of the key where the service and vehicles look for it", function(s)
    local written, err, kind = public_file(s)
    if not written then return nil, err, kind end
    return hosting(s)
  end },
  { "registration", "the domain and its key, in every chosen region", registration },
  { "sign-in", "an owner grants access to the account", login },
  { "region", "where the account lives", region },
  { "first read", "the list of vehicles", vehicles.first_read },
  { "pairing", "the owner adds the key to each vehicle", vehicles.pair },
}

--- Runs the steps. s: context, environment, given (the verb's options), options (of fleet.new, as far as known), path (of the
--- configuration), asking, begin(i, name, doc), finish(step), say(text). Returns the list of { name =, state =, message =, fix = }, or nil,
--- err, kind.
function M.run(s)
  local results = {}
  for i, step in ipairs(M.steps) do
    s.begin(i, step[1], step[2])
    local state, message, fix = step[3](s)
    if not state then return nil, message, fix or message.kind end
    results[i] = { name = step[1], state = state, message = message, fix = fix }
    s.finish(results[i])
  end
  return results
end

--- The options that are known before the first question.
function M.known(environment, texts)
  return options.for_client(environment, texts, true)
end

return M
