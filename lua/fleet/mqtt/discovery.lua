-- The discovery messages of a car, a site or the account: one retained message per device, as Home Assistant documents it for
-- devices, or one per entity for hosts that know only those.
-- Pure.

local core = require "fleet.core"
local entities = require "fleet.mqtt.entities"
local values = require "fleet.mqtt.values"

local M = {}

-- A request with an id and a time, so that the bridge recognizes its copies and rejects it when it is old.
local template = '{"value": {{ value | tojson }}, "id": "{{ now().timestamp() }}", "at": {{ now().timestamp() }}%s}'

-- If the bridge may wake cars on request, its entities ask for it.
local function wakes(config, thing)
  return thing.kind == "car" and config.wake == true
end

local function template_of(config, thing)
  return string.format(template, wakes(config, thing) and ', "wake": true' or "")
end

-- The payload of an entity whose kind has no template.
local function payload_of(config, thing, value)
  return wakes(config, thing) and string.format('{"value": "%s", "wake": true}', value) or value
end

local function safe(text)
  return (string.gsub(text, "[^%w_-]", "_"))
end

--- The name of a thing at the hosts. It includes the account, because several accounts may share a broker.
function M.device_id(config, thing)
  return safe(config.topic) .. "_" .. safe(thing.id)
end

-- ---- the topics of one thing ----

function M.state_topic(config, thing, row)
  return config.topic .. "/" .. thing.id .. "/" .. values.topic(row)
end

function M.command_topic(config, thing, row)
  return M.state_topic(config, thing, row) .. "/set"
end

function M.attributes_topic(config, thing, section)
  return config.topic .. "/" .. thing.id .. "/attributes/" .. section
end

--- The topic with the bridge's availability.
function M.availability_topic(config)
  return config.topic .. "/bridge/" .. safe(config.account) .. "/availability"
end

-- ---- one component ----

local function name_of(config, thing, row)
  return config.names[thing.id .. "/" .. row.name] or config.names[row.name] or row.label
end

-- Whether all calls of a row are allowed.
local function commands_allowed(config, row)
  if row.act then return config.commands ~= false end
  for payload, call in pairs(row.calls or {}) do
    local instead = row.instead and row.instead[payload]
    local is_sent = row.component ~= "cover" or payload ~= "PRESS" -- hosts do not press covers
    if is_sent and not config.allowed(call[1]) and not (instead and config.allowed(instead[1])) then return false end
  end
  return values.writes(row) and (row.call == nil or config.allowed(row.call))
end

local builders = {}

function builders.number(component, row, thing, config)
  local most = row.most_from and values.at(thing.data, row.most_from)
  component.min, component.max, component.step = row.least, type(most) == "number" and most > 0 and most or row.most, row.step
  component.command_template = template_of(config, thing)
end

function builders.select(component, row, thing, config)
  component.options, component.command_template = row.options, template_of(config, thing)
end

function builders.button(component, _, thing, config)
  component.payload_press, component.command_template, component.state_topic = "PRESS", template_of(config, thing), nil
end

function builders.switch(component, _, thing, config)
  component.payload_on, component.payload_off, component.command_template = "ON", "OFF", template_of(config, thing)
end

function builders.binary_sensor(component)
  component.payload_on, component.payload_off = "ON", "OFF"
end

function builders.lock(component, _, thing, config)
  component.command_template = template_of(config, thing)
end

-- A host offers each movement whose payload is not null.
function builders.cover(component, row, thing, config)
  component.payload_open, component.payload_stop = payload_of(config, thing, "OPEN"), core.null
  component.payload_close = row.calls.CLOSE and payload_of(config, thing, "CLOSE") or core.null
  component.state_open, component.state_closed = "open", "closed"
end

function builders.event(component)
  component.event_types = { "done", "refused", "not_sent", "unknown", "not_done" }
end

local precisions = {
  ["%"] = 0, mi = 0, mph = 0, W = 0, kW = 1, Wh = 0, kWh = 2, A = 0, V = 0, ["°C"] = 1, bar = 2, USD = 2, d = 1, min = 0, ["$/kWh"] = 4,
}

function builders.sensor(component, row)
  if row.class == "enum" then component.options = row.options end
  component.suggested_display_precision = row.precision or precisions[row.unit or ""]
end

function builders.update(component, _, thing, config)
  component.payload_install = payload_of(config, thing, "INSTALL")
end

function builders.device_tracker(component)
  component.source_type, component.state_topic = "gps", nil
end

