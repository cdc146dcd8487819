local core = require "fleet.core"
local probe = require "probe_signing"
local process = require "spec.support.harness.process"
local signing = require "spec.support.fixtures.signing"
local stores = require "spec.support.fixtures.stores"
local unhex, hex = signing.unhex, signing.hex
local vectors = signing.vectors "protocol"

local function run(command)
  local pipe = assert(io.popen(command .. " 2>&1"))
  local text = pipe:read("a")
  pipe:close()
  return text
end

local function temporary()
  local path = os.tmpname()
  os.remove(path)
  return path
end

local function with_file(text, mode, fn)
  local path = temporary()
  local file = assert(io.open(path, "w"))
  file:write(text)
  file:close()
  assert(os.execute(("chmod %s '%s'"):format(mode, path)))
  fn(path)
  os.remove(path)
end

-- What stands at a domain in place of the public key, and what is said about it.
describe("fleet.key.public_bytes", function()
  local public = core.key.generate()

  it("reads the public half as it is hosted, whatever the line ends and the point's form", function()
    local pem = public:public_pem()
    assert.equal(public:public_bytes(), (core.key.public_bytes(pem)))
    assert.equal(public:public_bytes(), (core.key.public_bytes((pem:gsub("\n", "\r\n")))))
    local path = temporary()
    assert(public:save(path))
    local compressed = run(("openssl ec -in '%s' -pubout -conv_form compressed 2>/dev/null"):format(path))
    os.remove(path)
    assert.matches("BEGIN PUBLIC KEY", compressed)
    assert.equal(public:public_bytes(), (core.key.public_bytes(compressed)))
  end)

  local function refused(text, sentence)
    local found, err, kind = core.key.public_bytes(text)
    assert.is_nil(found)
    assert.equal("invalid", kind)
    assert.matches(sentence, err.message)
  end

  local function made(command)
    local path = temporary()
    local text = run(command:gsub("PATH", path))
    os.remove(path)
    return text
  end

  it("shouts at a private key, alone and beside a public one", function()
    local path = temporary()
    assert(public:save(path))
    local private = io.open(path):read("a")
    os.remove(path)
    refused(private, "anyone who reads it can command the vehicles")
    refused(public:public_pem() .. private, "anyone who reads it can command the vehicles")
  end)

  it("refuses certificates, RSA, other curves, other forms and pages, saying which it is", function()
    refused(made "openssl genrsa 2048 2>/dev/null | openssl pkey -pubout", "this is an RSA key")
    refused("-----BEGIN RSA PUBLIC KEY-----\nAAAA\n-----END RSA PUBLIC KEY-----\n", "this is an RSA key")
    refused(made "openssl ecparam -name secp384r1 -genkey -noout | openssl ec -pubout 2>/dev/null", "on the curve secp384r1")
    refused(made ("openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=x -keyout PATH 2>/dev/null"),
      "this is a certificate")
    refused("ssh-ed25519 AAAAC3 someone", "this is an OpenSSH key")
    local pem = public:public_pem()
    for _, text in ipairs { "", "<html>not found</html>", pem:gsub("PUBLIC", "PUBLIK"), pem:sub(1, 60), pem:gsub("A", "!", 1),
      string.rep(" ", 70000) .. pem } do
      refused(text, "not a public key in PEM form")
    end
  end)

  it("refuses a point that is not on the curve", function()
    local der = core.unbase64((public:public_pem():gsub("%-%-%-%-%-[^\n]*", ""):gsub("%s", "")))
    local off = der:sub(1, -2) .. string.char((der:byte(-1) + 1) % 256)
    refused("-----BEGIN PUBLIC KEY-----\n" .. core.base64(off) .. "\n-----END PUBLIC KEY-----\n", "not a public key")
  end)
end)

