-- The few names that differ between the Lua versions that this source may one day run on.

local function nothing()
end

return {
  close_coroutine = coroutine.close or nothing,
  unpack = table.unpack or unpack, -- luacheck: ignore
}