-- A climate entity has a topic for each of its parts.
local function add_climate(config, thing, row, component)
  local topic = M.state_topic(config, thing, row)
  local part = row.topic
  if part == "current_temperature" then
    component.current_temperature_topic = topic
    return
  end
  if part == "preset_mode" and not commands_allowed(config, row) then return end -- hosts accept it only with its command
  component[part .. "_state_topic"] = topic
  if commands_allowed(config, row) then
    component[part .. "_command_topic"] = topic .. "/set"
    -- This form is for Domoticz, which accepts no templates here.
    if config.discovery ~= "component" then component[part .. "_command_template"] = template_of(config, thing) end
  end
  if part == "mode" then component.modes = row.options end
  if part == "preset_mode" then component.preset_modes = row.options end
  if part == "temperature" then
    component.min_temp, component.max_temp, component.temp_step = row.least, row.most, row.step
    component.temperature_unit, component.precision = "C", 0.1
  end
end

local with_attributes = { location = true, tariff = true, account = true, command = true }

--- Whether a section has attributes besides its values.
function M.has_attributes(section)
  return with_attributes[section] or string.find(section, "^automation_") ~= nil
end

local function hidden_or_default(row)
  if row.hidden then return false end
end

local function new_component(config, thing, row)
  local section = values.section(row)
  return {
    platform = row.component, name = name_of(config, thing, row), unique_id = M.device_id(config, thing) .. "_" .. row.name,
    unit_of_measurement = row.component ~= "climate" and row.unit or nil, device_class = row.class,
    state_class = row.state, entity_category = row.category, icon = row.icon, qos = 1,
    enabled_by_default = hidden_or_default(row),
    json_attributes_topic = section and M.has_attributes(section) and M.attributes_topic(config, thing, section) or nil,
  }
end

local function add_topics(config, thing, row, component)
  if row.from or row.form == "event" then component.state_topic = M.state_topic(config, thing, row) end
  if values.writes(row) then component.command_topic = M.command_topic(config, thing, row) end
  local build = builders[row.component]
  if build then build(component, row, thing, config) end
end

-- Shows an entity whose commands are not allowed as a read-only one: a number becomes a sensor.
local function read_only(row, component)
  component.command_topic, component.command_template, component.payload_install = nil, nil, nil
  local shown = { number = "sensor", select = "sensor", switch = "binary_sensor", lock = "sensor", cover = "sensor" }
  component.platform = shown[row.component] or row.component
  if component.entity_category == "config" then component.entity_category = "diagnostic" end -- a read-only entity configures nothing
  component.payload_open, component.payload_close, component.payload_stop = nil, nil, nil
  if row.component == "cover" then component.device_class, component.state_open, component.state_closed = nil, nil, nil end
  if row.component == "switch" then component.device_class = nil end
  if row.component == "number" then component.min, component.max, component.step = nil, nil, nil end
  if row.component == "select" then component.options = nil end
  return component
end

local function one_currency(row, thing)
  local unit = row.unit
  if not unit or not string.find(unit, "$", 1, true) then return unit end
  local currency = values.text_at(thing.data, "tariff.currency")
  return currency and (string.gsub(unit, "%$", (string.gsub(currency, "%%", "%%%%")))) or nil -- unknown is not dollars
end

-- ---- the rows of a thing ----

--- Whether a thing has the entity of a row.
function M.has(config, thing, row)
  if row.option and not config[row.option] then return false end
  if row.needs then
    local value = values.at(thing.data, row.needs)
    if value == nil then value = (thing.had or {})[row.needs] end -- a value that is unknown now still exists
    if not value then return false end
  end
  return row.component ~= "button" or commands_allowed(config, row)
end

--- Records which rows a thing has had.
function M.remember(thing)
  thing.had = thing.had or {}
  for _, row in ipairs(entities[thing.kind]) do
    if row.needs then
      local value = values.at(thing.data, row.needs)
      if value ~= nil then thing.had[row.needs] = value and true or nil end
    end
  end
end

