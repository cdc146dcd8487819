-- fleet login: signs a person in, with a browser anywhere.

local callback = require "fleet.cli.callback"
local core = require "fleet.core"
local mistake = require "fleet.cli.mistake"
local options = require "fleet.cli.options"
local words = require "fleet.cli.words"

local asked = {
  { name = "locale", type = "string", doc = "language of the pages, such as en-US" },
  { name = "prompt", type = "string", doc = "login asks for the password again" },
  { name = "login_hint", type = "string", doc = "the account's e-mail address" },
  { name = "prompt_missing_scopes", type = "boolean", doc = "ask for scopes that were not granted before" },
  { name = "require_requested_scopes", type = "boolean", doc = "all scopes or none" },
  { name = "show_keypair_step", type = "boolean", doc = "end with the pairing of the virtual key" },
}
local paste = { name = "paste", type = "boolean", doc = "the address will be pasted: do not listen on this machine" }

local function check(given)
  for _, name in ipairs { "client_id", "redirect_uri" } do
    if not given[name] then mistake.raise("'login' needs " .. words.written(name), { "login" }) end
  end
end

local function invite(context, url, listener, wanted)
  local out = context.json and context.world.stderr or context.out
  if wanted and not listener then
    context.world.stderr:write("fleet: nothing can listen at the redirect address: another program may use its port\n")
  end
  out:write(listener and "Waiting for the browser on this machine. With a browser elsewhere, paste here the address at which it ends.\n"
    or "Paste here the address at which the browser ends, or the code in it.\n")
  out:write("Open this address to sign in: ", url, "\n")
  out:flush()
end

-- An address that is not of this sign-in does not end it: whoever knows the port can send one.
local function taker(client, pending, result)
  return function(address)
    local done, err, kind = client:authorize(address, pending)
    local foreign = not done and (err.reason == "state_mismatch" or err.reason == "state_missing")
    result.done, result.err, result.kind = done, err, kind
    if foreign then return nil end
    return done == true and err == nil
  end
end

local function no_answer()
  local err = core.err { kind = "timeout", message = "login: no callback address came; run it again and paste the address" }
  return nil, err, err.kind
end

local function run(context, line)
  local client, loop = context:client(), require("fleet").loop
  local given = options.given(context.world, asked, line.options)
  local pasted = options.given(context.world, { paste }, line.options).paste
  local config = core.account(client).config
  check(config)
  local url, pending, kind = context:check(client.authorize_url, client, given)
  if not url then return nil, pending, kind end
  local result = {}
  local take = taker(client, pending, result)
  local listener = not pasted and callback.listen(loop, config.redirect_uri, take) or nil
  invite(context, url, listener, not pasted and callback.parts(config.redirect_uri) ~= nil)
  local came = callback.wait(context.world, loop, listener, take)
  if result.err then return nil, result.err, result.kind or result.err.kind end
  if not came then return no_answer() end
  return client:token_info()
end

local function show(out, slots)
  local user = slots.user or {}
  out:write("signed in", user.scopes and #user.scopes > 0 and "; granted: " .. table.concat(user.scopes, " ") or "", "\n")
end

local takes = { paste }
for _, option in ipairs(asked) do takes[#takes + 1] = option end

return {
  {
    name = "login", words = {}, takes = takes, run = run, show = show,
    doc = "Signs in: prints the address to open, and takes the address at which the browser ends from standard input, or from the "
      .. "browser itself when the redirect address is on this machine.",
  },
}
