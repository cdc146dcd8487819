/* What vehicles, sites and the authorization server say, and what it means:
 * doc/protocol.md#reasons, #token-errors.
 *
 * Reasons are free text of other people's making: what has no row passes through as it is and counts as
 * refused.
 */
#include "tables/rows.h"

#define VEHICLE(text, kind, doc)                                                                             \
  { text, MATCH_WHOLE, kind, OUTCOME_REFUSED, "vehicle", doc }
#define ALREADY(text, doc)                                                                                   \
  { text, MATCH_WHOLE, KIND_none, OUTCOME_NONE, "vehicle", doc }
#define SESSION(text)                                                                                        \
  VEHICLE(text, KIND_protocol,                                                                               \
          "The message did not fit the vehicle's session; the next one begins a new session.")
#define ASK_FIRST " Ask the user first; then manual_override = true forces the command."
#define EITHER(text, kind, doc)                                                                              \
  { text, MATCH_WHOLE, kind, OUTCOME_REFUSED, "vehicle or site", doc }
#define MAYBE(text, kind, doc)                                                                               \
  { text, MATCH_PART, kind, OUTCOME_UNKNOWN, "vehicle or site", doc }
#define PART(text, kind, doc)                                                                                \
  { text, MATCH_PART, kind, OUTCOME_REFUSED, "vehicle", doc }
#define SIGN_IN(text, kind, doc)                                                                             \
  { text, MATCH_WHOLE, kind, OUTCOME_REFUSED, "authorization", doc }
#define SKIPPED(text, kind, doc)                                                                             \
  { text, MATCH_WHOLE, kind, OUTCOME_REFUSED, "telemetry", doc }

#define INVALID_AUDIENCE                                                                                     \
  "The server does not know this address of the service for this application. A new application may have "   \
  "to "                                                                                                      \
  "wait hours or days; after that compare base_url with the region of the application."

const char *const proxy_prefixes[] = {
    "car could not execute command: ", "vcsec could not execute command: ", NULL};
const char *const reason_prefixes[] = {"vehicle rejected request: ", NULL};

