-- site:time_of_use_settings: checks the tariff, skips the call when nothing would change, and reads the setting back on request.
--
-- An invalid tariff is never sent, because the service may accept it and then ignore it, which costs money (doc/protocol.md#tariff-checks).
-- Changes that the service makes (negative prices, buy below sell) are reported in the result.

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

-- With force the content is sent exactly as given, so that a tariff that was read can be restored unchanged.
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

--- Replaces the row's method. A tariff with problems returns nil, err, "invalid" with err.problems. A tariff that is already in force
--- returns { changed = false }, unless force = true. The result lists the service's changes (normalisations).
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
