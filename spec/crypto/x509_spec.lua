local core = require "fleet.core"

local function run(command)
  local pipe = assert(io.popen("(" .. command .. ") 2>/dev/null"))
  local text = pipe:read("a")
  pipe:close()
  return text
end

-- Four files in one folder: a root, a leaf of it, another root of the same name, and one for servers alone.
local function make_certificates()
  local folder = os.tmpname()
  os.remove(folder)
  local ec = "-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes"
  run(([[mkdir '%s' && cd '%s' &&
    openssl req -x509 %s -keyout root.key -out root.pem -days 36500 -subj /CN=root &&
    openssl req -x509 %s -keyout other.key -out other.pem -days 9 -subj /CN=root &&
    openssl req -x509 %s -keyout server.key -out server.pem -days 9 -subj /CN=t.example.com -addext keyUsage=digitalSignature &&
    printf 'authorityKeyIdentifier=keyid' > ext &&
    openssl req %s -keyout leaf.key -out leaf.csr -subj /CN=leaf &&
    openssl x509 -req -in leaf.csr -CA root.pem -CAkey root.key -CAcreateserial -days 9 -extfile ext -out leaf.pem]])
    :format(folder, folder, ec, ec, ec, ec))
  local texts = {}
  for _, name in ipairs { "root", "other", "server", "leaf" } do texts[name] = run("cat " .. folder .. "/" .. name .. ".pem") end
  texts.leaf_ends = tonumber(run(("date -u -d \"$(openssl x509 -in %s/leaf.pem -noout -enddate | cut -d= -f2)\" +%%s"):format(folder)))
  run("rm -r " .. folder)
  return texts
end

local made = make_certificates()

local function issuers(...)
  local list = assert(core.certificates(table.concat { ... }))
  for i, one in ipairs(list) do list[i] = one.has_issuer end
  return list
end

local function body_of(pem)
  return core.unbase64((pem:match("%-\n(.-)%-"):gsub("%s", "")))
end

local function pem_of(der)
  return "-----BEGIN CERTIFICATE-----\n" .. core.base64(der):gsub(("."):rep(64), "%0\n") .. "\n-----END CERTIFICATE-----\n"
end

describe("a chain of certificates", function()
  it("shows when each expires, also after 2050, when dates have another form", function()
    local list = assert(core.certificates(made.leaf .. made.root))
    assert.equal(made.leaf_ends, list[1].until_utc)
    local function year(utc) return string.sub(core.time_text(utc), 1, 4) end -- os.date ends in 2038 where Lua has 32 bits
    assert.equal(year(os.time() + 36500 * 86400), year(list[2].until_utc))
  end)

  it("shows whose issuer is missing", function()
    assert.same({ true, true }, issuers(made.leaf, made.root))
    assert.same({ true, true }, issuers(made.root, made.leaf))
    assert.same({ false }, issuers(made.leaf))
    assert.same({ true }, issuers(made.server))
  end)

  it("does not take another authority for the issuer because it has the same name", function()
    assert.same({ false, true }, issuers(made.leaf, made.other))
  end)

  it("may have other blocks and other text around the certificates", function()
    local block = "-----BEGIN X509 CRL-----\nAAAA\n-----END X509 CRL-----\n"
    assert.equal(2, #core.certificates("subject: leaf\r\n" .. made.leaf:gsub("\n", "\r\n") .. block .. made.root))
    assert.same({}, core.certificates(block))
    assert.same({}, core.certificates(""))
  end)

  it("is refused where a certificate is cut, changed, longer than itself or not closed, with its number", function()
    local der = body_of(made.root)
    assert.equal(1, #core.certificates(pem_of(der)))
    for _, broken in ipairs {
      pem_of(der:sub(1, -2)), pem_of(der .. "\0"), pem_of("\x31" .. der:sub(2)), pem_of(""),
      (made.root:gsub("%-%-%-%-%-END.*", "")), (made.root:gsub("\nMI", "\n!I")),
    } do
      local list, err, kind = core.certificates(made.leaf .. broken)
      assert.is_nil(list)
      assert.equal("invalid", kind)
      assert.equal("certificate 2 cannot be read: it was cut or changed", err.message)
    end
  end)

  it("is refused with a zero byte in it, where readers differ", function()
    local _, err, kind = core.certificates((made.root:gsub("CERTIFICATE", "%0\0", 1)))
    assert.same({ "invalid", "is no text" }, { kind, err.message })
  end)

  it("has at most 64 certificates", function()
    assert.equal(64, #core.certificates(made.root:rep(64)))
    local _, err = core.certificates(made.root:rep(65))
    assert.equal("holds more than 64 certificates", err.message)
  end)
end)
