/* The options of fleet.new, which are also those of the command line, and the options of a call. */
#include "tables/rows.h"

#define END                                                                                                  \
  { .name = NULL }

/* A month and a half: longer than any sensible wait, and far below the limit of a clock. */
#define SECONDS .min = 0.001, .max = 4e6

/* Names only: the addresses of a region belong to the vendor. */
static const struct choice regions[] = {
    {"na", .text = "na"}, {"eu", .text = "eu"}, {"cn", .text = "cn"}, END};

static const struct choice ways[] = {{"auto", .text = "auto"},
                                     {"signed", .text = "signed"},
                                     {"plain", .text = "plain"},
                                     {"proxy", .text = "proxy"},
                                     END};

static const struct choice token_kinds[] = {
    {"user", .text = "user"}, {"partner", .text = "partner"}, {"business", .text = "business"}, END};

const struct option option_rows[] = {
    {"region", TYPE_STRING, "na", regions, "FLEET_REGION", 0, false,
     .doc = "where the account lives; a 421 corrects it"},
    {"base_url", TYPE_STRING, NULL, NULL, "FLEET_BASE_URL", 0, false,
     .doc = "address of the service in place of the region's; http+unix:/path for a local proxy"},
    {"auth_url", TYPE_STRING, NULL, NULL, "FLEET_AUTH_URL", 0, false,
     .doc = "address of the authorization server"},
    {"token_url", TYPE_STRING, NULL, NULL, "FLEET_TOKEN_URL", 0, false,
     .doc = "address for token calls of applications with a secret"},
    {"account", TYPE_STRING, "default", NULL, NULL, 0, false, .doc = "name under which everything is stored"},
    {"client_id", TYPE_STRING, NULL, NULL, "FLEET_CLIENT_ID", 0, false, .doc = "the application"},
    {"client_secret", TYPE_STRING, NULL, NULL, "FLEET_CLIENT_SECRET", SECRET, false,
     .doc = "its secret; without one it is an open-source app and uses PKCE"},
    {"redirect_uri", TYPE_STRING, NULL, NULL, "FLEET_REDIRECT_URI", 0, false,
     .doc = "where the browser returns to, exactly as registered"},
    {"scopes", TYPE_STRINGS, NULL, NULL, NULL, 0, false, .doc = "what to ask for when signing in"},
    {"domain", TYPE_STRING, NULL, NULL, "FLEET_DOMAIN", 0, false,
     .doc = "where the public key is hosted, such as app.example.com"},
    {"key", TYPE_STRING, NULL, NULL, "FLEET_KEY", 0, false, .also = ALSO_OBJECT | ALSO_TABLE | ALSO_LINES,
     .doc = "file of the virtual key, or a key: commands are signed in process"},
    {"commands", TYPE_STRING, "auto", ways, NULL, 0, false,
     .doc = "how commands travel; proxy needs proxy_url"},
    {"proxy_url", TYPE_STRING, NULL, NULL, NULL, 0, false, .doc = "address of a signing proxy"},
    {"store", TYPE_STRING, NULL, NULL, "FLEET_STORE", 0, false, .also = ALSO_TABLE | ALSO_OBJECT,
     .doc = "directory, address of a Redis, or a store; left out, memory is used"},
    {"token", TYPE_STRING, NULL, NULL, "FLEET_TOKEN", SECRET, false,
     .doc = "a ready access token, managed by the caller"},
    {"timeout", TYPE_NUMBER, "30", NULL, "FLEET_TIMEOUT", 0, false, "seconds for a whole call", SECONDS},
    {"connect_timeout", TYPE_NUMBER, "10", NULL, NULL, 0, false, "seconds for connecting", SECONDS},
    {"max_response", TYPE_INTEGER, "10000000", NULL, NULL, 0, false, "largest reply in bytes, decompressed",
     .min = 1, .max = 2147483647},
    {"ca_file", TYPE_STRING, NULL, NULL, "FLEET_CA_FILE", 0, false,
     .doc = "certificates to trust in place of the system's"},
    {"user_agent", TYPE_STRING, NULL, NULL, NULL, 0, false,
     .doc = "the User-Agent, in place of fleet and its version"},
    {"proxy", TYPE_STRING, NULL, NULL, NULL, 0, false, .doc = "HTTP proxy; the environment's is not used"},
    {"http2", TYPE_BOOLEAN, "true", NULL, NULL, 0, false,
     .doc = "reads share connections by HTTP/2 where the server offers it; false: HTTP/1.1 only"},
    {"vendor", TYPE_STRING, "tesla", NULL, NULL, 0, false, .doc = "whose addresses to use"},
    {"hosts", TYPE_STRINGS, NULL, NULL, NULL, 0, false,
     .doc = "hosts that a 421 may name when base_url is a custom one"},
    {"insecure_http", TYPE_BOOLEAN, "false", NULL, NULL, 0, false, .doc = "allow http:// beyond loopback"},
    {"insecure_key_mode", TYPE_BOOLEAN, "false", NULL, NULL, 0, false,
     .doc = "allow a key file that others can read"},
    {"store_key", TYPE_STRING, NULL, NULL, "FLEET_STORE_KEY", SECRET, false,
     .doc = "32 bytes as hex or base64url, or @file: seals stored tokens and sessions"},
    {"log", TYPE_OBJECT, NULL, NULL, NULL, 0, true, .also = ALSO_FUNCTION,
     .doc = "function that gets every redacted event"},
    {"budgets", TYPE_OBJECT, NULL, NULL, NULL, 0, true, .also = ALSO_TABLE,
     .doc = "limits of cost and of calls: what is beyond them is not sent"},
    {"pacing", TYPE_OBJECT, NULL, NULL, NULL, 0, true, .also = ALSO_TABLE,
     .doc = "calls a minute for a vehicle by price class; {} takes the published rate limits"},
    {"prices", TYPE_OBJECT, NULL, NULL, NULL, 0, true, .also = ALSO_TABLE,
     .doc = "dollars a call by price class, in place of the published ones"},
    {"metrics", TYPE_OBJECT, NULL, NULL, NULL, 0, true, .also = ALSO_FUNCTION | ALSO_TABLE,
     .doc = "function that gets every event that is counted, or fleet.metrics.prometheus()"},
    {"audit", TYPE_OBJECT, NULL, NULL, NULL, 0, true, .also = ALSO_FUNCTION,
     .doc = "function that gets every write: who, what, outcome"},
    {"http", TYPE_OBJECT, NULL, NULL, NULL, 0, true, .also = ALSO_FUNCTION,
     .doc = "function that makes the requests in place of the module"},
    END};

