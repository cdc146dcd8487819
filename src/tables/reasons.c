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
          "The message did not match the vehicle's session. It was not executed: send it again, which "      \
          "starts a new session.")
#define ASK_FIRST " Ask the user first. manual_override = true then forces the command."
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
  "Tesla does not accept this base address for the application. A new application may have to wait hours "   \
  "or days; otherwise compare base_url with the application's region."

const char *const proxy_prefixes[] = {
    "car could not execute command: ", "vcsec could not execute command: ", NULL};
const char *const reason_prefixes[] = {"vehicle rejected request: ", NULL};

const struct reason reason_rows[] = {
    /* ---- the wanted state holds already ---- */
    {"already_set", MATCH_WHOLE, KIND_none, OUTCOME_NONE, "vehicle or site", "The value is set already."},
    ALREADY("already_standard", "The charge limit is the standard already."),
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
    VEHICLE("cable connected", KIND_refused,
            "The charge port door cannot close while a cable is plugged in: unplug it first."),
    VEHICLE("non-motorized charge port", KIND_refused,
            "The charge port door has no motor: close it by hand."),
    VEHICLE("car_wash", KIND_refused, "The vehicle is in car wash mode: end that mode first."),
    VEHICLE("not allowed", KIND_refused,
            "The vehicle is not in park, or its drive is engaged: park it first."),
    VEHICLE("disconnected", KIND_refused, "No charger is connected: plug in the cable first."),
    VEHICLE("no_power", KIND_refused, "The charger gives no power: check the charger."),
    EITHER("not_supported", KIND_refused, "The vehicle is not equipped for it, or its firmware is too old."),
    VEHICLE("parental_controls_active", KIND_refused, "Parental Controls are active: deactivate them first."),
    VEHICLE("not_parked", KIND_refused, "The vehicle is not in park: park it first."),
    VEHICLE("could_not_wake_buses", KIND_busy,
            "A part of the vehicle did not wake: try again in some seconds."),
    VEHICLE("cabin comfort remote settings not enabled", KIND_refused,
            "The climate is off: start it first with auto_conditioning_start or set_climate_keeper_mode."),
    EITHER("invalid_value", KIND_invalid,
           "The vehicle or site does not accept this value: the help of the command names the range."),
    {" param", MATCH_TAIL, KIND_invalid, OUTCOME_REFUSED, "vehicle",
     "The signing proxy found a parameter missing or of the wrong type: compare the call with the "
     "reference."},
    VEHICLE("low_power_mode_enforced", KIND_refused,
            "The vehicle enforces its low power mode, so it cannot be switched off."),
    VEHICLE("GENERICERROR_UNKNOWN", KIND_refused, "The vehicle refused and gave no cause."),
    VEHICLE("GENERICERROR_CLOSURES_OPEN", KIND_refused, "A door, lid or window is open: close it first."),
    VEHICLE("GENERICERROR_DISABLED_FOR_USER_COMMAND", KIND_refused,
            "The vehicle does not accept this command from users."),
    VEHICLE("GENERICERROR_VEHICLE_NOT_IN_PARK", KIND_refused, "The vehicle is not in park: park it first."),
    VEHICLE("GENERICERROR_UNAUTHORIZED", KIND_forbidden,
            "The role of the key does not allow this: sign with a key of another role."),
    VEHICLE("GENERICERROR_NOT_ALLOWED_OVER_TRANSPORT", KIND_unsupported,
            "The vehicle accepts this by Bluetooth only, not over the internet."),
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
            "The vehicle does not accept this key: it must be a P-256 key."),
    SESSION("iv_smaller_than_expected"),
    SESSION("session_token_invalid"),
    SESSION("token_and_counter_invalid"),
    SESSION("aes_decrypt_auth"),
    SESSION("token_is_incorrect_length"),
    SESSION("incorrect_epoch"),
    SESSION("time_expired"),
    PART("unsigned_cmds_hardlocked", KIND_key_not_paired,
         "The vehicle accepts signed commands only: set a key, and pair it."),
    VEHICLE("low_power_mode_low_soc", KIND_refused, "The battery is low." ASK_FIRST),
    VEHICLE("low_soc", KIND_refused, "The battery is low." ASK_FIRST),
    VEHICLE("cpd_enabled", KIND_refused, "A child or a pet may be in the vehicle." ASK_FIRST),
    VEHICLE("too_far_from_vehicle", KIND_refused,
            "The position is too far from the vehicle: give the lat and lon of the vehicle itself."),
    VEHICLE("speed_limit_mode_active", KIND_refused,
            "Speed Limit Mode is active: deactivate it first with its PIN."),
    VEHICLE("user not found", KIND_forbidden,
            "The account has no rights on this vehicle: sign in as its owner or as one of its drivers."),
    VEHICLE("mobile_access_disabled", KIND_forbidden,
            "Mobile access is switched off: switch it on in the vehicle, under Controls, Safety."),
    PART("public key has not been paired", KIND_key_not_paired,
         "The key is not on the vehicle: the owner adds it at the address of client:pairing_url."),
    PART("command protocol required", KIND_key_not_paired,
         "The vehicle accepts signed commands only: set a key, and pair it."),
    PART("vehicle is offline or asleep", KIND_asleep,
         "The vehicle sleeps or has no connection: wake it first."),
    PART("busy or finishing wake-up", KIND_busy,
         "The vehicle is busy or still waking: try again in some seconds."),
    PART("vehicle not connected", KIND_offline, "The vehicle has no connection: try again later."),
    PART("not in range", KIND_offline,
         "The Bluetooth proxy does not reach the vehicle: bring the two closer together."),
    PART("no private key available", KIND_unsupported, "The proxy has no key to sign with: give it one."),
    PART("does not support protocol", KIND_unsupported,
         "The vehicle accepts plain commands only: use commands = \"auto\" or \"plain\"."),
    PART("can only be sent over BLE", KIND_unsupported,
         "The vehicle accepts this by Bluetooth only, not over the internet."),
    PART("requires using the REST API", KIND_unsupported,
         "The proxy cannot sign this command: send it to Tesla directly."),
    PART("command not implemented", KIND_unsupported,
         "The proxy does not know this command: send it to Tesla directly, or update the proxy."),
    MAYBE("context deadline exceeded", KIND_timeout,
          "The proxy stopped waiting. The command may have been executed: read the vehicle before you repeat "
          "it."),
    MAYBE(
        "upstream internal error", KIND_service,
        "Tesla's service failed. The command may have been executed: read the vehicle before you repeat it."),
    MAYBE("operation_timedout", KIND_timeout,
          "The vehicle did not answer in time. The command may have been executed: read the vehicle before "
          "you repeat it."),
    MAYBE("timed out", KIND_timeout,
          "The vehicle did not answer in time. The command may have been executed: read the vehicle before "
          "you repeat it."),
    MAYBE("timeout", KIND_timeout,
          "The vehicle did not answer in time. The command may have been executed: read the vehicle before "
          "you repeat it."),

    /* ---- the authorization server ---- */
    SIGN_IN("login_required", KIND_auth,
            "The refresh token was used, replaced or has expired, or the password changed: sign in again."),
    SIGN_IN("invalid_grant", KIND_auth, "The code or token is no longer valid: sign in again."),
    SIGN_IN("invalid_auth_code", KIND_auth, "The code expired, usually within minutes: sign in again."),
    SIGN_IN("access_denied", KIND_auth, "The person did not consent: sign in again and agree."),
    SIGN_IN("invalid_redirect_url", KIND_invalid,
            "redirect_uri differs from the one of the sign-in, or from the one that is registered with the "
            "application: all must be equal."),
    SIGN_IN("unauthorized_client", KIND_invalid,
            "client_id and client_secret do not belong together: copy both from Tesla's developer site."),
    SIGN_IN("invalid_client", KIND_invalid,
            "client_id and client_secret do not belong together: copy both from Tesla's developer site."),
    SIGN_IN("unsupported_grant_type", KIND_invalid,
            "The authorization server does not know this kind of token request."),
    SIGN_IN("invalid_request", KIND_invalid,
            "A field of the request is wrong, often the audience: it must be one of Tesla's base addresses."),
    {"code_verifier", MATCH_PART, KIND_invalid, OUTCOME_REFUSED, "authorization",
     "The code belongs to another sign-in than the pending table: start a new sign-in with authorize_url."},
    SIGN_IN("invalid_audience", KIND_invalid, INVALID_AUDIENCE),
    SIGN_IN("invalid_target", KIND_invalid, INVALID_AUDIENCE),
    SIGN_IN("invalid_scope", KIND_scope,
            "The application may not request this scope: add it on Tesla's developer site."),
    SIGN_IN("insufficient_scope", KIND_scope, "The token lacks a scope: sign in again and grant it."),
    SIGN_IN("invalid_token", KIND_auth, "The token is no longer valid: sign in again."),
    SIGN_IN("login_cancelled", KIND_auth, "The person cancelled the sign-in: start a new one."),
    SIGN_IN("consent_required", KIND_auth, "The person must consent: sign in with prompt_missing_scopes."),
    SIGN_IN("interaction_required", KIND_auth,
            "The person must take part: sign in without prompt = \"none\"."),
    SIGN_IN("account_selection_required", KIND_auth, "The person must choose an account: sign in again."),
    SIGN_IN("user_not_found", KIND_auth, "There is no such account: sign in with another one."),
    SIGN_IN("invalid_redirect_uri", KIND_invalid,
            "redirect_uri differs from the one of the sign-in, or from the one that is registered with the "
            "application: all must be equal."),
    SIGN_IN("redirect_uri_mismatch", KIND_invalid,
            "redirect_uri differs from the one of the sign-in, or from the one that is registered with the "
            "application: all must be equal."),
    SIGN_IN(
        "unsupported_response_type", KIND_invalid,
        "The application may not sign people in with a code: check its settings on Tesla's developer site."),
    SIGN_IN("unsupported_token_type", KIND_invalid,
            "The authorization server does not know this kind of token."),
    SIGN_IN("invalid_request_object", KIND_invalid,
            "The authorization server does not accept the address of authorize_url."),
    SIGN_IN("request_not_supported", KIND_invalid,
            "The authorization server does not accept the address of authorize_url."),
    {"temporarily_unavailable", MATCH_WHOLE, KIND_service, OUTCOME_UNKNOWN, "authorization",
     "The authorization server is busy or in maintenance: try again later."},
    {"server_error", MATCH_WHOLE, KIND_service, OUTCOME_UNKNOWN, "authorization",
     "The authorization server failed: try again later."},

    /* ---- vehicles that a telemetry configuration skipped ---- */
    SKIPPED("missing_key", KIND_key_not_paired,
            "The application's key is not on the vehicle: pair it first."),
    SKIPPED("unsupported_hardware", KIND_unsupported,
            "Model S and X built before 2018 cannot stream; those built before 2021 cannot use a signed "
            "configuration."),
    SKIPPED("unsupported_firmware", KIND_unsupported,
            "The firmware is too old: streaming needs 2023.20, a signed configuration 2024.26, Model S and X "
            "with an Intel Atom 2025.20. Update the vehicle."),
    SKIPPED("cloud_manager_error", KIND_refused,
            "The vehicle could not connect to the telemetry server: check its host name, port and "
            "certificate, and ca in the configuration."),
    SKIPPED("config_manager_error", KIND_refused,
            "The vehicle could not use the telemetry configuration: check its fields and ca."),
    SKIPPED("max_configs", KIND_limit_exceeded,
            "The vehicle has as many configurations as it can hold: remove one of another application."),
    {NULL, MATCH_WHOLE, KIND_none, OUTCOME_NONE, NULL, NULL}};

