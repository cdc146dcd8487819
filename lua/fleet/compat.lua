-- The few names that differ between the Lua versions that this source may one day run on.

return {
  unpack = table.unpack or unpack, -- luacheck: ignore
}
