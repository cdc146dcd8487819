-- What a caller writes that is nearly right: names of methods, links, options that were lost, defaults from fleet.new.

local fleet = require "fleet"
local seam = require "spec.support.fixtures.host_http"
local virtual = require "spec.support.harness.virtual"

describe("a misspelt name", function()
  local client = seam.client '{"response":{}}'
  local car = client:vehicle(seam.vin)

  it("raises with the method that was meant", function()
    for name, meant in pairs {
      lock = "'door_lock'", unlock = "'door_unlock'", honk = "'honk_horn'", flash = "'flash_lights'", honk_hron = "'honk_horn'",
      vehicle_dta = "'vehicle_data'", wait_untill = "'wait_until'",
    } do
      assert.error_matches(function() car[name](car) end, "did you mean " .. meant, 1, true)
    end
    assert.error_matches(function() fleet.throwing(car):lock() end, "did you mean 'door_lock'", 1, true)
    assert.error_matches(function() client:vehicels() end, "client: unknown method 'vehicels', did you mean 'vehicles'", 1, true)
    assert.error_matches(function() client.user:mee() end, "did you mean 'me'", 1, true)
    assert.error_matches(function() client:energy_site("1"):live_sttus() end, "did you mean 'live_status'", 1, true)
    assert.error_matches(function() return fleet.tarif end, "did you mean 'tariff'", 1, true)
    assert.error_matches(function() return fleet.form_config end, "did you mean 'from_config'", 1, true)
  end)

  it("is nil where nothing is near: a program may ask what there is", function()
    assert.same({}, { car.brand_new_thing, client.brand_new_thing, fleet.brand_new_thing, car.__call, fleet[1], car[1] })
  end)

  it("asks for a colon where a dot was written", function()
    assert.error_matches(function() client.vehicle(seam.vin) end, "vehicle: call it with a colon", 1, true)
    assert.error_matches(function() client.energy_site(12345) end, "energy_site: call it with a colon", 1, true)
  end)
end)

