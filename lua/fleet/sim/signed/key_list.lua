-- Lists and changes the keys of a vehicle, as its security computer does. Only an OWNER's key may change them; fleet.receiver checks that
-- first.
local computers = require("fleet.sim.signed.computers")
local keys = require("fleet.sim.keys")
local vehicles = require("fleet.sim.vehicle")

local M = {}

local function raw(key)
  return computers.bytes_of(key.public_key)
end

-- The id of a key: the first four bytes of the SHA-1 of the public key.
local function id_of(x, key)
  return x.service.core.sha1(raw(key)):sub(1, 4)
end

local function answer(x, members)
  return x.service.core.encode_message("VCSEC.FromVCSECMessage", members)
end

-- ---- reading ----

function M.summary(x)
  local out, mask = { ["whitelistInfo.numberOfEntries"] = #x.vehicle.keys }, 0
  for i, key in ipairs(x.vehicle.keys) do
    out[("whitelistInfo.whitelistEntries[%d].publicKeySHA1"):format(i)] = id_of(x, key)
    mask = mask + 2 ^ key.slot
  end
  out["whitelistInfo.slotMask"] = mask
  return answer(x, out)
end

local function find(x, asked)
  local core = x.service.core
  local id = asked.keyId and core.unbase64(asked.keyId.publicKeySHA1 or "")
  local public = asked.publicKey and core.unbase64(asked.publicKey)
  for _, key in ipairs(x.vehicle.keys) do
    if (asked.slot and key.slot == asked.slot) or (id and id_of(x, key) == id) or (public and raw(key) == public) then return key end
  end
end

function M.entry(x, asked)
  local key = find(x, asked)
  if not key then return nil, "unknown_key" end
  return answer(x, {
    ["whitelistEntryInfo.keyId.publicKeySHA1"] = id_of(x, key), ["whitelistEntryInfo.publicKey.PublicKeyRaw"] = raw(key),
    ["whitelistEntryInfo.metadataForKey.keyFormFactor"] = key.form_factor or "KEY_FORM_FACTOR_UNKNOWN",
    ["whitelistEntryInfo.slot"] = key.slot, ["whitelistEntryInfo.keyRole"] = "ROLE_" .. key.role,
  })
end

-- ---- changing: an operation → nil, or the reason as VCSEC.WhitelistOperation_information_E names it ----

local NAME = "WHITELISTOPERATION_INFORMATION_"

local function public_of(x, written)
  local bytes = written and written.PublicKeyRaw and x.service.core.unbase64(written.PublicKeyRaw)
  return bytes and keys.hex_of_bytes(bytes)
end

local function role_of(written)
  local role = written and written:match("^ROLE_(.+)$")
  return role ~= "NONE" and role or nil
end

local function add(x, public, role, members)
  if not public then return "INVALID_PUBLIC_KEY" end
  if x.vehicle:has_key(public) then return "ATTEMPTING_TO_ADD_KEY_THAT_IS_ALREADY_ON_THE_WHITELIST" end
  if not role then return "ATTEMPTING_TO_ADD_KEY_WITHOUT_ROLE" end
  if role == "SERVICE" then return "ATTEMPTING_TO_ADD_KEY_WITH_SERVICE_ROLE" end
  if #x.vehicle.keys >= vehicles.MOST_KEYS then return "WHITELIST_FULL" end
  x.vehicle:add_key({
    public_key = public, role = role, form_factor = members and members.form_factor, impermanent = members and members.impermanent,
  })
end

local function remove(x, public)
  local key = public and x.vehicle:has_key(public)
  if not public then return "INVALID_PUBLIC_KEY" end
  if not key then return "PUBLIC_KEY_NOT_ON_WHITELIST" end
  if raw(key) == x.signer then return "NO_PERMISSION_TO_REMOVE_ONESELF" end
  x.vehicle:remove_key(key)
end

local function change_role(x, change)
  local public, role = public_of(x, change.key), role_of(change.keyRole)
  local key = public and x.vehicle:has_key(public)
  if not key then return "PUBLIC_KEY_NOT_ON_WHITELIST" end
  if raw(key) == x.signer then return "ATTEMPTING_TO_REMOVE_OWN_PERMISSIONS" end
  if not role then return "ATTEMPTING_TO_ADD_KEY_WITHOUT_ROLE" end
  key.role = role
end

local function remove_impermanent(x)
  for i = #x.vehicle.keys, 1, -1 do
    local key = x.vehicle.keys[i]
    if key.impermanent and raw(key) ~= x.signer then x.vehicle:remove_key(key) end
  end
end

local operations = {}

function operations.addKeyToWhitelistAndAddPermissions(x, change, metadata)
  return add(x, public_of(x, change.key), role_of(change.keyRole), metadata)
end

function operations.addImpermanentKey(x, change)
  return add(x, public_of(x, change.key), role_of(change.keyRole), { impermanent = true })
end

function operations.addImpermanentKeyAndRemoveExisting(x, change)
  remove_impermanent(x)
  return operations.addImpermanentKey(x, change)
end

function operations.addPublicKeyToWhitelist(x, written)
  return add(x, public_of(x, written))
end

function operations.removePublicKeyFromWhitelist(x, written)
  return remove(x, public_of(x, written))
end

operations.addPermissionsToPublicKey, operations.updateKeyAndPermissions = change_role, change_role

function operations.removeAllImpermanentKeys(x)
  remove_impermanent(x)
end

local function replaced(x, change)
  if change.publicKeyToReplace then return public_of(x, change.publicKeyToReplace) end
  local key = find(x, { slot = change.slotToReplace or 0 })
  return key and key.public_key
end

function operations.replaceKey(x, change)
  local old, new = replaced(x, change), public_of(x, change.keyToAdd)
  local role = role_of(change.keyRole)
  if not new then return "INVALID_PUBLIC_KEY" end
  if x.vehicle:has_key(new) then return "ATTEMPTING_TO_ADD_KEY_THAT_IS_ALREADY_ON_THE_WHITELIST" end
  if not role then return "ATTEMPTING_TO_ADD_KEY_WITHOUT_ROLE" end
  return remove(x, old) or add(x, new, role, { impermanent = change.impermanent })
end

local function verdict(x, reason)
  local status = "commandStatus.whitelistOperationStatus."
  local signer = x.vehicle:has_key(keys.hex_of_bytes(x.signer or "") or "")
  local out = {
    ["commandStatus.operationStatus"] = reason and "OPERATIONSTATUS_ERROR" or "OPERATIONSTATUS_OK",
    [status .. "whitelistOperationInformation"] = NAME .. (reason or "NONE"),
    [status .. "operationStatus"] = reason and "OPERATIONSTATUS_ERROR" or "OPERATIONSTATUS_OK",
  }
  if signer then out[status .. "signerOfOperation.publicKeySHA1"] = id_of(x, signer) end
  return answer(x, out)
end

--- A VCSEC.WhitelistOperation. x.signer: the bytes of the public key that signed it.
function M.change(x, asked)
  for name, operation in pairs(operations) do
    if asked[name] then
      local metadata = asked.metadataForKey and { form_factor = asked.metadataForKey.keyFormFactor }
      local reason = operation(x, asked[name], metadata)
      if not reason then computers.keys_changed(x.vehicle) end
      return verdict(x, reason)
    end
  end
  return verdict(x, "UNDOCUMENTED_ERROR")
end

return M