const struct reason reason_rows[] = {
    /* ---- the wanted state holds already ---- */
    {"already_set", MATCH_WHOLE, KIND_none, OUTCOME_NONE, "vehicle or site",
     "The value equals the present one."},
    ALREADY("already_standard", "The limit is at the standard already."),
    ALREADY("already_started", "The charge limit asked for is at or below the standard."),
    ALREADY("is_charging", "The vehicle charges already."),
    ALREADY("not_charging", "The vehicle does not charge."),
    ALREADY("complete", "Charging is complete."),
    ALREADY("requested", "The request was received already."),
    ALREADY("already closed", "The charge port door is closed already."),
    {"already off", MATCH_TAIL, KIND_none, OUTCOME_NONE, "vehicle", "It is off already."},
    ALREADY("GENERICERROR_ALREADY_ON", "It is on already."),
    ALREADY("public_key_not_on_whitelist", "The vehicle does not know this key."),

    /* ---- the vehicle says no ---- */
    VEHICLE("cable connected", KIND_refused, "A charge cable is plugged in; unplug it to close the door."),
    VEHICLE("non-motorized charge port", KIND_refused, "The vehicle has no motor at the charge port door."),
    VEHICLE("car_wash", KIND_refused, "The vehicle is in car wash mode."),
    VEHICLE("not allowed", KIND_refused, "The drive is engaged or the vehicle is not in park."),
    VEHICLE("disconnected", KIND_refused, "No charger is connected."),
    VEHICLE("no_power", KIND_refused, "The charger gives no power."),
    EITHER("not_supported", KIND_refused, "The vehicle is not equipped for it."),
    VEHICLE("parental_controls_active", KIND_refused, "Parental Controls are active; deactivate them first."),
    VEHICLE("not_parked", KIND_refused, "The vehicle is not in park."),
    VEHICLE("could_not_wake_buses", KIND_busy, "A part of the vehicle did not wake; try again."),
    VEHICLE("cabin comfort remote settings not enabled", KIND_refused,
            "Climate is off: start auto_conditioning_start or climate keeper first."),
    EITHER("invalid_value", KIND_invalid, "The vehicle does not take this value."),
    {" param", MATCH_TAIL, KIND_invalid, OUTCOME_REFUSED, "vehicle",
     "The signing proxy misses a parameter or its type is wrong."},
    VEHICLE("low_power_mode_enforced", KIND_refused, "The vehicle insists on its low power mode."),
    VEHICLE("GENERICERROR_UNKNOWN", KIND_refused, "The vehicle gives no cause."),
    VEHICLE("GENERICERROR_CLOSURES_OPEN", KIND_refused, "A door, lid or window is open."),
    VEHICLE("GENERICERROR_DISABLED_FOR_USER_COMMAND", KIND_refused, "Switched off for commands of users."),
    VEHICLE("GENERICERROR_VEHICLE_NOT_IN_PARK", KIND_refused, "The vehicle is not in park."),
    VEHICLE("GENERICERROR_UNAUTHORIZED", KIND_forbidden, "The key may not do this."),
    VEHICLE("GENERICERROR_NOT_ALLOWED_OVER_TRANSPORT", KIND_unsupported, "Not possible over the internet."),
    VEHICLE("not_on_whitelist", KIND_key_not_paired,
            "The vehicle does not know the key: the owner adds it at the address of client:pairing_url."),
    VEHICLE("attempting_to_add_key_that_is_already_on_the_whitelist", KIND_conflict,
            "The vehicle has this key already: car:keys() shows its role."),
    VEHICLE("no_permission_to_remove_oneself", KIND_refused,
            "A key cannot remove itself: use another owner's key, or the vehicle's screen."),
    VEHICLE("whitelist_full", KIND_refused, "The vehicle has no room for another key: remove one first."),
    VEHICLE("no_permission_to_add", KIND_forbidden, "Only an owner's key may add keys."),
    VEHICLE("no_permission_to_remove", KIND_forbidden, "Only an owner's key may remove keys."),
    VEHICLE("invalid_public_key", KIND_invalid,
            "The vehicle does not take this key: it must be one of P-256."),
    SESSION("iv_smaller_than_expected"),
    SESSION("session_token_invalid"),
    SESSION("token_and_counter_invalid"),
    SESSION("aes_decrypt_auth"),
    SESSION("token_is_incorrect_length"),
    SESSION("incorrect_epoch"),
    SESSION("time_expired"),
    PART("unsigned_cmds_hardlocked", KIND_key_not_paired,
         "The vehicle takes signed commands only: set a key."),
    VEHICLE("low_power_mode_low_soc", KIND_refused, "The battery is low." ASK_FIRST),
    VEHICLE("low_soc", KIND_refused, "The battery is low." ASK_FIRST),
    VEHICLE("cpd_enabled", KIND_refused, "A child or a pet may be in the vehicle." ASK_FIRST),
    VEHICLE("too_far_from_vehicle", KIND_refused, "Give lat and lon of the vehicle's own position."),
    VEHICLE("speed_limit_mode_active", KIND_refused,
            "Speed Limit Mode is active: deactivate it first with its PIN."),
    VEHICLE("user not found", KIND_forbidden, "The account has no rights on this vehicle."),
    VEHICLE("mobile_access_disabled", KIND_forbidden, "Mobile access is switched off in the vehicle."),
    PART("public key has not been paired", KIND_key_not_paired,
         "The owner adds the key at the address of client:pairing_url."),
    PART("command protocol required", KIND_key_not_paired,
         "The vehicle takes signed commands only: set a key."),
    PART("vehicle is offline or asleep", KIND_asleep, "Wake the vehicle first."),
    PART("busy or finishing wake-up", KIND_busy, "Try again in some seconds."),
    PART("vehicle not connected", KIND_offline, "The vehicle has no connection."),
    PART("not in range", KIND_offline, "The proxy's radio does not reach the vehicle."),
    PART("no private key available", KIND_unsupported, "The proxy has no key to sign with."),
    PART("does not support protocol", KIND_unsupported, "The vehicle takes plain commands only."),
    PART("can only be sent over BLE", KIND_unsupported, "Not possible over the internet."),
    PART("requires using the REST API", KIND_unsupported, "Send it to the service, not to the proxy."),
    PART("command not implemented", KIND_unsupported, "The proxy does not know this command."),
    MAYBE("context deadline exceeded", KIND_timeout,
          "The proxy's time was over; look at the vehicle before repeating."),
    MAYBE("upstream internal error", KIND_service,
          "The service failed; look at the vehicle before repeating."),
    MAYBE("operation_timedout", KIND_timeout, "The vehicle took too long; look at it before repeating."),
    MAYBE("timed out", KIND_timeout, "The vehicle took too long; look at it before repeating."),
    MAYBE("timeout", KIND_timeout, "The vehicle took too long; look at it before repeating."),

    /* ---- the authorization server ---- */
    SIGN_IN("login_required", KIND_auth,
            "The refresh token is used, superseded or expired, or the password changed: sign in."),
    SIGN_IN("invalid_grant", KIND_auth, "The code or token is no longer good: sign in again."),
    SIGN_IN("invalid_auth_code", KIND_auth, "The code expired, usually within minutes: sign in again."),
    SIGN_IN("access_denied", KIND_auth, "The person did not consent."),
    SIGN_IN("invalid_redirect_url", KIND_invalid,
            "redirect_uri differs from the one of the sign-in or of the application."),
    SIGN_IN("unauthorized_client", KIND_invalid, "client_id and client_secret do not belong together."),
    SIGN_IN("invalid_client", KIND_invalid, "client_id and client_secret do not belong together."),
    SIGN_IN("unsupported_grant_type", KIND_invalid, "The server does not know this kind of token call."),
    SIGN_IN("invalid_request", KIND_invalid,
            "A field is wrong; often the audience is not a base address of the service."),
    {"code_verifier", MATCH_PART, KIND_invalid, OUTCOME_REFUSED, "authorization",
     "The code belongs to another sign-in than the pending table: begin a new one with authorize_url."},
    SIGN_IN("invalid_audience", KIND_invalid, INVALID_AUDIENCE),
    SIGN_IN("invalid_target", KIND_invalid, INVALID_AUDIENCE),
    SIGN_IN("invalid_scope", KIND_scope, "The application may not ask for this scope."),
    SIGN_IN("insufficient_scope", KIND_scope, "The token lacks a scope: sign in with it."),
    SIGN_IN("invalid_token", KIND_auth, "The token is no longer good: sign in again."),
    SIGN_IN("login_cancelled", KIND_auth, "The person ended the sign-in: begin a new one."),
    SIGN_IN("consent_required", KIND_auth, "The person must consent: sign in with prompt_missing_scopes."),
    SIGN_IN("interaction_required", KIND_auth,
            "The person must take part: sign in without prompt = \"none\"."),
    SIGN_IN("account_selection_required", KIND_auth, "The person must choose an account: sign in again."),
    SIGN_IN("user_not_found", KIND_auth, "There is no such account: sign in with another one."),
    SIGN_IN("invalid_redirect_uri", KIND_invalid,
            "redirect_uri differs from the one of the sign-in or of the application."),
    SIGN_IN("redirect_uri_mismatch", KIND_invalid,
            "redirect_uri differs from the one of the sign-in or of the application."),
    SIGN_IN("unsupported_response_type", KIND_invalid, "The application may not sign people in with a code."),
    SIGN_IN("unsupported_token_type", KIND_invalid, "The server does not know this kind of token."),
    SIGN_IN("invalid_request_object", KIND_invalid, "The server does not take this authorize address."),
    SIGN_IN("request_not_supported", KIND_invalid, "The server does not take this authorize address."),
    {"temporarily_unavailable", MATCH_WHOLE, KIND_service, OUTCOME_UNKNOWN, "authorization",
     "The server is busy or in maintenance: try again later."},
    {"server_error", MATCH_WHOLE, KIND_service, OUTCOME_UNKNOWN, "authorization",
     "The server failed: try again later."},

    /* ---- vehicles that a telemetry configuration skipped ---- */
    SKIPPED("missing_key", KIND_key_not_paired, "Pair the application's key with the vehicle."),
    SKIPPED("unsupported_hardware", KIND_unsupported,
            "S and X built before 2018 cannot stream, before 2021 not with a signed configuration."),
    SKIPPED(
        "unsupported_firmware", KIND_unsupported,
        "Needs firmware 2023.20, signed 2024.26, on Intel Atom based S and X 2025.20: update the vehicle."),
    SKIPPED(
        "cloud_manager_error", KIND_refused,
        "The vehicle could not connect to the telemetry server: look at its host name, port and certificate, "
        "and at ca in the configuration."),
    SKIPPED("config_manager_error", KIND_refused,
            "The vehicle could not use the telemetry configuration: look at its fields and at ca."),
    SKIPPED("max_configs", KIND_limit_exceeded,
            "The vehicle holds five configurations: remove one of another application."),
    {NULL, MATCH_WHOLE, KIND_none, OUTCOME_NONE, NULL, NULL}};

