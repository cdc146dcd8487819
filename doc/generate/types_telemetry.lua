-- The part of lua/fleet/types.lua about the receiver of vehicles' telemetry.

local options = require "fleet.telemetry.options"

local types = {
  host = "string", port = "integer", certificate = "string", certificate_key = "string", client_ca = "string",
  vehicles = "string[]|fun(vin: string): boolean", ack = '"at_once"|"when_stored"',
  on_record = "fun(record: fleet.telemetry.record): boolean?", on_connection = "fun(event: fleet.telemetry.event)",
  on_notice = "fun(text: string)", proxy_protocol = "false|string[]", reuse_port = "boolean",
  outputs = "fleet.telemetry.output[]", store = "fleet.store", limits = "fleet.telemetry.limits", loop = "table",
}
local required = { port = true, certificate = true, certificate_key = true, client_ca = true }

local function class(name, list, type_of)
  local lines = { "---@class " .. name }
  for _, row in ipairs(list) do
    lines[#lines + 1] = string.format("---@field %s%s %s %s", row.name, required[row.name] and "" or "?", type_of(row), row.doc)
  end
  return table.concat(lines, "\n")
end

return class("fleet.telemetry.options", options.list, function(row) return types[row.name] end) .. "\n\n"
  .. class("fleet.telemetry.limits", options.limits, function() return "integer" end) .. "\n\n" .. [[
---A message of a vehicle.
---@class fleet.telemetry.record
---@field vin string from the vehicle's certificate
---@field topic "V"|"alerts"|"errors"
---@field txid string
---@field at number UTC seconds, as the vehicle says it
---@field arrived number UTC seconds
---@field resend? boolean the vehicle sends again what was not acknowledged
---@field values? { [string]: any } of topic V, by the field's name
---@field invalid? string[] fields that the vehicle cannot report now
---@field texts? { [string]: string } texts that are no value of their field
---@field alerts? { name: string, audiences: string[], started_at?: number, ended_at?: number }[]
---@field errors? { name: string, body: string, at?: number, tags: { [string]: string } }[]
---@field signals integer how many are billed
---@field raw string the payload's bytes
---@field address string where the vehicle connected from
---@field connection integer

---@class fleet.telemetry.event
---@field type "connected"|"disconnected"|"refused"|"damaged"
---@field vin? string
---@field kind? string of device, by its certificate
---@field at number UTC seconds
---@field address string
---@field interface? string "wifi", "cellular"
---@field client_version? string
---@field connection integer
---@field reason? string of what was refused, damaged or has ended
---@field online boolean whether the vehicle counts as connected now

---What is known of a vehicle; stays up to date.
---@class fleet.telemetry.vehicle
---@field vin string
---@field online boolean
---@field since? number UTC seconds: connected, or not connected, since then
---@field interface? string
---@field client_version? string
---@field values { [string]: any } newest values by the field's name; what is not known is absent
---@field at { [string]: number } their times, UTC seconds
---@field signals integer received since the receiver was made
local vehicle = {}

---Seconds since the newest value of a field was sent; nil where it is not known.
---@param name string
---@return number?
function vehicle:age(name) end

---The newest values in the shape of vehicle_data, with `at` in the same shape; what is not known is absent.
---@param options? { age?: number, sections?: { [string]: boolean } }
---@return table
function vehicle:vehicle_data(options) end

---A receiver tied to the client: car:vehicle_data{ from = "stream" } reads from it. Without options: the receiver that is tied.
---Without `vehicles`, those of the account; require("fleet.telemetry").new needs them.
---@param options? fleet.telemetry.options
---@return fleet.telemetry? receiver
---@return fleet.err err
---@return fleet.kind kind
function client:telemetry(options) end

---@class fleet.telemetry.output
---@field store fun(self: any, record: fleet.telemetry.record): boolean?, fleet.err?, fleet.kind? may wait
---@field connection? fun(self: any, event: fleet.telemetry.event)
---@field refresh? fun(self: any, vehicle: fleet.telemetry.vehicle): boolean?, fleet.err?
---@field close? fun(self: any)

---@class fleet.telemetry
---@field port integer
local telemetry = {}

---A receiver that listens: require("fleet.telemetry").new{ … }.
---@param options fleet.telemetry.options
---@return fleet.telemetry? receiver
---@return fleet.err err
---@return fleet.kind kind
function telemetry.new(options) end

---What is known of a vehicle.
---@param vin string
---@return fleet.telemetry.vehicle
function telemetry:vehicle(vin) end

---Waits until a field is a value, or what a function says; without either until the vehicle sends it.
---@param vin string
---@param name string
---@param wanted? any
---@param options? { timeout?: number }
---@return any value
---@return number|fleet.err at
---@return fleet.kind kind
function telemetry:wait(vin, name, wanted, options) end

---An iterator over records for a task; a slow reader loses the oldest, which its member `lost` counts.
---@param vin? string
---@return fun(): fleet.telemetry.record?
function telemetry:records(vin) end

---@return { [string]: integer }
function telemetry:stats() end

---What is to be known of the authorities in client_ca, as sentences.
---@return string[]
function telemetry:remarks() end

---Reads the certificate files now.
---@return boolean? done
---@return fleet.err err
---@return fleet.kind kind
function telemetry:reload() end

---Ends the connections and returns at once; outputs still get what was acknowledged.
function telemetry:close() end

---Closes, and waits until the outputs have stored what was acknowledged.
---@param options? { timeout?: number }
---@return boolean? done
---@return fleet.err err how many were lost, or still wait
---@return fleet.kind kind
function telemetry:finish(options) end]]