const struct option call_option_rows[] = {
    {"timeout", TYPE_NUMBER, NULL, NULL, NULL, 0, false, "seconds for the whole call", SECONDS},
    {"wake", TYPE_BOOLEAN, "false", NULL, NULL, 0, false, .rows = FOR_LIVE,
     .doc = "wake a sleeping vehicle first: 0.02 USD"},
    {"auth", TYPE_STRING, NULL, token_kinds, NULL, 0, false,
     .doc = "use this token in place of the first one of the row"},
    {"idempotent", TYPE_BOOLEAN, NULL, NULL, NULL, 0, false, .rows = FOR_WRITES,
     .doc = "may be repeated after an unknown outcome"},
    {"strict", TYPE_BOOLEAN, "false", NULL, NULL, 0, false, .rows = FOR_CHANGES,
     .doc = "fail when the state held already (changed = false)"},
    {"raw", TYPE_BOOLEAN, "false", NULL, NULL, 0, false,
     .doc = "return the bytes of the reply; not for signed commands"},
    {"force", TYPE_BOOLEAN, "false", NULL, NULL, 0, false, .rows = FOR_FORCED,
     .doc = "send what is refused here otherwise"},
    {"read_back", TYPE_BOOLEAN, "false", NULL, NULL, 0, false, .rows = FOR_SETTINGS,
     .doc = "read an energy setting until it shows"},
    END};
