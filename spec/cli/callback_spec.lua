-- The page on this machine at which a sign-in ends: whom it answers, and what it takes for the answer.
local callback = require "fleet.cli.callback"
local fleet = require "fleet"
local process = require "spec.support.harness.process"

describe("the listener of a sign-in", function()
  local patience, path = callback.patience, nil

  before_each(function()
    callback.patience = 60 -- seconds: a mistake ends the spec, and not its runner
    path = os.tmpname()
  end)
  after_each(function()
    callback.patience = patience
    os.remove(path)
  end)

  local silent = { stdin = { setvbuf = function() return true end, read = function() return nil end } }

  -- Listens while these requests (arguments of curl) are made one after the other. Returns whether the sign-in ended, the
  -- statuses, and the addresses that came through. Only code=good is of this sign-in.
  local function answers(requests)
    local port, listener, came = 21000 + math.random(20000), nil, {}
    local function take(address)
      came[#came + 1] = address
      if address:find("code=good", 1, true) then return true end
    end
    for _ = 1, 20 do
      listener = listener or callback.listen(fleet.loop, "http://127.0.0.1:" .. port .. "/back", take)
      if not listener then port = 21000 + math.random(20000) end
    end
    local commands = {}
    for i, request in ipairs(requests) do
      local arguments = request:gsub("ADDRESS", "http://127.0.0.1:" .. port)
      commands[i] = "curl --noproxy '*' -s -m 30 -o /dev/null -w '%{http_code} ' " .. arguments
    end
    os.execute("{ " .. table.concat(commands, "; ") .. "; } >" .. process.quote(path) .. " 2>&1 &")
    local ended = callback.wait(silent, fleet.loop, assert(listener), take)
    local text, deadline = "", fleet.loop.clock() + 30
    while select(2, text:gsub(" ", "")) < #requests and fleet.loop.clock() < deadline do
      local file = assert(io.open(path))
      text = file:read "a"
      file:close()
      fleet.sleep(0.01)
    end
    return ended, text, came
  end

  it("takes the address of its own sign-in", function()
    local ended, statuses, came = answers { "'ADDRESS/back?code=good&state=s'" }
    assert.is_true(ended)
    assert.equal("200 ", statuses)
    assert.matches("^http://127%.0%.0%.1:%d+/back%?code=good&state=s$", came[1])
  end)

  it("takes nothing that was sent to another name, path or in another way, and waits on after what is not its own", function()
    local ended, statuses, came = answers {
      "-H 'Host: evil.example' 'ADDRESS/back?code=good'", "'ADDRESS/other?code=good'", "-d code=good ADDRESS/back",
      "'ADDRESS/back?code=bad'", "'ADDRESS/back?code=good'",
    }
    assert.is_true(ended)
    assert.equal("403 404 405 400 200 ", statuses)
    assert.equal(2, #came)
  end)
end)
