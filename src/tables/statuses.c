#include "tables/rows.h"

/* doc/protocol.md#statuses, #outcomes and #proxy-replies. Columns: status, text, second text, kind, outcome
 * of a write, trait, advice. */

#define REFUSED OUTCOME_REFUSED
#define UNKNOWN OUTCOME_UNKNOWN

#define WAKE "wake the vehicle first"
#define SIGNED_ONLY "this call is taken signed only: give the client a key, or commands = \"proxy\""
#define PAIR "the owner must accept the application's key for this vehicle"
#define NO_COVERAGE "the vehicle has no connection; try again later"

const struct status status_rows[] = {
    {0, "only available on fleetapi", NULL, KIND_unsupported, REFUSED, TRAIT_NONE,
     "base_url names the closed owner interface: use region, or a base address of the Fleet API"},
    {400, NULL, NULL, KIND_invalid, REFUSED, TRAIT_NONE, NULL},
    {401, "mobile_access_disabled", NULL, KIND_forbidden, REFUSED, TRAIT_NONE,
     "the owner must allow mobile access in the vehicle's settings"},
    {401, "unknown user", NULL, KIND_forbidden, REFUSED, TRAIT_NONE,
     "the owner must sign in to the Tesla app once"},
    {401, NULL, NULL, KIND_auth, REFUSED, TRAIT_NONE, NULL},
    {402, NULL, NULL, KIND_limit_exceeded, REFUSED, TRAIT_NONE, "the account needs a payment method"},
    {403, "EXCEEDED_LIMIT", NULL, KIND_limit_exceeded, REFUSED, TRAIT_NONE,
     "the billing limit is reached; raise it and wait up to an hour. The service removes telemetry "
     "configurations at the limit and does not restore them: create them again"},
    {403, "Protocol required", NULL, KIND_key_not_paired, REFUSED, TRAIT_SIGN,
     "this vehicle takes signed commands only"},
    {403, "scope", NULL, KIND_scope, REFUSED, TRAIT_NONE,
     "the owner must grant the scope that this call needs"},
    {403, "location", NULL, KIND_forbidden, REFUSED, TRAIT_NONE,
     "the vehicle was shared with its location hidden: leave the location fields out"},
    {403, NULL, NULL, KIND_forbidden, REFUSED, TRAIT_NONE, NULL},
    {404, NULL, NULL, KIND_not_found, REFUSED, TRAIT_NONE, NULL},
    {405, NULL, NULL, KIND_refused, REFUSED, TRAIT_NONE, NULL},
    {406, NULL, NULL, KIND_unsupported, REFUSED, TRAIT_NONE, NULL},
    {408, "asleep", "offline", KIND_asleep, REFUSED, TRAIT_BY_STATE, "wake the vehicle, or try again later"},
    {408, "asleep", NULL, KIND_asleep, REFUSED, TRAIT_NONE, WAKE},
    {408, "offline", NULL, KIND_offline, REFUSED, TRAIT_NONE, NO_COVERAGE},
    {408, "vehicle unavailable", NULL, KIND_timeout, UNKNOWN, TRAIT_BY_STATE, NULL},
    {408, NULL, NULL, KIND_timeout, UNKNOWN, TRAIT_NONE, NULL},
    {410, NULL, NULL, KIND_unsupported, REFUSED, TRAIT_NONE, "the service no longer offers this call"},
    {412, "must be called through", NULL, KIND_unsupported, REFUSED, TRAIT_NONE, SIGNED_ONLY},
    {412, "must be registered", NULL, KIND_unregistered, REFUSED, TRAIT_NONE,
     "register the application in this region first"},
    {412, "allowed origin", NULL, KIND_invalid, REFUSED, TRAIT_NONE,
     "the domain must be under an allowed origin of the application at Tesla's developer portal"},
    {412, "telemetry", NULL, KIND_unsupported, REFUSED, TRAIT_NONE, SIGNED_ONLY},
    {412, NULL, NULL, KIND_unsupported, REFUSED, TRAIT_NONE,
     "a condition of the service is not met; a command, or a telemetry configuration, may be taken signed "
     "only"},
    {418, NULL, NULL, KIND_unsupported, REFUSED, TRAIT_NONE, "the service takes this client for too old"},
    {421, NULL, NULL, KIND_region, REFUSED, TRAIT_NONE, "the account belongs to another region"},
    {422, "domain has already been taken", NULL, KIND_conflict, REFUSED, TRAIT_NONE,
     "another application, perhaps an older one of yours, is registered for this domain: use that "
     "application, "
     "or another domain or subdomain"},
    {422, "public key", "already been taken", KIND_conflict, REFUSED, TRAIT_NONE,
     "this key is another application's: make a new one with fleet keygen, host it, and register again"},
    {422, NULL, NULL, KIND_invalid, REFUSED, TRAIT_PLAIN, NULL},
    {423, NULL, NULL, KIND_forbidden, REFUSED, TRAIT_NONE, "Tesla has locked this account"},
    {424, NULL, NULL, KIND_invalid, REFUSED, TRAIT_NONE,
     "the public key must be hosted where the service looks for it"},
    {429, NULL, NULL, KIND_rate_limited, REFUSED, TRAIT_NONE, NULL},
    {451, NULL, NULL, KIND_forbidden, REFUSED, TRAIT_NONE, "refused for legal or privacy reasons"},
    {501, NULL, NULL, KIND_unsupported, REFUSED, TRAIT_NONE, "the other side has no such call or command"},
    {0, "operation_timedout", NULL, KIND_timeout, UNKNOWN, TRAIT_NONE, "the vehicle did not answer in time"},
    {0, "offline or asleep", NULL, KIND_asleep, REFUSED, TRAIT_PROXY, WAKE},
    {0, "not been paired", NULL, KIND_key_not_paired, REFUSED, TRAIT_PROXY, PAIR},
    {0, "not paired", NULL, KIND_key_not_paired, REFUSED, TRAIT_PROXY, PAIR},
    {0, "/_ak/", NULL, KIND_key_not_paired, REFUSED, TRAIT_PROXY, PAIR},
    {500, "key has not been paired", NULL, KIND_key_not_paired, UNKNOWN, TRAIT_NONE, PAIR},
    {0, "asleep", NULL, KIND_asleep, UNKNOWN, TRAIT_NONE, WAKE},
    {503, NULL, NULL, KIND_service, UNKNOWN, TRAIT_NONE, "the service or the vehicle did not answer in time"},
    {540, NULL, NULL, KIND_service, UNKNOWN, TRAIT_NONE,
     "the device answered unexpectedly: a restart, an update or a service visit"},
    {0, NULL, NULL, KIND_service, UNKNOWN, TRAIT_NONE, NULL},
};
