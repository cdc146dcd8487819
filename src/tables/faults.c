/* The faults of the signing protocol (doc/protocol.md#protocol-faults) and what each says about the command.
 *
 * A row with resync is refused only when authenticated session info for this very message came with it and
 * proves that no copy of the message was taken; then the command is signed again once. Without that proof, as
 * for a number that has no row, the outcome is unknown.
 */
#include "tables/rows.h"

#define REFUSED OUTCOME_REFUSED, false, false
#define UNKNOWN OUTCOME_UNKNOWN, false, false
#define RESYNC OUTCOME_UNKNOWN, true, false
#define FINAL OUTCOME_UNKNOWN, false, true

const struct fault fault_rows[] = {
    {1, "BUSY", KIND_busy, REFUSED, "The vehicle is busy; try again in some seconds."},
    {2, "TIMEOUT", KIND_timeout, UNKNOWN, "A part of the vehicle did not answer."},
    {3, "UNKNOWN_KEY_ID", KIND_key_not_paired, REFUSED,
     "The key is not on the vehicle; the owner adds it at the address of client:pairing_url."},
    {4, "INACTIVE_KEY", KIND_forbidden, REFUSED, "The key is disabled on the vehicle."},
    {5, "INVALID_SIGNATURE", KIND_protocol, RESYNC, "The vehicle did not accept the signature."},
    {6, "INVALID_TOKEN_OR_COUNTER", KIND_protocol, RESYNC, "The counter was used already or is too old."},
    {7, "INSUFFICIENT_PRIVILEGES", KIND_forbidden, REFUSED,
     "The role of the key or the state of the vehicle forbids it."},
    {8, "INVALID_DOMAINS", KIND_unsupported, REFUSED, "The vehicle does not know the addressed part."},
    {9, "INVALID_COMMAND", KIND_unsupported, REFUSED, "The vehicle's firmware does not know this command."},
    {10, "DECODING", KIND_invalid, REFUSED, "The vehicle could not read the message."},
    {11, "INTERNAL", KIND_service, UNKNOWN, "An internal error of the vehicle, usual while it starts."},
    {12, "WRONG_PERSONALIZATION", KIND_invalid, REFUSED, "The message is meant for another VIN."},
    {13, "BAD_PARAMETER", KIND_invalid, REFUSED, "A part of the message is malformed or no longer in use."},
    {14, "KEYCHAIN_IS_FULL", KIND_limit_exceeded, REFUSED,
     "The vehicle holds as many keys as it can; remove one."},
    {15, "INCORRECT_EPOCH", KIND_protocol, RESYNC, "The vehicle restarted since the session began."},
    {16, "IV_INCORRECT_LENGTH", KIND_invalid, REFUSED, "The nonce has a wrong length."},
    {17, "TIME_EXPIRED", KIND_timeout, RESYNC, "The command was too old when it arrived."},
    {18, "NOT_PROVISIONED_WITH_IDENTITY", KIND_service, REFUSED,
     "The vehicle has no VIN configured; it needs service."},
    {19, "COULD_NOT_HASH_METADATA", KIND_service, REFUSED, "An internal error of the vehicle."},
    {20, "TIME_TO_LIVE_TOO_LONG", KIND_invalid, RESYNC, "The command would stay valid for too long."},
    {21, "REMOTE_ACCESS_DISABLED", KIND_forbidden, REFUSED, "Mobile access is switched off in the vehicle."},
    {22, "REMOTE_SERVICE_ACCESS_DISABLED", KIND_forbidden, REFUSED, "Service keys are not allowed remotely."},
    {23, "COMMAND_REQUIRES_ACCOUNT_CREDENTIALS", KIND_unsupported, REFUSED,
     "The command needs an account: send it through the service."},
    {24, "REQUEST_MTU_EXCEEDED", KIND_invalid, REFUSED, "A part of the message is too long."},
    {25, "RESPONSE_MTU_EXCEEDED", KIND_protocol, FINAL,
     "Carried out, but the answer was too long to be sent."},
    {26, "REPEATED_COUNTER", KIND_protocol, FINAL, "The counter was seen before."},
    {27, "INVALID_KEY_HANDLE", KIND_invalid, REFUSED, "The vehicle needs the whole public key."},
    {28, "REQUIRES_RESPONSE_ENCRYPTION", KIND_invalid, REFUSED,
     "The command must ask for an encrypted answer."},
    {0, NULL, KIND_none, OUTCOME_NONE, false, false, NULL}};