describe("the tables as data", function()
  it("hold nothing that cannot be written as JSON", function()
    for _, list in ipairs { fleet.endpoints(), fleet.commands(), fleet.reasons() } do
      assert.is_string(require("fleet.core").json_encode(list))
    end
    assert.not_equal(fleet.commands(), fleet.commands())
  end)

  it("have the names of the automations as a list and as a function", function()
    local names = fleet.automation.names()
    assert.same(names, { table.unpack(fleet.automation.names) })
    assert.is_true(#names > 3)
    assert.not_equal(names, fleet.automation.names())
  end)
end)

describe("nil in the place of the parameters", function()
  it("may come before the options of a row without any", function()
    local car, requests = seam.car(seam.done)
    assert(car:honk_horn(nil, { timeout = 5 }))
    assert(car:honk_horn({}, { timeout = 6 }))
    assert(car:set_charge_limit({ percent = 80 }, { timeout = 7 }))
    assert.same({ 5, 6, 7 }, { math.ceil(requests[1].timeout), math.ceil(requests[2].timeout), math.ceil(requests[3].timeout) })
    assert.error_matches(function() car:honk_horn(nil, nil, { timeout = 5 }) end, "too many arguments")
    assert.error_matches(function() car:honk_horn(5, { timeout = 5 }) end, "must be a table")
  end)
end)

describe("the domain of fleet.new", function()
  local function partner(options)
    local given = { token = "t", domain = "app.example.com" }
    for name, value in pairs(options or {}) do given[name] = value or nil end
    local client, requests = seam.client('{"response":{"public_key":"04"}}', given)
    return client.partner, requests
  end

  it("is that of the partner's calls which name none", function()
    local p, requests = partner()
    assert(p:register())
    assert(p:register { domain = "other.example.com" })
    assert(p:public_key())
    assert.equal('{"domain":"app.example.com"}', requests[1].body)
    assert.equal('{"domain":"other.example.com"}', requests[2].body)
    assert.matches("domain=app.example.com", requests[3].url, 1, true)
    p = seam.client('{"response":{}}').partner
    assert.error_matches(function() p:register() end, "'domain' is missing")
    assert.error_matches(function() p:public_key {} end, "'domain' is missing")
  end)
end)

describe("a link without a code", function()
  it("raises: nothing is sent", function()
    local client, requests = seam.client "{}"
    for _, code in ipairs { "https://www.example.com/_rs/1/", "https://www.example.com/_rs/1", "https://www.example.com/" } do
      assert.error_matches(function() client:redeem_invitation { code = code } end, "a link that ends without a code", 1, true)
    end
    assert.equal(0, #requests)
  end)
end)

describe("a value of a wrong type", function()
  it("names what takes it", function()
    assert.error_matches(function() fleet.store.open(5) end, "fleet.store.open: a text is needed, got number", 1, true)
    assert.error_matches(function() fleet.new { token = "" } end, "option 'token' is empty", 1, true)
    assert.error_matches(function() seam.client("{}"):energy_site(0) end, "'id' must be 1 or more", 1, true)
    assert.error_matches(function() seam.client("{}"):energy_site("99999999999999999999999") end, "'id' has too many digits", 1, true)
  end)
end)

describe("user_agent", function()
  it("reaches a host's own http function, with reads, commands and token calls", function()
    local car, requests = seam.car(seam.done, { user_agent = "home/1" })
    car:honk_horn()
    car:info()
    assert.same({ "home/1", "home/1" }, { requests[1].headers["user-agent"], requests[2].headers["user-agent"] })
    local asked = {}
    local client = fleet.new { user_agent = "home/1", client_id = "a", client_secret = "s", http = function(request)
      asked[#asked + 1] = request
      return { status = 400, headers = {}, body = "{}" }
    end }
    client:partner_login()
    assert.equal("home/1", asked[1].headers["user-agent"])
    car, requests = seam.car(seam.done)
    car:honk_horn()
    assert.is_nil(requests[1].headers["user-agent"])
  end)
end)

describe("waking", function()
  local vin = seam.vin
  local function service(wake_status, state, asked)
    return function(request)
      asked[#asked + 1] = request.method .. " " .. request.path
      if request.path:find("wake_up", 1, true) then
        return { status = wake_status, headers = {}, body = '{"response":null,"error":"vehicle is not available"}' }
      end
      if request.path:find("command", 1, true) then
        return { status = 408, headers = {}, body = '{"error":"vehicle unavailable: vehicle is offline or asleep"}' }
      end
      local record = '{"id":1,"id_s":"1","vin":"' .. vin .. '","state":"' .. state .. '"}'
      return seam.answer('{"response":' .. (request.path:find("products", 1, true) and "[" .. record .. "]" or record) .. "}")
    end
  end
  local time
  before_each(function() time = virtual.install() end)
  after_each(function() time.restore() end)

  it("looks after a 503, as after a 408: the vehicle may have woken", function()
    for _, status in ipairs { 503, 500, 408 } do
      local asked = {}
      local client = seam.client(service(status, "online", asked))
      assert.is_true(client:vehicle(vin):wake { timeout = 60 })
    end
    local _, err, kind = seam.client(service(503, "asleep", {})):vehicle(vin):wake { timeout = 20 }
    assert.equal("asleep", kind)
    assert.matches("still asleep after 20 s", err.message, 1, true)
  end)

  it("says of a command with wake = true that the vehicle was asked, and looks no more when the time is over", function()
    local asked = {}
    local client = seam.client(service(408, "asleep", asked))
    local _, err, kind = client:vehicle(vin):honk_horn { wake = true, timeout = 6 }
    assert.equal("asleep refused", kind .. " " .. err.outcome)
    assert.matches("^honk_horn: the vehicle was asked to wake, and did not: the vehicle is still asleep", err.message)
    assert.is_nil(err.message:find("wake the vehicle", 1, true))
    assert.equal("asleep", err.state)
    local count = #asked
    fleet.sleep(100)
    assert.equal(count, #asked)
  end)
end)

describe("locate", function()
  it("accuses the token only where the vehicle sent the section without a position", function()
    local _, err, kind = seam.car('{"response":{"id":1,"in_service":true,"charge_state":{"battery_level":50}}}'):locate()
    assert.equal("service", kind)
    assert.matches("sent no drive_state (it is in service)", err.message, 1, true)
    assert.is_nil(err.message:find("token", 1, true))
    _, err, kind = seam.car('{"response":{"drive_state":{"speed":null}}}'):locate()
    assert.equal("forbidden", kind)
    assert.matches("vehicle_location", err.message, 1, true)
  end)
end)
