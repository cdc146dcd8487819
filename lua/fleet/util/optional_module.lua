-- Optional modules are separate shared objects (fleet.server, fleet.redis, fleet.mosquitto, fleet.stream). A build without the library of
-- one lacks that module; the error then is a sentence with the fix instead of a list of searched paths.

local libraries = {
  server = "libmicrohttpd", redis = "hiredis", mosquitto = "libmosquitto", stream = "libssl and libprotobuf-c",
}

local M = {}

--- Returns the module, or nil and a sentence that says how to get it. A module that exists and fails to load gives the loader's reason.
function M.find(name)
  local ok, module = pcall(require, "fleet." .. name)
  if ok then return module end
  if not string.find(module, "^module 'fleet%.[%w_]+' not found") then return nil, module end
  return nil, string.format("this build of fleet has no fleet.%s: install the development package of %s and build again", name,
    libraries[name])
end

--- Returns the module; raises the sentence.
function M.need(name)
  local module, why = M.find(name)
  if not module then error(why, 0) end
  return module
end

--- Which modules can be loaded here: name -> true or the sentence.
function M.all()
  local found = {}
  for name in pairs(libraries) do
    local module, why = M.find(name)
    found[name] = module and true or why
  end
  return found
end

return M
