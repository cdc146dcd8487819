-- Every block of Lua of the manual runs as it stands against the simulator, but for those whose first line says what they
-- need: an account, a host's program, a vehicle. The cookbook has a spec of its own, which reads what its blocks print.

local files = require "spec.support.harness.files"
local fleet = require "fleet"
local markdown = require "spec.support.harness.markdown"
local process = require "spec.support.harness.process"
local services = require "spec.support.servers.service"

local vin = "5YJ3FLEE9RF000001"

local function all_blocks()
  local list = {}
  local pipe = io.popen("cd " .. process.quote(process.root) .. " && ls doc/manual/*.md")
  for page in pipe:lines() do
    if not string.find(page, "cookbook", 1, true) then
      for _, block in ipairs(markdown.lua(files.read(process.root .. "/" .. page))) do
        list[#list + 1] = { page = page, text = block.text }
      end
    end
  end
  pipe:close()
  return list
end

local function needs(block)
  return string.match(block.text, "^%-%- needs ([^\n]+)")
end

-- Paths of the pages lie below the spec's own folder, and what a page leaves out of a table is nothing.
local function settled(text, folder)
  text = string.gsub(text, '"(@?)/var/lib/[^"]*"', '"' .. folder .. '/%1store"')
  text = string.gsub(text, '"([%w_-]+%.%a%a%a)"', function(name)
    if string.find(" pem pdf svg ", " " .. string.sub(name, -3) .. " ", 1, true) then return '"' .. folder .. "/" .. name .. '"' end
  end)
  return (string.gsub(text, "unix:/run/user/1000/", "unix:" .. folder .. "/"))
end

describe("the blocks of the manual", function()
  local service, client, given, folder
  local found = all_blocks()

  setup(function()
    local key = fleet.key.generate()
    service = services.start {
      vehicles = { { vin = vin, keys = { key:public_pem() } } }, energy_sites = { { energy_site_id = 1000001 } },
    }
    folder = process.temporary "manual"
    local store = fleet.store.memory()
    client = service:sign_in(service:client { store = store, key = key })
    given = {
      client = client, other = client, vin = vin, car = client:vehicle(vin), site = client:energy_site "1000001",
      print = function() end, proxy = { url = service.addresses.base_url }, secret = "a-secret",
      token = require("cjson").decode((store:get "token/default/user")).access_token,
      plan = require("cjson").decode(files.read(process.root .. "/spec/vectors/tariffs/02-two-season-tou.json")),
    }
  end)
  teardown(function()
    client:close()
    service:stop()
  end)

  it("run, but for some", function()
    local marked = 0
    for _, block in ipairs(found) do
      if needs(block) then marked = marked + 1 end
    end
    assert.is_true(#found > 25)
    assert.is_true(marked <= 18, marked .. " of " .. #found .. " need something")
  end)

  for number, block in ipairs(found) do
    local name = string.format("%s: %s", block.page, string.match(block.text, "^[^\n]*"))
    if not needs(block) then
      it("run (" .. number .. ") " .. name, function()
        local text = settled(block.text, folder) .. "\nclose_what_was_opened { client, server or false, sim or false, proxy or false }"
        local environment = setmetatable({ fleet = fleet }, { __index = function(_, word) return given[word] or _G[word] end })
        function environment.close_what_was_opened(list)
          for _, each in ipairs(list) do
            if each and each ~= client and each ~= given.proxy then each:close() end
          end
        end
        assert(load(text, "=" .. name, "t", environment))()
      end)
    end
  end
end)