/* A new kind without a line is found by the assertion when it comes last, else by the spec. */
#define KIND(word, sentence) [KIND_##word - 1] = {#word, sentence}

const struct kind_row kind_rows[] = {
    KIND(network, "No connection, or it broke."),
    KIND(tls, "The other side's certificate or the encryption is not acceptable."),
    KIND(timeout, "The time given was over, or the service gave up waiting."),
    KIND(auth, "Sign in again."),
    KIND(forbidden, "The account or the key may not do this."),
    KIND(scope, "The token lacks a scope; err.scope names it."),
    KIND(not_found, "No such vehicle, site or record for this account."),
    KIND(rate_limited, "Too many calls; wait err.retry_after seconds."),
    KIND(asleep, "The vehicle sleeps: wake it, or call with wake = true."),
    KIND(offline, "The vehicle has no connection."),
    KIND(region, "The account lives in another region."),
    KIND(unregistered, "The application is not registered in this region: partner.register."),
    KIND(limit_exceeded, "A limit of the account or of the vehicle is used up."),
    KIND(unsupported, "This token, vehicle or firmware cannot do it."),
    KIND(key_not_paired,
         "The virtual key is not on the vehicle: the owner adds it at the address of client:pairing_url."),
    KIND(refused, "The vehicle or the site said no; err.reason says why."),
    KIND(busy, "Occupied; try again in some seconds."),
    KIND(protocol, "A reply that cannot be trusted or read."),
    KIND(service, "The service failed."),
    KIND(store, "The store cannot be read or written."),
    KIND(conflict, "Somebody else changed it in the meantime."),
    KIND(budget, "A budget of the caller is used up."),
    KIND(cancelled, "The task was cancelled."),
    KIND(closed, "The object is closed."),
    KIND(invalid, "The service did not accept the request as it was."),
    {NULL, NULL}};

_Static_assert(sizeof kind_rows / sizeof *kind_rows == KIND_COUNT, "one line per kind");
