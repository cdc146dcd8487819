-- fleet locate | navigate | keys | body_controller_state | signed_data | signed_nearby_charging_sites | wait_until: methods of a vehicle's
-- handle that are not rows.

local options = require "fleet.cli.options"
local prices = require "fleet.budget.prices"
local show = require "fleet.cli.show"
local usage_error = require "fleet.cli.usage_error"
local values = require "fleet.cli.values"
local vehicles = require "fleet.cli.vehicles"

local timeout = { name = "timeout", type = "number", doc = "seconds to wait" }
local wake = { name = "wake", type = "boolean", doc = "wake a sleeping vehicle first: " .. prices.text(prices.published.wake) }

local function refuse_pairs(line, name)
  if line.pairs[1] then usage_error.raise(string.format("'%s' takes no '%s='", name, line.pairs[1].name), { name }) end
end

local function car_of(context, word)
  local vin, err, kind = vehicles.find(context, word, { vin_only = true })
  if not vin then return nil, err, kind end
  return context:check(function() return context:client():vehicle(vin) end)
end

-- ---- locate ----

local function locate(context, line)
  refuse_pairs(line, "locate")
  if line.words[2] then usage_error.raise("'locate' takes one vehicle", { "locate" }) end
  local car, err, kind = car_of(context, line.words[1])
  if not car then return nil, err, kind end
  return context:waiting("asking the vehicle", car.locate, car, options.given(context.environment, { timeout }, line.options))
end

local function show_place(out, place)
  out:write(string.format("%.6f, %.6f", place.lat, place.lon))
  if place.heading then out:write(string.format(", heading %.0f degrees", place.heading)) end
  if place.age then out:write(string.format(", %.0f s old", place.age)) end
  out:write("\n")
end

-- ---- navigate ----

-- The address is the last word; without another word, the account's only vehicle is meant.
local function navigate(context, line)
  refuse_pairs(line, "navigate")
  local words = line.words
  if not words[1] or words[3] then
    usage_error.raise("'navigate' takes a vehicle and an address in quotes: fleet navigate 000001 'Main Street 1, Springfield'",
      { "navigate" })
  end
  local car, err, kind = car_of(context, words[2] and words[1])
  if not car then return nil, err, kind end
  local given = options.given(context.environment, { timeout }, line.options)
  return context:waiting("looking for the route", car.navigate, car, words[2] or words[1], given)
end

local function show_route(out, route)
  out:write("going to ", show.clean(tostring(route.destination)))
  if route.minutes then out:write(string.format(", %.0f minutes", route.minutes)) end
  if route.miles then out:write(string.format(", %.1f miles", route.miles)) end
  out:write("\n")
end

-- ---- signed_data ----

local sections = "charge charge_schedule climate closures drive location media media_detail parental_controls "
  .. "preconditioning_schedule software_update tire_pressure"

local function is_section(word)
  return string.find(" " .. sections .. " ", " " .. word .. " ", 1, true) ~= nil
end