-- A site has a row set for each wall connector that was seen.
local function connector_rows(thing)
  local list = {}
  for _, din in ipairs(thing.connectors or {}) do
    for _, row in ipairs(entities.wall_connector(din)) do list[#list + 1] = row end
  end
  return list
end

--- The rows of a thing. thing: { kind = "car", "site" or "account", id =, data = { section = … }, more = rows of its own }.
function M.rows(config, thing)
  local list = {}
  for _, source in ipairs { entities[thing.kind], connector_rows(thing), thing.more or {} } do
    for _, row in ipairs(source) do
      if M.has(config, thing, row) then list[#list + 1] = row end
    end
  end
  return list
end

-- The rows of each kind by the section that they read, made once.
local by_section = {}

local function section_rows(kind, section)
  local index = by_section[kind]
  if not index then
    index = {}
    by_section[kind] = index
    for _, row in ipairs(entities[kind]) do
      local own = values.section(row) or ""
      index[own] = index[own] or {}
      table.insert(index[own], row)
    end
  end
  return index[section] or {}
end

--- The rows of a thing that read one section, including those that it had before.
function M.rows_of(config, thing, section)
  local list = {}
  for _, row in ipairs(section_rows(thing.kind, section)) do
    if M.has(config, thing, row) or (thing.seen or {})[M.state_topic(config, thing, row)] then list[#list + 1] = row end
  end
  for _, source in ipairs { connector_rows(thing), thing.more or {} } do
    for _, row in ipairs(source) do
      if values.section(row) == section then list[#list + 1] = row end
    end
  end
  return list
end

--- Everything that the discovery messages of a thing depend on, as a text: when it changes, they are published again.
function M.shape(thing)
  local parts = {
    thing.name or "", thing.version or "", #(thing.more or {}), #(thing.connectors or {}),
    tostring(values.at(thing.data, "tariff.currency")),
  }
  for _, row in ipairs(entities[thing.kind]) do
    if row.needs then parts[#parts + 1] = (values.at(thing.data, row.needs) or (thing.had or {})[row.needs]) and "1" or "0" end
    if row.most_from then parts[#parts + 1] = tostring(values.at(thing.data, row.most_from)) end
  end
  return table.concat(parts, "|")
end

-- A host identifies a component by its key and its kind: another kind needs another key.
local function key_of(row, component)
  return component.platform == row.component and row.name or row.name .. "_" .. component.platform
end

local function components_of(config, thing)
  local components, climate = {}, nil
  for _, row in ipairs(M.rows(config, thing)) do
    local is_climate = row.component == "climate"
    local component = is_climate and climate or new_component(config, thing, row)
    component.unit_of_measurement = component.unit_of_measurement and one_currency(row, thing)
    if is_climate then
      climate = component
      add_climate(config, thing, row, component)
    else
      add_topics(config, thing, row, component)
      if not commands_allowed(config, row) and values.writes(row) then component = read_only(row, component) end
    end
    if not row.plain then components[key_of(row, component)] = component end
  end
  return components
end

-- ---- the message ----

local models = { S = "Model S", ["3"] = "Model 3", X = "Model X", Y = "Model Y", C = "Cybertruck", R = "Roadster", T = "Semi" }

local function model_of(thing)
  if thing.kind == "car" then return models[string.sub(thing.id, 4, 4)] end
  return thing.kind == "site" and "Energy site" or "Account"
end

local function device_of(config, thing)
  return {
    identifiers = { M.device_id(config, thing) }, name = config.names[thing.id] or thing.name, manufacturer = "Tesla",
    model = model_of(thing), serial_number = thing.kind ~= "account" and thing.id or nil, sw_version = thing.version,
    configuration_url = "https://www.tesla.com/teslaaccount", suggested_area = config.areas[thing.id],
  }
end

local function origin()
  return { name = "fleet", sw_version = require "fleet.util.version" }
end

-- A host removes a component when the message names it with its kind alone.
local function with_removed(thing, components)
  local removed = thing.removed or {}
  for key, platform in pairs(thing.components or {}) do
    if not components[key] then removed[key] = platform end
  end
  thing.components, thing.removed = {}, removed
  for key, component in pairs(components) do
    thing.components[key], removed[key] = component.platform, nil
  end
  for key, platform in pairs(removed) do components[key] = { platform = platform } end
  return components
end

local function whole(config, thing)
  return { [config.discovery_prefix .. "/device/" .. M.device_id(config, thing) .. "/config"] = core.json_encode {
    device = device_of(config, thing), origin = origin(), qos = 1, components = with_removed(thing, components_of(config, thing)),
    availability = { { topic = M.availability_topic(config) } },
  } }
end

local function separate(config, thing)
  local messages = {}
  for name, component in pairs(components_of(config, thing)) do
    local platform = component.platform
    component.platform, component.device, component.origin = nil, device_of(config, thing), origin()
    component.availability = { { topic = M.availability_topic(config) } }
    messages[table.concat({ config.discovery_prefix, platform, M.device_id(config, thing), name, "config" }, "/")] =
      core.json_encode(component)
  end
  return messages
end

--- The discovery messages of a thing: { topic = payload }.
function M.messages(config, thing)
  if config.discovery == false then return {} end
  return (config.discovery == "component" and separate or whole)(config, thing)
end

return M
