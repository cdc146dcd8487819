-- A store on its own: what fleet keeps in one, and the promises that a store of yours has to keep.
local fleet = require "fleet"

local directory = os.tmpname()
os.remove(directory)
local store = assert(fleet.store.file(directory))

local generation = assert(store:put("note", "first", { durable = true }))
assert(store:put("note", "second", { durable = true, generation = generation }))
local _, err = store:put("note", "late", { durable = true, generation = generation })
print((store:get("note")), tostring(err))

local lease = assert(store:lease("note", 60))
print(store:lease("note", 60) == nil, lease.fence)
lease:release()

store:close()
os.execute("rm -r " .. directory)