-- The first word is the vehicle unless it is the name of a section.
local function signed_data(context, line)
  refuse_pairs(line, "signed_data")
  local wanted, vehicle = {}, nil
  for i, word in ipairs(line.words) do
    if i == 1 and not is_section(word) and not string.find(word, ",", 1, true) then
      vehicle = word
    else
      for name in string.gmatch(word, "[^,]+") do wanted[#wanted + 1] = name end
    end
  end
  if not wanted[1] then usage_error.raise("'signed_data' needs a section: " .. string.gsub(sections, " ", ", "), { "signed_data" }) end
  for _, name in ipairs(wanted) do
    if not is_section(name) then
      local known = {}
      for section in string.gmatch(sections, "%S+") do known[#known + 1] = section end
      usage_error.unknown("section", name, known, { "signed_data" })
    end
  end
  local car, err, kind = car_of(context, vehicle)
  if not car then return nil, err, kind end
  return context:waiting("asking the vehicle", car.signed_data, car, wanted, options.given(context.environment, { timeout }, line.options))
end

-- ---- keys, body_controller_state, signed_nearby_charging_sites ----

-- A verb that reads: it takes a vehicle and options.
local function read_of(name, method)
  return function(context, line)
    refuse_pairs(line, name)
    if line.words[2] then usage_error.raise(string.format("'%s' takes one vehicle", name), { name }) end
    local car, err, kind = car_of(context, line.words[1])
    if not car then return nil, err, kind end
    return context:waiting("asking the vehicle", car[method], car, options.given(context.environment, { timeout, wake }, line.options))
  end
end

local function show_keys(out, list)
  for _, key in ipairs(list) do
    out:write(string.format("%-16s %-14s %s%s\n", key.role, key.form_factor or "", key.public_key or key.id or "?",
      key.own and "  (this client's)" or ""))
  end
end

local function nearby(context, line)
  local wanted = {}
  for _, pair in ipairs(line.pairs) do
    local kind = ({ count = "integer", radius = "integer", detail = "boolean" })[pair.name]
    if not kind then usage_error.unknown("parameter", pair.name, { "count", "radius", "detail" }, { "signed_nearby_charging_sites" }) end
    wanted[pair.name] = values.read(context.environment, { type = kind }, pair.text, pair.name)
  end
  if line.words[2] then usage_error.raise("'signed_nearby_charging_sites' takes one vehicle", { "signed_nearby_charging_sites" }) end
  local car, err, kind = car_of(context, line.words[1])
  if not car then return nil, err, kind end
  local given = options.given(context.environment, { timeout, wake }, line.options)
  return context:check(function()
    return context:waiting("asking the vehicle", car.signed_nearby_charging_sites, car, wanted, given)
  end)
end

-- ---- wait_until ----

local every = { name = "every", type = "number", doc = "seconds between reads, by default 60; they grow to twenty times that" }

local compare = {
  [">="] = function(a, b) return a >= b end, ["<="] = function(a, b) return a <= b end,
  [">"] = function(a, b) return a > b end, ["<"] = function(a, b) return a < b end,
}

-- Parses field=value, or 'field>=80' as one word: the field and the wanted value.
local function condition_of(line)
  local pair = line.pairs[1]
  if pair and not line.pairs[2] then
    local wanted = tonumber(pair.text)
    return pair.name, function(value)
      if type(value) == "number" then return value == wanted end
      return value ~= nil and tostring(value) == pair.text
    end
  end
  for i, word in ipairs(pair and {} or line.words) do
    local field, sign, limit = string.match(word, "^([%a_][%w_.]*)([<>]=?)(.+)$")
    if field and tonumber(limit) then
      table.remove(line.words, i)
      return field, function(value) return type(value) == "number" and compare[sign](value, tonumber(limit)) end
    end
  end
  usage_error.raise("'wait_until' needs field=value, or 'field>=number' in quotes: fleet wait_until 000001 charge_state.charging_state="
    .. "Complete", { "wait_until" })
end

local function wait_until(context, line)
  local field, holds = condition_of(line)
  if line.words[2] then usage_error.raise("'wait_until' takes one vehicle", { "wait_until" }) end
  local given = options.given(context.environment, { timeout, every }, line.options)
  local car, err, kind = car_of(context, line.words[1])
  if not car then return nil, err, kind end
  given.what, given.is = field, holds
  local value
  value, err, kind = context:waiting("waiting for " .. field, car.wait_until, car, given)
  if err then return nil, err, kind end
  return { what = field, value = value }
end

return {
  {
    name = "locate", usage = "locate [VIN]", takes = { timeout }, run = locate, show = show_place,
    doc = "Shows where the car is, by one read for " .. prices.text(prices.published.data) .. ". It never wakes the car.",
  },
  {
    name = "navigate", usage = "navigate [VIN] ADDRESS", takes = { timeout }, run = navigate, show = show_route,
    doc = "Sends an address to the car's navigation, and checks for 30 s (--timeout) whether a route appears.",
  },
  {
    name = "signed_data", usage = "signed_data [VIN] SECTION …", takes = { timeout }, run = signed_data,
    doc = "Reads sections of the car's data over the signed protocol.", details = "Sections: " .. string.gsub(sections, " ", ", ") .. ".",
  },
  {
    name = "keys", usage = "keys [VIN]", takes = { timeout, wake }, run = read_of("keys", "keys"), show = show_keys,
    doc = "Lists the keys that open the car, with their roles: " .. prices.text(prices.published.command) .. ", and as much for each key.",
    details = "`fleet add_key` and `fleet remove_key` change them.",
  },
  {
    name = "body_controller_state", usage = "body_controller_state [VIN]", takes = { timeout, wake },
    run = read_of("body_controller_state", "body_controller_state"),
    doc = "Reads locks, doors, lids and sleep from the car's security computer, over the signed protocol.",
  },
  {
    name = "signed_nearby_charging_sites", usage = "signed_nearby_charging_sites [VIN] [count=N] [radius=MILES] [detail=true]",
    takes = { timeout, wake }, run = nearby, doc = "Superchargers near the car as the car itself knows them, over the signed protocol.",
  },
  {
    name = "wait_until", usage = "wait_until [VIN] FIELD=VALUE", takes = { timeout, every }, run = wait_until,
    show = function(out, value) out:write(value.what, " is ", show.clean(tostring(value.value)), "\n") end,
    doc = "Waits until a field of the car has a value, for an hour or --timeout. Never wakes the car; reads it only while it is awake.",
    details = "fleet wait_until 000001 state=online\nfleet wait_until 000001 charge_state.charging_state=Complete\n"
      .. "fleet wait_until 000001 'charge_state.battery_level>=80' --timeout 7200",
  },
}
