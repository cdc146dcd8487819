-- fleet login: signs a person in, with a browser anywhere.

local core = require "fleet.core"
local options = require "fleet.cli.options"
local scopes = require "fleet.cli.scopes"
local sign_in = require "fleet.cli.sign_in"

local asked = {
  { name = "locale", type = "string", doc = "language of the pages, such as en-US" },
  { name = "prompt", type = "string", doc = "login asks for the password again" },
  { name = "login_hint", type = "string", doc = "the account's e-mail address" },
  { name = "prompt_missing_scopes", type = "boolean", doc = "ask for scopes that were not granted before" },
  { name = "require_requested_scopes", type = "boolean", doc = "all scopes or none" },
  { name = "show_keypair_step", type = "boolean", doc = "end with the pairing of the virtual key" },
}
local paste = { name = "paste", type = "boolean", doc = "the address will be pasted: do not listen on this machine" }

local function run(context, line)
  local pasted = options.given(context.environment, { paste }, line.options).paste
  return sign_in(context, context:client(), options.given(context.environment, asked, line.options), pasted)
end

local function show(out, slots, context)
  local user = slots.user or {}
  local granted = user.scopes and table.concat(user.scopes, " ") or ""
  out:write("signed in; ", granted ~= "" and "granted: " .. granted or "the token does not say what was granted", "\n")
  if not user.not_granted or not user.not_granted[1] then return end
  out:write("not granted: ", table.concat(user.not_granted, " "), ": calls that need one of these are refused. To ask again: ",
    scopes.ask_again(core.context(context:client()).config), "\n")
end

local takes = { paste }
for _, option in ipairs(asked) do takes[#takes + 1] = option end

return {
  {
    name = "login", words = {}, takes = takes, run = run, show = show,
    doc = "Signs in: prints the address to open, and takes the address at which the browser ends from standard input, or from the "
      .. "browser itself when the redirect address is on this machine.",
    details = "All scopes of an owner are asked for unless --scopes or the configuration names them: " .. table.concat(scopes.owner, ", ")
      .. ". At the end it prints which scopes were granted and which were not.",
  },
}
