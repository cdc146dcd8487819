-- Every row is a verb: it explains itself, and its example runs and becomes the request of the row.

local core = require "fleet.core"
local rows = require "fleet.call.rows"
local samples = require "fleet.cli.examples"
local cli = require "spec.support.harness.cli"
local replies = require "spec.support.fixtures.replies"

local env = { FLEET_TOKEN = "a-token-of-the-spec", FLEET_PIN = "1234" }

-- What the files of the samples hold: a public key, or a PIN.
local function content_of(file)
  if not string.find(file, "%.pem$") then return "1234\n" end
  local key = core.key.generate()
  local pem = key:public_pem()
  key:close()
  return pem
end

local function with_files(words, directory)
  for i, word in ipairs(words) do
    local name, file = string.match(word, "^(.*)@(.+)$")
    if file and (name == "" or string.sub(name, -1) == "=") then
      local path = directory .. "/" .. file
      local handle = assert(io.open(path, "wb"))
      handle:write(content_of(file))
      handle:close()
      words[i] = name .. "@" .. path
    elseif string.match(word, "^to=") then
      words[i] = "to=" .. directory .. "/" .. string.sub(word, 4)
    end
  end
  return words
end

-- The path of the request with the placeholders of the row filled by the sample.
local function pattern_of(row)
  local path = string.gsub(row.path, "[%-%.]", "%%%0")
  return "^" .. string.gsub(path, "{[%w_]+}", "[^/?]+") .. "%f[?\0]"
end

-- Rows that the module refuses to send as they stand, and why.
local function refused(row)
  return row.flags.needs_protocol
end

describe("a row as a verb", function()
  local directory

  setup(function()
    directory = os.tmpname()
    os.remove(directory)
    assert(os.execute("mkdir -m 700 '" .. directory .. "'"))
  end)
  teardown(function() os.execute("rm -r '" .. directory .. "'") end)

  for _, row in ipairs(rows.all()) do
    local spoken = string.gsub(row.name, "%.", " ")

    it(spoken .. " explains itself", function()
      local words = { "--help" }
      for word in string.gmatch(spoken, "%S+") do table.insert(words, #words, word) end
      local result = cli.run(words)
      assert.equal(0, result.status, result.err)
      assert.truthy(string.find(result.out, "fleet " .. spoken, 1, true))
      for _, param in ipairs(row.params) do
        local bare = string.find(result.out, "\n  " .. param.name, 1, true)
        assert.truthy(bare or param.place == "path" or param.whole or param.type == "vin", param.name .. " is not explained")
      end
      assert.truthy(string.find(result.out, row.verb .. " " .. row.path, 1, true))
      assert.equal("", result.err)
    end)

    it(spoken .. " runs its example", function()
      local http, requests = cli.service(replies.empty(row))
      local words = with_files(samples.words(row), directory)
      words[#words + 1] = "--json"
      local checked = row.name == "time_of_use_settings" or row.name == "create_fleet_telemetry_config"
      if row.flags.deprecated or checked then words[#words + 1] = "--force" end
      local result = cli.run(words, { env = env, http = http })
      if refused(row) then
        assert.equal("unsupported", result.json.kind)
        assert.equal(0, #requests)
        return
      end
      assert.equal(0, result.status, result.out .. result.err)
      assert.truthy(#requests >= 1)
      assert.equal(row.verb, requests[1].method)
      local path = string.match(requests[1].url, "^https://[^/]+(/.*)$")
      assert.truthy(string.match(path, pattern_of(row)), path)
      assert.truthy(result.out ~= "" and (core.json_decode(result.out) ~= nil or row.value.bytes or row.value.base64), result.out)
    end)
  end
end)