/* A new kind without a line is found by the assertion when it comes last, else by the spec. */
#define KIND(word, sentence) [KIND_##word - 1] = {#word, sentence}

const struct kind_row kind_rows[] = {
    KIND(network, "The connection failed or broke."),
    KIND(tls, "The certificate of the server, or the encryption, was not accepted."),
    KIND(timeout, "No answer came in time."),
    KIND(auth, "The sign-in is missing or no longer valid: sign in again."),
    KIND(forbidden, "The account or the key is not allowed to do this."),
    KIND(scope, "The token lacks a scope: sign in again and grant it."),
    KIND(not_found, "This account has no such vehicle, site or record."),
    KIND(rate_limited, "Too many calls: wait, then try again."),
    KIND(asleep, "The vehicle sleeps: wake it first."),
    KIND(offline, "The vehicle has no connection: try again later."),
    KIND(region, "The account lives in another region: fleet region finds it."),
    KIND(unregistered, "The application is not registered in this region: register it with fleet setup."),
    KIND(limit_exceeded, "A limit of the account or of the vehicle is reached."),
    KIND(unsupported, "This token, vehicle or firmware cannot do this."),
    KIND(key_not_paired, "The application's key is not on the vehicle: its owner adds it."),
    KIND(refused, "The vehicle or the site refused, and says why."),
    KIND(busy, "The vehicle or another process is busy: try again in some seconds."),
    KIND(protocol, "The reply cannot be trusted or read."),
    KIND(service, "Tesla's service or the vehicle failed: read the vehicle before you repeat a command."),
    KIND(store, "The store cannot be read or written."),
    KIND(conflict, "Another process changed the record in the meantime: read it again."),
    KIND(budget, "One of your budgets is used up."),
    KIND(cancelled, "The task was cancelled."),
    KIND(closed, "The object is closed."),
    KIND(invalid, "A value of the request was not accepted; the message says which."),
    {NULL, NULL}};

_Static_assert(sizeof kind_rows / sizeof *kind_rows == KIND_COUNT, "one line per kind");
