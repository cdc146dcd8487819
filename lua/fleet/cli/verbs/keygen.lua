-- fleet keygen PATH: a new virtual key.

local core = require "fleet.core"

local function run(_, line)
  local path = line.words[1]
  local key = require("fleet").key.generate()
  local saved, err, kind = key:save(path)
  if not saved then return nil, err, kind end
  local value = { path = path, fingerprint = key:fingerprint(), public_key = key:public_pem() }
  key:close()
  return value
end

local function show(out, value)
  out:write("private key  ", value.path, " (readable by you only)\nfingerprint  ", value.fingerprint, "\n\nHost this public key at ",
    "https://DOMAIN", core.vendors()[1].key_path, ":\n", value.public_key)
end

return {
  {
    name = "keygen", words = { "PATH" }, local_only = true, run = run, show = show,
    doc = "Makes a virtual key: a PEM file with mode 0600, never over an existing file. Prints its public half.",
  },
}