describe("fleet.key", function()
  it("reads the keys of the vectors", function()
    for _, k in ipairs(vectors.keys) do
      for _, side in ipairs { "client", "vehicle" } do
        local key = assert(core.key.load(k[side .. "_private_pem"]))
        assert.equal(k[side .. "_public"], hex(key:public_bytes()))
      end
    end
  end)

  it("makes keys that differ, with 65 bytes of public key on the curve", function()
    local a, b = core.key.generate(), core.key.generate()
    assert.not_equal(a:public_bytes(), b:public_bytes())
    assert.equal(65, #a:public_bytes())
    assert.equal("\4", a:public_bytes():sub(1, 1))
    assert.is_string((probe.derive(unhex(vectors.keys[1].client_private), a:public_bytes())))
  end)

  it("saves with mode 0600, and what it saved loads as the same key", function()
    local key, path = core.key.generate(), temporary()
    assert.is_true(key:save(path))
    assert.equal("600\n", run(("stat -c %%a '%s'"):format(path)))
    assert.equal(key:public_bytes(), assert(core.key.load(path)):public_bytes())
    os.remove(path)
  end)

  it("says that a file size limit leaves no room, survives the signal and leaves no half of a file", function()
    local path = temporary()
    local text, ended = stores.process([[
      local _, err, kind = require "fleet.core".key.generate():save((...))
      print(kind, err.message)
    ]], { path }, "ulimit -f 0; %s 2>&1 | cat")
    assert.equal("exit 0", ended, text)
    assert.matches("^store\t.*could not be written whole", text)
    assert.is_nil(io.open(path))
  end)

  it("never saves over a file, nor through a link", function()
    local key, path = core.key.generate(), temporary()
    assert(key:save(path))
    local first = io.open(path):read("a")
    local saved, err, kind = key:save(path)
    assert.is_nil(saved)
    assert.equal("conflict", kind)
    assert.is_string(err.message)
    assert.equal(first, io.open(path):read("a"))
    local link = temporary()
    assert(os.execute(("ln -s '%s' '%s'"):format(temporary(), link)))
    assert.is_nil((key:save(link)))
    assert.equal("store", select(3, key:save("/nowhere/at/all.pem")))
    os.remove(path)
    os.remove(link)
  end)

  it("writes SEC1 text that other tools read, with the same public half", function()
    local key, path = core.key.generate(), temporary()
    assert(key:save(path))
    assert.equal(key:public_pem(), run(("openssl pkey -in '%s' -pubout"):format(path)))
    assert.matches("BEGIN EC PRIVATE KEY", io.open(path):read("a"))
    os.remove(path)
  end)

  it("encrypts with a passphrase, and opens with that one only", function()
    local key, path = core.key.generate(), temporary()
    assert(key:save(path, "correct horse"))
    assert.matches("BEGIN ENCRYPTED PRIVATE KEY", io.open(path):read("a"))
    assert.equal(key:public_bytes(), assert(core.key.load(path, "correct horse")):public_bytes())
    assert.matches("passphrase does not open", tostring(select(2, core.key.load(path, "wrong"))))
    assert.matches("give its passphrase", tostring(select(2, core.key.load(path))))
    os.remove(path)
  end)

  it("opens the older encrypted form with its passphrase, and with that one only", function()
    local plain, path = core.key.generate(), temporary()
    assert(plain:save(path))
    local pem = run(("openssl ec -in '%s' -aes128 -passout pass:correct 2>/dev/null"):format(path))
    assert.matches("Proc%-Type: 4,ENCRYPTED", pem)
    assert.equal(plain:public_bytes(), assert(core.key.load(pem, "correct")):public_bytes())
    assert.matches("passphrase does not open", tostring(select(2, core.key.load(pem, "wrong"))))
    assert.matches("give its passphrase", tostring(select(2, core.key.load(pem))))
    os.remove(path)
  end)

  it("refuses blocks that hold no key", function()
    local function block(label, content)
      return ("-----BEGIN %s-----\n%s\n-----END %s-----\n"):format(label, content, label)
    end
    for _, content in ipairs { "", "!!!!", "AAAA", "MAA=", core.base64(("\48"):rep(100)) } do
      for _, label in ipairs { "EC PRIVATE KEY", "PRIVATE KEY" } do
        local key, err, kind = core.key.load(block(label, content))
        assert.is_nil(key)
        assert.same({ "invalid", "this is not a private key in PEM form" }, { kind, err.message })
      end
    end
    assert.is_nil((core.key.load(block("EC PARAMETERS", "BggqhkjOPQMBBw=="))))
  end)

  it("has the fingerprint that its public half alone has, and half a public key has none", function()
    local key = core.key.generate()
    assert.equal(key:fingerprint(), core.public_fingerprint(key:public_bytes()))
    assert.has_error(function() core.public_fingerprint(key:public_bytes():sub(1, 64)) end)
  end)

  it("has the fingerprint that openssl computes over the public key", function()
    local key, path = core.key.generate(), temporary()
    assert(key:save(path))
    local digest = run(("openssl pkey -in '%s' -pubout -outform DER | openssl dgst -sha256"):format(path))
    assert.equal(digest:match("(%x+)%s*$"), key:fingerprint())
    os.remove(path)
  end)

  it("reads PKCS8 and files with parameters before the key", function()
    local pem = run("openssl ecparam -name prime256v1 -genkey")
    assert.is_userdata((core.key.load(pem)))
    local path = temporary()
    run(("openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out '%s'; chmod 600 '%s'"):format(path, path))
    assert.is_userdata((core.key.load(path)))
    os.remove(path)
  end)

  it("reads the short forms that leave the public half out", function()
    local k = vectors.keys[1]
    local sec1 = "30310201010420" .. k.client_private .. "a00a06082a8648ce3d030107"
    local pkcs8 = "3041020100301306072a8648ce3d020106082a8648ce3d030107042730250201010420" .. k.client_private
    for label, der in pairs { ["EC PRIVATE KEY"] = sec1, ["PRIVATE KEY"] = pkcs8 } do
      local function pem(hexadecimal)
        return ("-----BEGIN %s-----\n%s\n-----END %s-----\n"):format(label, core.base64(unhex(hexadecimal)), label)
      end
      assert.equal(k.client_public, hex(assert(core.key.load(pem(der))):public_bytes()))
      assert.is_nil((core.key.load(pem(der:gsub(k.client_private, ("0"):rep(64))))))
      assert.is_nil((core.key.load(pem(der:gsub(k.client_private, ("f"):rep(64))))))
      assert.is_nil((core.key.load(pem(der:sub(1, -3)))))
    end
  end)

  it("refuses every other kind of key with a sentence that says which it is", function()
    local refused = {
      { "openssl genpkey -algorithm RSA -pkeyopt rsa_keygen_bits:1024 2>/dev/null", "RSA" },
      { "openssl ecparam -name secp384r1 -genkey -noout", "secp384r1" },
      { "openssl ecparam -name secp256k1 -genkey -noout", "secp256k1" },
      { "openssl genpkey -algorithm ED25519", "ED25519" },
      { "openssl ecparam -name prime256v1 -genkey -noout | openssl pkey -pubout", "public key" },
      { "echo nothing", nil },
    }
    for _, row in ipairs(refused) do
      local pem = run(row[1])
      if row[2] then
        local key, err, kind = core.key.load(pem)
        assert.is_nil(key)
        assert.equal("invalid", kind)
        assert.matches(row[2], err.message)
      else
        with_file(pem, "600", function(path) assert.equal("invalid", select(3, core.key.load(path))) end)
      end
    end
  end)

  it("refuses a file whose two halves do not belong together", function()
    local a = temporary()
    assert(core.key.generate():save(a))
    local good = io.open(a):read("a")
    local der = core.unbase64((good:gsub("%-%-%-%-%-[^\n]*", ""):gsub("%s", "")))
    local b = der:sub(1, #der - 65) .. core.key.generate():public_bytes()
    local text = "-----BEGIN EC PRIVATE KEY-----\n" .. core.base64(b):gsub(("."):rep(64), "%0\n") .. "\n-----END EC PRIVATE KEY-----\n"
    assert.is_userdata((core.key.load(good)))
    assert.is_nil((core.key.load(text)))
    os.remove(a)
  end)

  it("refuses one whose halves do not belong together in an encrypted file, too", function()
    local path = temporary()
    assert(core.key.generate():save(path))
    local der = core.unbase64((io.open(path):read("a"):gsub("%-%-%-%-%-[^\n]*", ""):gsub("%s", "")))
    local mixed = der:sub(1, #der - 65) .. core.key.generate():public_bytes()
    local file = assert(io.open(path, "w"))
    file:write("-----BEGIN EC PRIVATE KEY-----\n", (core.base64(mixed):gsub(("."):rep(64), "%0\n")), "\n-----END EC PRIVATE KEY-----\n")
    file:close()
    local pem = run(("openssl ec -in '%s' -aes128 -passout pass:correct 2>/dev/null"):format(path))
    assert.matches("ENCRYPTED", pem)
    local key, err = core.key.load(pem, "correct")
    assert.is_nil(key)
    assert.matches("do not belong together", err.message)
    os.remove(path)
  end)

  it("refuses a file that others can read, unless an option allows it", function()
    with_file(vectors.keys[1].client_private_pem, "644", function(path)
      local key, err = core.key.load(path)
      assert.is_nil(key)
      assert.matches("chmod 600", err.message)
      assert.is_userdata((core.key.load(path, nil, { insecure_key_mode = true })))
      assert.has_error(function() core.key.load(path, nil, { insecure = true }) end)
    end)
    with_file(vectors.keys[1].client_private_pem, "640", function(path) assert.is_nil((core.key.load(path))) end)
    with_file(vectors.keys[1].client_private_pem, "400", function(path) assert.is_userdata((core.key.load(path))) end)
  end)

  it("prints nothing secret, closes twice, and is refused when closed", function()
    local key = core.key.generate()
    assert.equal("fleet.key", tostring(key))
    key:close()
    key:close()
    assert.equal("fleet.key (closed)", tostring(key))
    assert.has_error(function() key:public_bytes() end)
    assert.has_error(function() core.session { key = key, vin = "5YJ30123456789ABC", domain = "infotainment" } end)
  end)

  it("lives as long as a session needs it", function()
    local key = core.key.generate()
    local s = core.session { key = key, vin = "5YJ30123456789ABC", domain = "infotainment" }
    key:close()
    collectgarbage()
    assert.is_string((s:handshake()))
  end)

  it("does in the example what its manual page says", function()
    local text = run(process.lua .. " examples/keys.lua")
    assert.matches("without the passphrase:%s+nil%s+.*give its passphrase", text)
    assert.matches("fingerprint:%s+%x+\n%-%-%-%-%-BEGIN PUBLIC KEY", text)
    assert.matches("over an existing file:%s+nil%s+.*is there already", text)
  end)
end)
