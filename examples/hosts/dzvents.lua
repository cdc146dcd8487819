-- A dzVents script of Domoticz: the switch "Car charging" starts and stops it. The state of Lua is gone after each event, so the call
-- is made by the host (openURL), and its reply is an event of its own. `fleet proxy --listen 127.0.0.1:4443` signs and holds the token.
-- User variables: fleet_proxy (http://127.0.0.1:4443), fleet_secret (what the file secret_file holds), fleet_vin.

local function variable(domoticz, name)
  return domoticz.variables(name).value
end

local function ask(domoticz, switch)
  domoticz.openURL {
    url = string.format("%s/api/1/vehicles/%s/command/%s", variable(domoticz, "fleet_proxy"), variable(domoticz, "fleet_vin"),
      switch.active and "charge_start" or "charge_stop"),
    method = "POST",
    headers = { Authorization = "Bearer " .. variable(domoticz, "fleet_secret"), ["Content-Type"] = "application/json" },
    postData = {},
    callback = "fleet",
  }
end

-- A refusal of the car also has status 200; an uncertain outcome is in a header. The script never repeats a command.
local function log_result(domoticz, reply)
  local answer = reply.isJSON and type(reply.json.response) == "table" and reply.json.response or {}
  if reply.ok and answer.result then
    domoticz.log("charging: done")
  elseif reply.ok then
    domoticz.log("charging: refused, " .. tostring(answer.reason))
  else
    domoticz.log("charging: " .. (reply.headers["x-fleet-outcome"] or "failed") .. ", status " .. tostring(reply.statusCode))
  end
end

return {
  on = { devices = { "Car charging" }, httpResponses = { "fleet" } },
  execute = function(domoticz, item)
    if item.isDevice then ask(domoticz, item) else log_result(domoticz, item) end
  end,
}
