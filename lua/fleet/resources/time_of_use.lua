-- site:time_of_use_settings: checked before it is sent, not sent when nothing would change, read back on request.
--
-- People lose money with a tariff that was accepted and then ignored, so that nothing invalid leaves (doc/protocol.md#tariff-checks).
-- What the service changes on arrival (negative prices, buy below sell) is told in the result, never silent.

local core = require "fleet.core"
local errors = require "fleet.util.errors"
local run = require "fleet.call"
local tariff = require "fleet.tariff"
local tasks = require "fleet.async.task"

local M = {}

local first_pause, longest_pause = 1, 8

local function given(params)
  if type(params) == "table" and params.tariff_content_v2 ~= nil and not tariff.is(params) then return params.tariff_content_v2 end
  return params
end

-- A currency that the app is not known to show is sent when the caller insists.
local function read(value, options)
  if tariff.is(value) then return value end
  return tariff.new(value, { any_currency = type(options) == "table" and options.force or nil })
end

local function dressed(site, row, err)
  local _, _, id = core.account(site)
  err.site, err.request, err.outcome = id, row.verb .. " " .. row.path, err.outcome or "not_sent"
  return nil, err, err.kind
end

-- The tariff in force as the service holds it, or nil when it holds none that can be read.
local function in_force(site)
  local info, err, kind = site:site_info()
  if err then return nil, err, kind end
  local stored = info.tariff_content_v2
  if type(stored) ~= "table" or next(stored) == nil then return false end
  return tariff.new(stored, { any_currency = true }) or false
end

-- Whether what is in force is ours, as it was sent or as the service changes it on arrival: which of the two it stores is
-- not known.
local function same(stored, wanted)
  if not stored then return false end
  return wanted == stored or wanted:normalised() == stored
end

local function mismatch(site, row)
  local text = row.name .. ": the service accepted the tariff, but reading it back does not show it"
  return dressed(site, row, errors.new("conflict", text, { outcome = "unknown" }))
end

local function read_back(site, row, wanted, value, timeout)
  local deadline, pause = tasks.now() + timeout, first_pause
  while true do
    local stored, err, kind = in_force(site)
    if err then return nil, err, kind end
    if same(stored, wanted) then return value end
    if tasks.now() + pause > deadline then return mismatch(site, row) end
    tasks.sleep(pause)
    pause = math.min(pause * 2, longest_pause)
  end
end

local function send(site, row, request, wanted)
  local value, err, kind = run.perform(row, request, site)
  if err then return nil, err, kind end
  value.normalisations = wanted:report().normalisations
  if not request:flag("read_back") then return value end
  local account = core.account(site)
  return read_back(site, row, wanted, value, request:timeout() or account.config.timeout)
end

--- The method of the row. A tariff with problems returns nil, err, "invalid" with err.problems; one that is in force
--- already returns { changed = false }, unless force = true. The result tells what the service changes (normalisations).
function M.method(row)
  return function(site, params, ...)
    if type(params) ~= "table" then errors.usage(row.method .. ": a tariff is needed, got " .. type(params)) end
    local wanted, err = read(given(params), (...))
    if not wanted then return dressed(site, row, err) end
    local request = core.plan(row.pointer, site, wanted, ...)
    if not request:flag("force") then
      local stored, read_err, kind = in_force(site)
      if read_err then return nil, read_err, kind end
      if same(stored, wanted) then return { changed = false, normalisations = wanted:report().normalisations } end
    end
    return send(site, row, request, wanted)
  end
end

return M
