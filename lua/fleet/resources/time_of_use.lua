-- site:time_of_use_settings: checked before it is sent, not sent when nothing would change, read back on request.
--
-- People lose money with a tariff that was accepted and then ignored, so that nothing invalid leaves (doc/protocol.md#tariff-checks).
-- What the service changes on arrival (negative prices, buy below sell) is reported in the result, never silent.

local confirm = require "fleet.confirm"
local core = require "fleet.core"
local errors = require "fleet.util.errors"
local rows = require "fleet.call.rows"
local tariff = require "fleet.tariff"

local M = {}

local row = rows.by_name.time_of_use_settings

local function given(params)
  if type(params) == "table" and params.tariff_content_v2 ~= nil and not tariff.is(params) then return params.tariff_content_v2 end
  return params
end

-- With force the content goes as it was given, whatever it is: a tariff that was read comes back exactly so.
local function read(value, options)
  if tariff.is(value) then return value end
  if type(options) == "table" and options.force == true then return (tariff.content_of(value)) end
  return tariff.new(value)
end

local function refused(site, err)
  err.site, err.request, err.outcome = site.id, row.verb .. " " .. row.path, "not_sent"
  return nil, err, err.kind
end

local function in_force_already(site)
  return refused(site, errors.new("refused", row.name .. ": the site holds this tariff already"))
end

--- Takes the place of the row's method. A tariff with problems returns nil, err, "invalid" with err.problems; one that is in
--- force already returns { changed = false }, unless force = true. The result tells what the service changes (normalisations).
function M.set(_, site, params, ...)
  if type(params) ~= "table" then errors.usage("%s: a tariff is needed, got %s", row.method, type(params)) end
  local wanted, err = read(given(params), (...))
  if not wanted then
    err.message = err.message .. ". force = true sends it all the same"
    return refused(site, err)
  end
  local request = core.plan(row.pointer, site, wanted, ...)
  local normalisations = tariff.is(wanted) and wanted:report().normalisations or nil
  if not request:flag("force") then
    local info, look_err, kind = site:site_info()
    if look_err then return nil, look_err, kind end
    if tariff.stored_as(info.tariff_content_v2, wanted) then
      if request:flag("strict") then return in_force_already(site) end
      return { changed = false, normalisations = normalisations }
    end
  end
  local value, send_err, kind = confirm.set(row, request, site)
  if value then value.normalisations = normalisations end
  return value, send_err, kind
end

return M
