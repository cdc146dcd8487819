/* The faults of the signing protocol and their meaning for the command: doc/protocol.md#protocol-faults.
 *
 * With resync, the outcome is refused only if authenticated session info for this message proves that the
 * vehicle took no copy of it. The command is then signed again, once. Without that proof, and for an unknown
 * number, the outcome is unknown.
 */
#include "tables/rows.h"

#define REFUSED OUTCOME_REFUSED, false, false
#define UNKNOWN OUTCOME_UNKNOWN, false, false
#define RESYNC OUTCOME_UNKNOWN, true, false
#define FINAL OUTCOME_UNKNOWN, false, true

const struct fault fault_rows[] = {
    {1, "BUSY", KIND_busy, REFUSED, "The vehicle is busy: try again in some seconds."},
    {2, "TIMEOUT", KIND_timeout, UNKNOWN,
     "A part of the vehicle did not answer in time: read the vehicle before you repeat a command."},
    {3, "UNKNOWN_KEY_ID", KIND_key_not_paired, REFUSED,
     "The key is not on the vehicle: the owner adds it at the address of client:pairing_url."},
    {4, "INACTIVE_KEY", KIND_forbidden, REFUSED, "The key is disabled on the vehicle: pair another one."},
    {5, "INVALID_SIGNATURE", KIND_protocol, RESYNC,
     "The vehicle did not accept the signature; the client starts a new session for the next command."},
    {6, "INVALID_TOKEN_OR_COUNTER", KIND_protocol, RESYNC,
     "The counter was used already or is too old; the client starts a new session for the next command."},
    {7, "INSUFFICIENT_PRIVILEGES", KIND_forbidden, REFUSED,
     "The role of the key or the state of the vehicle forbids it: sign with a key of another role, or change "
     "the state."},
    {8, "INVALID_DOMAINS", KIND_unsupported, REFUSED,
     "The vehicle does not have the part that this command addresses."},
    {9, "INVALID_COMMAND", KIND_unsupported, REFUSED,
     "The vehicle's firmware does not know this command: update the vehicle."},
    {10, "DECODING", KIND_invalid, REFUSED, "The vehicle could not read the message."},
    {11, "INTERNAL", KIND_service, UNKNOWN,
     "An internal error of the vehicle, common while it starts: try again in a minute."},
    {12, "WRONG_PERSONALIZATION", KIND_invalid, REFUSED, "The message was signed for another VIN."},
    {13, "BAD_PARAMETER", KIND_invalid, REFUSED,
     "A part of the message is malformed, or the firmware no longer uses it."},
    {14, "KEYCHAIN_IS_FULL", KIND_limit_exceeded, REFUSED,
     "The vehicle has no room for another key: remove one first."},
    {15, "INCORRECT_EPOCH", KIND_protocol, RESYNC,
     "The vehicle restarted since the session began; the client starts a new session."},
    {16, "IV_INCORRECT_LENGTH", KIND_invalid, REFUSED, "The nonce has a wrong length."},
    {17, "TIME_EXPIRED", KIND_timeout, RESYNC, "The command arrived too late: its time had expired."},
    {18, "NOT_PROVISIONED_WITH_IDENTITY", KIND_service, REFUSED,
     "The vehicle has no VIN configured; it needs service."},
    {19, "COULD_NOT_HASH_METADATA", KIND_service, REFUSED, "An internal error of the vehicle."},
    {20, "TIME_TO_LIVE_TOO_LONG", KIND_invalid, RESYNC,
     "The message would stay valid for too long: use a shorter expires_in."},
    {21, "REMOTE_ACCESS_DISABLED", KIND_forbidden, REFUSED,
     "Mobile access is switched off: switch it on in the vehicle, under Controls, Safety."},
    {22, "REMOTE_SERVICE_ACCESS_DISABLED", KIND_forbidden, REFUSED,
     "The vehicle does not accept service keys over the internet."},
    {23, "COMMAND_REQUIRES_ACCOUNT_CREDENTIALS", KIND_unsupported, REFUSED,
     "The command needs an account: send it over the internet, not by Bluetooth."},
    {24, "REQUEST_MTU_EXCEEDED", KIND_invalid, REFUSED, "A part of the message is too long."},
    {25, "RESPONSE_MTU_EXCEEDED", KIND_protocol, FINAL,
     "The command was executed, but the answer was too long to be sent."},
    {26, "REPEATED_COUNTER", KIND_protocol, FINAL,
     "The vehicle has seen this counter before: the command may have been executed once."},
    {27, "INVALID_KEY_HANDLE", KIND_invalid, REFUSED, "The vehicle needs the whole public key."},
    {28, "REQUIRES_RESPONSE_ENCRYPTION", KIND_invalid, REFUSED,
     "The command must ask for an encrypted answer."},
    {0, NULL, KIND_none, OUTCOME_NONE, false, false, NULL}};
