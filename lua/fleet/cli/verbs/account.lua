-- fleet token info | refresh | keep_alive | logout | business_login | region: the tokens and the region of the account.

local core = require "fleet.core"
local options = require "fleet.cli.options"
local secrets = require "fleet.cli.secrets"
local show = require "fleet.cli.show"
local usage_error = require "fleet.cli.usage_error"

-- ---- token info ----

local times = { expires_at = true, refreshed_at = true, refresh_by = true }

-- Times as people read them; JSON has the seconds.
local function readable(token)
  local copy = {}
  for name, value in pairs(token) do
    copy[name] = times[name] and os.date("!%Y-%m-%dT%H:%M:%SZ", math.floor(value)) or value
  end
  copy.expires_in = nil -- expires_at says it
  return copy
end

-- A missing token is a failure here, as it is for every call.
local function token_info(context)
  local found, err, kind = context:client():token_info()
  if err then return nil, err, kind end
  if next(found) then return found end
  err = core.err { kind = "auth", message = "there is no token" }
  return nil, err, err.kind
end

local function show_tokens(out, tokens)
  local copies = {}
  for name, token in pairs(tokens) do copies[name] = readable(token) end
  show.value(out, copies)
end

-- ---- refresh, keep_alive ----

local whose = {
  name = "auth", type = "string", placeholder = "KIND", choices = { { name = "user" }, { name = "business" } },
  doc = "whose token, by default user",
}

local function given_kind(context, line)
  local given = options.given(context.environment, { whose }, line.options)
  for _, choice in ipairs(whose.choices) do
    if given.auth == nil or choice.name == given.auth then return given.auth end
  end
  usage_error.raise("'--auth' must be user or business")
end

-- The process ends here and would lose a token pair that it could not save. A program gets a warning in that case; the command fails.
local function refresh(context, line)
  local wanted = given_kind(context, line)
  local done, err, kind = context:waiting("refreshing", context:client().refresh, context:client(), { auth = wanted })
  if err then return nil, err, kind or err.kind end
  return { refreshed = done }
end

local function keep_alive(context)
  local client = context:client()
  local done, err, kind = context:waiting("refreshing", client.keep_alive, client)
  if err then return nil, err, kind end
  return { refreshed = done }
end

local function show_refresh(out, value)
  out:write(value.refreshed and "refreshed\n" or "nothing to do: no pair is older than 30 days\n")
end

-- ---- logout ----

local whose_to_forget = {
  name = "auth", type = "string", placeholder = "KIND", choices = { { name = "user" }, { name = "partner" }, { name = "business" } },
  doc = "whose token; by default all of the account's",
}

local function logout(context, line)
  local client = context:client()
  if context.given.token then
    usage_error.raise("there is nothing to remove: the token is given by --token or FLEET_TOKEN, and not stored", { "logout" })
  end
  local kind_of_token = options.given(context.environment, { whose_to_forget }, line.options).auth
  local _, err, kind = context:check(client.logout, client, { auth = kind_of_token })
  if err then return nil, err, kind or err.kind end
  local config = core.context(client).config
  return { signed_out = true, consent_url = config.client_id and client:consent_url {} or nil }
end

local function show_logout(out, value)
  out:write("signed out: the stored tokens are removed; key and configuration stay\n")
  if value.consent_url then out:write("The account still remembers what was granted. To withdraw it: ", value.consent_url, "\n") end
end

-- ---- business_login ----

local auth_code = {
  name = "auth_code", type = "string", secret = true, placeholder = "CODE",
  doc = "the code that the business gets when it consents, good for one token",
}

local function business_login(context, line)
  local client = context:client()
  if not core.context(client).config.scopes then
    usage_error.raise("'business_login' needs --scopes: what the token is for", { "business_login" })
  end
  local environment = context.environment
  local code = options.given(environment, { auth_code }, line.options).auth_code or secrets.find(environment, auth_code, "--auth-code")
  local _, err, kind = context:waiting("signing in", client.business_login, client, { auth_code = code })
  if err then return nil, err, kind or err.kind end
  local tokens
  tokens, err, kind = client:token_info()
  return tokens and tokens.business, err, kind
end

local function show_business(out, business)
  local ends = business.expires_at and os.date("!, until %Y-%m-%dT%H:%M:%SZ", math.floor(business.expires_at)) or ""
  out:write("signed in for the business", ends, "; the code is used up: the next token needs another\n")
end

-- ---- region ----

local discover = { name = "discover", type = "boolean", doc = "ask in every region of the sign-in, and use the one that answers" }

local function region(context, line)
  local client = context:client()
  if options.given(context.environment, { discover }, line.options).discover then
    return context:waiting("asking every region", client.discover_region, client)
  end
  local found, err, kind = context:waiting("asking for the region", client.user.region, client.user)
  if err then return nil, err, kind end
  if type(found) ~= "table" then found = {} end
  found.base_url_in_use = core.context(client).base_url
  return found
end

return {
  {
    name = "token.info", words = {}, run = token_info, show = show_tokens,
    doc = "Shows scopes, expiry and the last day for a refresh of the stored tokens, never the tokens themselves.",
  },
  {
    name = "refresh", words = {}, takes = { whose }, run = refresh, show = show_refresh,
    doc = "Exchanges the refresh token now. Calls do so by themselves when it is due.",
  },
  {
    name = "keep_alive", words = {}, run = keep_alive, show = show_refresh,
    doc = "Refreshes tokens older than 30 days; run it monthly, because a token that is unused for three months expires.",
  },
  {
    name = "logout", words = {}, takes = { whose_to_forget }, run = logout, show = show_logout,
    doc = "Removes the account's tokens from the store.",
    details = "The account still remembers what was granted: the printed address withdraws it.",
  },
  {
    name = "business_login", words = {}, takes = { auth_code }, run = business_login, show = show_business,
    doc = "Gets a business token for the code of the business's consent, with the scopes of --scopes or the configuration.",
    details = "The code comes from Tesla's page on which the business consents. It is not kept: when the token has ended, after "
      .. "hours, the business hands out another.",
  },
  {
    name = "region", words = {}, takes = { discover }, run = region,
    doc = "Asks which region the account lives in, and shows the address that is used.",
  },
}
