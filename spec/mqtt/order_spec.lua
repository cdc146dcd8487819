-- The order in which a link publishes again what a broken connection left unconfirmed, with a library of the spec's own.

local fleet = require "fleet"
local links = require "fleet.mqtt.link"
local tasks = require "fleet.async"

local function library_of(sent)
  local library = { connections = {} }
  function library.open(_, drain)
    local connection, id = { events = {}, drain = drain }, 0
    function connection.publish(_, topic, payload)
      id = id + 1
      sent[#sent + 1] = topic .. " " .. payload
      return id
    end
    function connection.take()
      local event = table.remove(connection.events, 1)
      if event then return event[1], event[2] end
    end
    for _, name in ipairs { "fd", "wants", "tick", "close", "disconnect", "subscribe" } do connection[name] = function() end end
    table.insert(library.connections, connection)
    return connection
  end
  return library
end

it("messages of a broken connection are published again in their order, before later ones", function()
  local sent = {}
  local library = library_of(sent)
  local link = links.new { library = library, broker = { host = "/socket", port = 0 }, on_message = function() end,
    on_state = function() end }
  local task = fleet.spawn(function() link:run() end)
  local function connect(number)
    while not library.connections[number] do
      if link.resting then tasks.wake(link.resting) end
      fleet.loop.step()
    end
    table.insert(library.connections[number].events, { "connected" })
    library.connections[number].drain()
  end
  connect(1)
  for _, payload in ipairs { "CONNECTED", "DISCONNECTED", "CONNECTED again" } do link:publish("connectivity", payload, true) end
  table.insert(library.connections[1].events, { "published", 1 })
  table.insert(library.connections[1].events, { "ended", { kind = "network", message = "it broke" } })
  library.connections[1].drain()
  link:say("answer", "5")
  connect(2)
  assert.same({ "connectivity CONNECTED", "connectivity DISCONNECTED", "connectivity CONNECTED again",
    "connectivity DISCONNECTED", "connectivity CONNECTED again", "answer 5" }, sent)
  link:stop()
  task:wait()
end)
