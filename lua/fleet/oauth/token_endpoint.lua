-- One call to the token address: the form, the reply, and what a failure says about the token that was sent.
-- doc/protocol.md#token-requests

local core = require "fleet.core"
local errors = require "fleet.util.errors"
local members = require "fleet.util.tables"
local redact = require "fleet.call.redact"

local M = {}

local clock_was_set = 1672531200 -- 2023: an earlier wall clock was never set

-- failure of the transport -> kind, what it was
local transport = {
  resolve = { "network", "its name has no address" },
  connect = { "network", "it could not be reached" },
  tls = { "tls", "its certificate could not be verified" },
  timeout = { "timeout", "it did not answer in time" },
  empty = { "network", "the connection ended without an answer" },
  cut = { "protocol", "the answer ended early" },
  too_large = { "protocol", "the answer was too large" },
  cancelled = { "cancelled", "the exchange was cancelled" },
  ["local"] = { "service", "the request could not be started" },
}

-- status -> kind, where the reply carries no reason that the rows know
local function kind_of_status(status)
  if status == 429 then return "rate_limited" end
  if status == 403 then return "forbidden" end
  if status >= 400 and status < 500 then return "invalid" end
  return "service"
end

--- Whether the application has no secret (doc/protocol.md#token-kinds).
function M.open_source(account)
  return account.config.client_secret == nil
end

--- Where token calls of this application go: open-source apps at the authorization server, the others at a
--- host of their own.
function M.address(account)
  return (M.open_source(account) and account.auth_url or account.token_url) .. account.vendor.token_path
end

-- The outcome is that of the call that needed the token.
local function failure(kind, message, more)
  return errors.failure(kind, message, members.copy(more, { outcome = "not_sent" }))
end
M.failure = failure

local function transport_failure(account, answer)
  local row = transport[answer.failure] or transport["local"]
  local text = "no token: the authorization server: " .. row[2]
  if answer.message and answer.message ~= "" then text = text .. " (" .. answer.message .. ")" end
  local _, wall = account.clock()
  local never_set = row[1] == "tls" and wall < clock_was_set
  if never_set then text = text .. "; the clock of this machine was never set" end
  return failure(row[1], text)
end

local secret = {
  client_secret = true, refresh_token = true, code = true, code_verifier = true, auth_code = true,
}

-- The server's own words, without what was sent.
local function words(text, fields)
  local secrets = {}
  for _, field in ipairs(fields) do
    if secret[field[1]] and field[2] then secrets[#secrets + 1] = field[2] end
  end
  return string.sub(string.gsub(redact.hide(text, secrets), "%c", " "), 1, 200)
end

local function description(reply, fields)
  local text = reply.error_description
  return type(text) == "string" and text ~= "" and ": " .. words(text, fields) or ""
end

local function retry_after(headers)
  return tonumber(string.match("\n" .. (headers or ""), "\nretry%-after:%s*(%d+)"))
end

local function refusal(answer, reply, fields)
  local reason = type(reply) == "table" and type(reply.error) == "string" and reply.error or nil
  local kind, advice
  if reason then kind, advice = core.reason(reason) end
  kind = kind or kind_of_status(answer.status)
reason = reason and words(reason, fields)
  local text = "no token: status " .. answer.status
  if reason then text = "no token: " .. reason .. description(reply, fields) end
  if advice then text = text .. ". " .. advice end
  local more = { reason = reason, status = answer.status, retry_after = retry_after(answer.headers) }
  return failure(kind, text, more)
end

local function has_token(reply)
  return type(reply) == "table" and type(reply.access_token) == "string" and #reply.access_token > 0
end

-- These two, said about the newest token, are the only words that ask for a new sign-in (doc/protocol.md#token-errors).
local definite = { login_required = true, invalid_grant = true }

--- Sends the fields, a list of { name, value }, and returns the reply's table with its access_token; or
--- nil, err, kind and what is known of the code or refresh token that was sent: "refused" (it is no longer
--- good), "unanswered" (it may have been used: the same may be sent once more), "kept" (it is as good as
--- before).
function M.send(account, slot, fields, seconds)
  local answer, err, kind = account.send({
    method = "POST", url = M.address(account), slot = slot, body = core.oauth_form(fields),
    headers = { "Content-Type: application/x-www-form-urlencoded", "Accept: application/json" },
  }, seconds)
  if not answer then return nil, err, kind, "kept" end
  if answer.failure then
    local verdict = answer.sent == false and "kept" or "unanswered"
    local _, transport_err, transport_kind = transport_failure(account, answer)
    return nil, transport_err, transport_kind, verdict
  end
  local reply = core.json_decode(answer.body or "")
  if answer.status >= 200 and answer.status < 300 then
    if has_token(reply) then return reply end
    local _, protocol_err = failure("protocol", "no token: the server's reply cannot be read", { status = answer.status })
    return nil, protocol_err, "protocol", "unanswered"
  end
  local _, refused_err, refused_kind = refusal(answer, reply, fields)
  return nil, refused_err, refused_kind, definite[refused_err.reason] and "refused" or "kept"
end

return M
