-- Paid charging: the entries of the garage, completed to the documented record (doc/protocol.md#charging-records), and their invoices.
local calendar = require("fleet.sim.calendar")
local garage = require("fleet.sim.garage")
local json = require("fleet.sim.json")
local pdf = require("fleet.sim.pdf")

local M = {}

local function fee(number)
  return {
    sessionFeeId = number, feeType = "CHARGING", currencyCode = "EUR", pricingType = "PAYMENT", rateBase = 0.4, rateTier1 = 0,
    rateTier2 = 0, rateTier3 = json.null, rateTier4 = json.null, usageBase = 30, usageTier1 = 0, usageTier2 = 0,
    usageTier3 = json.null, usageTier4 = json.null, totalBase = 12, totalTier1 = 0, totalTier2 = 0, totalTier3 = 0,
    totalTier4 = 0, totalDue = 12, netDue = 12, uom = "kwh", isPaid = true, status = "PAID",
  }
end

-- The id of an entry's invoice, the same in every run.
local function content_id(index)
  return ("7f2c4a10-5b1e-4b43-9f5d-%012d"):format(index)
end

local function complete(entry, index, now)
  local stop = calendar.text(math.floor(now - index * 86400 + 1800))
  local full = {
    sessionId = 1000 + index, vin = entry.vin, siteLocationName = "Example Town, DE",
    chargeStartDateTime = calendar.text(math.floor(now - index * 86400)), chargeStopDateTime = stop, unlatchDateTime = stop,
    countryCode = "DE", fees = json.list({ fee(2000 + index) }), billingType = "IMMEDIATE",
    invoices = json.list({ { fileName = ("INVOICE-%04d.pdf"):format(index), contentId = content_id(index),
      invoiceType = "IMMEDIATE" } }),
    vehicleMakeType = "TSLA",
  }
  for name, value in pairs(garage.copy(entry)) do full[name] = value end
  return full
end

-- load(service) → the entries in the order of the garage, which lists the newest first.
function M.load(service)
  local list = {}
  for i, entry in ipairs(service.garage.charging_history or {}) do list[i] = complete(entry, i, service:now()) end
  return list
end

local function total(entry)
  local sum, currency = 0, "EUR"
  for _, one in ipairs(entry.fees) do sum, currency = sum + (one.totalDue or 0), one.currencyCode or currency end
  return sum, currency
end

function M.find_invoice(list, id)
  for _, entry in ipairs(list) do
    for _, invoice in ipairs(entry.invoices) do
      if invoice.contentId == id then return entry, invoice end
    end
  end
  return nil
end

function M.invoice(entry, invoice)
  local due, currency = total(entry)
  local lines = { "CHARGING INVOICE (simulated)", "", "File      " .. invoice.fileName, "Session   " .. tostring(entry.sessionId),
    "Vehicle   " .. entry.vin, "Site      " .. entry.siteLocationName, "Start     " .. entry.chargeStartDateTime,
    "Stop      " .. entry.chargeStopDateTime, "" }
  for _, one in ipairs(entry.fees) do
    lines[#lines + 1] = ("%-10s %8.2f %-4s x %6.3f = %8.2f %s"):format(
      one.feeType, one.usageBase, one.uom, one.rateBase, one.totalDue, one.currencyCode)
  end
  lines[#lines + 1] = ("Total %41.2f %s"):format(due, currency)
  return pdf.make(lines)
end

-- An entry as a session of a business account (doc/protocol.md#charging-records).
function M.session(entry, model)
  local due, currency = total(entry)
  local one = entry.fees[1] or {}
  local net = math.floor(due / 1.19 * 100 + 0.5) / 100
  local from, to = calendar.parse(entry.chargeStartDateTime), calendar.parse(entry.chargeStopDateTime)
  return {
    id = tostring(entry.sessionId), vin = entry.vin, model = model or json.null, start_date_time = entry.chargeStartDateTime,
    stop_date_time = entry.chargeStopDateTime, total_energy = one.usageBase or 0,
    total_time = from and to and (to - from) / 3600 or 0,
    total_cost = { excl_vat = net, incl_vat = due, vat = math.floor((due - net) * 100 + 0.5) / 100 },
    location = { country = entry.countryCode, name = entry.siteLocationName },
    charging_periods = json.list({ {
      start_date_time = entry.chargeStartDateTime,
      dimensions = json.list({ { type = "ENERGY", volume = one.usageBase or 0 } }),
    } }),
    tariffs = {
      currency = currency,
      elements = json.list({ {
        price_components = json.list({ { type = "ENERGY", price = one.rateBase or 0, step_size = 1 } }), restrictions = json.null,
      } }),
    },
  }
end

return M
