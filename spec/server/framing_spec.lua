-- Heads and bodies that two servers may read in two ways (RFC 9112): each is refused, so that one request never becomes two.
local client = require "spec.support.harness.miniclient"
local miniloop = require "spec.support.harness.miniloop"
local server = require "fleet.server"

describe("the server's reading of", function()
  local loop, opened, where, seen

  before_each(function()
    loop, seen = miniloop.new(), {}
    opened = assert(server.new { loop = loop, on_request = function(request)
      seen[#seen + 1] = request.path
      request:respond(200, nil, request.body)
    end })
    where = { port = opened:port() }
  end)

  after_each(function() opened:close() end)

  local function say(bytes)
    return loop:run(function()
      local connection = client.connect(where)
      local reply = client.exchange(connection, bytes)
      connection:close()
      return reply
    end)
  end

  local chunks = "2\r\n{}\r\n0\r\n\r\n"
  local smuggled = "POST /b HTTP/1.1\r\nHost: x\r\n\r\n"

  for name, bytes in pairs {
    ["a blank before the colon"] = "POST /a HTTP/1.1\r\nHost: x\r\nContent-Length : " .. #smuggled .. "\r\n\r\n" .. smuggled,
    ["a tab before the colon"] = "POST /a HTTP/1.1\r\nHost: x\r\nContent-Length\t: " .. #smuggled .. "\r\n\r\n" .. smuggled,
    ["a blank before the colon of a coding"] = "POST /a HTTP/1.1\r\nHost: x\r\nTransfer-Encoding : chunked\r\n\r\n" .. chunks,
    ["a name that is no token"] = "POST /a HTTP/1.1\r\nHost: x\r\nX(Y): 1\r\n\r\n",
    ["an empty name"] = "POST /a HTTP/1.1\r\nHost: x\r\n: 1\r\n\r\n",
    ["NUL in the target"] = "GET /a\0/b HTTP/1.1\r\nHost: x\r\n\r\n",
    ["NUL at the end of the target"] = "GET /a\0 HTTP/1.1\r\nHost: x\r\n\r\n",
    ["NUL in the query"] = "GET /a?b=1\0&c=2 HTTP/1.1\r\nHost: x\r\n\r\n",
    ["NUL in a value"] = "POST /a HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\0, gzip\r\n\r\n" .. chunks,
    ["NUL at the end of a value"] = "POST /a HTTP/1.1\r\nHost: x\0\r\nX: y\r\n\r\n",
    ["NUL at the end of the last value"] = "POST /a HTTP/1.1\r\nHost: x\0\r\n\r\n",
    ["NUL in a name"] = "POST /a HTTP/1.1\r\nHost: x\r\nX\0Y: z\r\n\r\n",
    ["a line that begins with NUL"] = "POST /a HTTP/1.1\r\nHost: x\r\n\0Content-Length: 2\r\n\r\n{}",
    ["a line of NUL alone"] = "POST /a HTTP/1.1\r\nHost: x\r\n\0\r\nContent-Length: 2\r\n\r\n{}",
    ["CR alone in a value"] = "POST /a HTTP/1.1\r\nHost: x\r\nX: y\rContent-Length: " .. #smuggled .. "\r\n\r\n" .. smuggled,
    ["CR alone at the end of a value"] = "POST /a HTTP/1.1\r\nHost: x\r\nX: y\r\r\n\r\n",
    ["a control character in a value"] = "POST /a HTTP/1.1\r\nHost: x\r\nX: y\127\r\n\r\n",
    ["no host"] = "GET /a HTTP/1.1\r\nX: y\r\n\r\n",
    ["no host before a body"] = "POST /a HTTP/1.1\r\nContent-Length: 2\r\n\r\n{}",
    ["two hosts"] = "POST /a HTTP/1.1\r\nHost: x\r\nhost: x\r\n\r\n",
    ["a folded line"] = "POST /a HTTP/1.1\r\nHost: x\r\nX: y\r\n z\r\n\r\n",
    ["a folded coding"] = "POST /a HTTP/1.1\r\nHost: x\r\nTransfer-Encoding:\r\n chunked\r\n\r\n" .. chunks,
    ["a request line that ends without CR"] = "GET /a HTTP/1.1\nHost: x\r\n\r\n",
    ["a header that ends without CR"] = "GET /a HTTP/1.1\r\nHost: x\nX: y\r\n\r\n",
    ["a head that ends without CR"] = "GET /a HTTP/1.1\r\nHost: x\r\n\n",
    ["a target with a blank"] = "GET /a  HTTP/1.1\r\nHost: x\r\n\r\n",
    ["a target with a blank inside"] = "GET /a b HTTP/1.1\r\nHost: x\r\n\r\n",
    ["a target with a control character"] = "GET /a\1b HTTP/1.1\r\nHost: x\r\n\r\n",
    ["two blanks before the target"] = "GET  /a HTTP/1.1\r\nHost: x\r\n\r\n",
    ["no version"] = "GET /a\r\nHost: x\r\n\r\n",
    ["chunks in HTTP/1.0"] = "POST /a HTTP/1.0\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n" .. chunks,
    ["another coding"] = "POST /a HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip, chunked\r\n\r\n" .. chunks,
    ["a coding with a blank behind it"] = "POST /a HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked \r\n\r\n" .. chunks,
    ["a coding with a vertical tab"] = "POST /a HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: \vchunked\r\n\r\n" .. chunks,
    ["two codings"] = "POST /a HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n" .. chunks,
    ["two lengths"] = "POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}",
    ["a length and a coding"] = "POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n" .. chunks,
    ["a size of a chunk that ends without CR"] = "POST /a HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n2\n{}\r\n0\r\n\r\n",
    ["a chunk that ends without CR"] = "POST /a HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n{\n1\r\n}\r\n0\r\n\r\n",
  } do
    it(name .. " is 400", function()
      assert.equal(400, (say(bytes) or { status = "no answer" }).status)
      assert.same({}, seen)
    end)
  end

  for name, bytes in pairs {
    ["blanks around a value"] = "POST /a HTTP/1.1\r\nHost: x\r\nContent-Length:  \t2\r\nX:  y  \r\n\r\n{}",
    ["a tab and bytes above ASCII in a value"] = "POST /a HTTP/1.1\r\nHost: x\r\nX: y\tz\195\164\r\nContent-Length: 2\r\n\r\n{}",
    ["an empty value"] = "POST /a HTTP/1.1\r\nHost: x\r\nX:\r\nContent-Length: 2\r\n\r\n{}",
    ["any token"] = "POST /a HTTP/1.1\r\nHost: x\r\nx!#$%&'*+-.^_`|~9: y\r\nContent-Length: 2\r\n\r\n{}",
    ["an empty host"] = "POST /a HTTP/1.1\r\nHost:\r\nContent-Length: 2\r\n\r\n{}",
    ["HTTP/1.0 with a length"] = "POST /a HTTP/1.0\r\nContent-Length: 2\r\n\r\n{}",
    ["a query"] = "POST /a?b=c%00&d HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}",
    ["an escaped NUL"] = "POST /a%00b HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}",
    ["chunks"] = "POST /a HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: Chunked\r\n\r\n1;x=y\r\n{\r\n1\r\n}\r\n0\r\n\r\n",
    ["chunks with line feeds in them"] = "POST /a HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
      .. "3\r\n{\n\n\r\n2\r\n\n}\r\n0\r\n\r\n",
    ["a body with line feeds"] = "POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\n{\n}",
    ["a blank line before the request"] = "\r\nPOST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}",
  } do
    it(name .. " is served", function()
      local reply = say(bytes)
      assert.equal(200, reply.status)
      assert.matches("^{%s*}$", reply.body)
      assert.equal(1, #seen)
    end)
  end

  it("chunks that arrive in pieces is the same wherever they are cut", function()
    local bytes = "POST /a HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\n{\n\n\r\n2\r\n\n}\r\n0\r\n\r\n"
    local head = bytes:find("\r\n\r\n", 1, true) + 3
    for cut = head - 2, #bytes - 1 do
      for second = cut + 1, math.min(cut + 3, #bytes) do
        local reply = loop:run(function()
          local connection = client.connect(where)
          connection:write(bytes:sub(1, cut))
          connection:flush()
          require("cqueues").sleep(0.002)
          connection:write(bytes:sub(cut + 1, second))
          connection:flush()
          require("cqueues").sleep(0.002)
          local answer = client.exchange(connection, bytes:sub(second + 1))
          connection:close()
          return answer
        end)
        assert.same({ 200, "{\n\n\n}" }, { reply.status, reply.body })
      end
    end
  end)
end)
