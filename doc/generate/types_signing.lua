-- The part of lua/fleet/types.lua about keys, sessions and receivers. It has no rows, so it is written here as text.
return [[
---"vehicle_security" (locks, trunks, keys) or "infotainment" (everything else).
---@alias fleet.domain "vehicle_security"|"infotainment"

fleet.key = {}

---A new private key of the curve P-256.
---@return fleet.key
function fleet.key.generate() end

---A key from a file or from PEM text. A file that others can read is refused.
---@param path_or_pem string
---@param passphrase? string
---@param options? { insecure_key_mode?: boolean }
---@return fleet.key? key
---@return fleet.err err
---@return fleet.kind kind
function fleet.key.load(path_or_pem, passphrase, options) end

---The 65 bytes of a public key as it is hosted.
---@param pem string
---@return string? bytes
---@return fleet.err err
---@return fleet.kind kind
function fleet.key.public_bytes(pem) end

---A private key. It never shows its secret number.
---@class fleet.key
local key = {}

---Saves with mode 0600 and never over a file; encrypted when a passphrase is given.
---@param path string
---@param passphrase? string
---@return boolean? done
---@return fleet.err err
---@return fleet.kind kind
function key:save(path, passphrase) end

---@return string pem the public half, for hosting
function key:public_pem() end

---@return string bytes the public half as the wire has it: 65 bytes
function key:public_bytes() end

---@return string hex SHA-256 of the public half
function key:fingerprint() end

---A signed token over claims, as vehicles want it for telemetry configurations.
---@param claims table
---@param options? { vin?: string, app?: string }
---@return string? token
---@return fleet.err err
---@return fleet.kind kind
function key:jws(claims, options) end

---Forgets the key; sessions made from it go on.
function key:close() end

---The claims of a token whose signature is right.
---@param token string
---@param public_bytes string
---@return table? claims
---@return fleet.err err
---@return fleet.kind kind
function fleet.jws_verify(token, public_bytes) end

---@class fleet.session_options
---@field key fleet.key
---@field vin string
---@field domain fleet.domain
---@field state? string what export() gave; dropped in silence when it does not fit
---@field random? fun(count: integer): string in place of the system's random bytes
---@field clock? fun(): number, number? in place of the system's: seconds, and the wall clock if that is another one

---The client's side of one domain of one vehicle: bytes in, bytes out.
---@param options fleet.session_options
---@return fleet.session
function fleet.session(options) end

---@class fleet.session
local session = {}

---@return string? bytes to send; give the answer to accept()
---@return fleet.err err
---@return fleet.kind kind
function session:handshake() end

---Takes the vehicle's answer to a handshake; believed only when its tag is right.
---@param bytes string
---@return boolean? done
---@return fleet.err err
---@return fleet.kind kind
function session:accept(bytes) end

---@class fleet.sign_options
---@field method? "hmac"|"gcm"
---@field expires_in? number
---@field encrypt_response? boolean
---@field flags? integer
---@field again? string id of a message that the vehicle proved not to have taken: its counter is used once more
---@field unpublished? boolean for command(): also the forms that are not published

---A signed message with a counter of its own, or with that of the message whose id is given as `again`.
---@param payload string
---@param options? fleet.sign_options
---@return string? bytes
---@return string|fleet.err id what open() says the answer belongs to
---@return fleet.kind kind
function session:sign(payload, options) end

---A command as base64 text, for routable_message: fleet.command, sign and fleet.base64 in one. Raises like fleet.command.
---@param name string
---@param params? table
---@param options? fleet.sign_options
---@return string? text
---@return string|fleet.err id what open() says the answer belongs to
---@return fleet.kind kind
function session:command(name, params, options) end

---The answer to a signed message. err.outcome says what became of the command; "refused" after a fault that asks for another
---counter, epoch or time means that the vehicle proved not to have taken it: sign once more.
---@param bytes string
---@return string? payload
---@return string|fleet.err id
---@return boolean|fleet.kind authenticated the answer was encrypted
---@return "wait"|"error"|nil status where the envelope's is not OK
function session:open(bytes) end

---The state for a later process: no secret, authenticated with the private key.
---@param ahead? integer counters that it leaves out
---@return string? state
---@return fleet.err err
---@return fleet.kind kind
function session:export(ahead) end

---@return boolean can_sign
function session:ready() end

---@return integer counter of the last message
function session:counter() end

---@return number seconds since the vehicle last confirmed the session, authenticated
function session:age() end

---@return boolean seen whether another process was seen to draw counters with the key
function session:shared() end

---Passes over so many counters.
---@param count integer
function session:skip(count) end

function session:close() end

---@class fleet.receiver_options
---@field key fleet.key the vehicle's
---@field vin string
---@field domain fleet.domain
---@field keys (string|{ public_key: string, role?: string })[] who may command; the role is OWNER where none is given
---@field random? fun(count: integer): string
---@field clock? fun(): number

---The vehicle's side: checks, replay window, roles, answers.
---@param options fleet.receiver_options
---@return fleet.receiver
function fleet.receiver(options) end

---@class fleet.receiver
local receiver = {}

---Checks a message and answers it, also where it is garbage. respond gives the application's answer and must not yield.
---@param message string
---@param respond? fun(payload: string): string?, integer?
---@return string? reply
---@return string? payload of an accepted command
---@return string? fault name of the fault in the reply
function receiver:handle(message, respond) end

---@param keys (string|{ public_key: string, role?: string })[]
function receiver:enroll(keys) end

---A new epoch, with clock and counters at 0.
function receiver:restart() end

function receiver:close() end]]
