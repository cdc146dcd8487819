-- A virtual key: made, saved so that only its owner can read it, loaded again; and its public half.
local fleet = require "fleet"

local path = os.tmpname()
os.remove(path) -- a key is never written over a file
assert(fleet.key.generate():save(path, "a passphrase"))

local key, err = fleet.key.load(path)
print("without the passphrase:", key, err)

key = assert(fleet.key.load(path, "a passphrase"))
print("fingerprint:", key:fingerprint())
io.write(key:public_pem())

local saved, why = key:save(path)
print("over an existing file:", saved, why)
os.remove(path)
