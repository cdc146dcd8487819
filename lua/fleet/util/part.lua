-- Optional parts are shared objects of their own (fleet.server, fleet.redis, fleet.mosquitto); a build leaves out those whose
-- library it does not find. What needs one says so in one sentence, in the place of a list of searched paths.

local libraries = {
  server = "libmicrohttpd", redis = "hiredis", mosquitto = "libmosquitto", stream = "libssl and libprotobuf-c",
}

local M = {}

--- The part's module, or nil and the sentence that says how to get it. A part that is there and cannot be loaded says why.
function M.find(name)
  local ok, part = pcall(require, "fleet." .. name)
  if ok then return part end
  if not string.find(part, "^module 'fleet%.[%w_]+' not found") then return nil, part end
  return nil, string.format("this build of fleet has no fleet.%s: install the development package of %s and build again", name,
    libraries[name])
end

--- The part's module; raises the sentence.
function M.need(name)
  local part, why = M.find(name)
  if not part then error(why, 0) end
  return part
end

--- Which parts can be loaded here: name -> true or the sentence.
function M.all()
  local found = {}
  for name in pairs(libraries) do
    local part, why = M.find(name)
    found[name] = part and true or why
  end
  return found
end

return M
