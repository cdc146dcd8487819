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
     .doc = "region of the account; a 421 corrects it"},
    {"base_url", TYPE_STRING, NULL, NULL, "FLEET_BASE_URL", 0, false,
     .doc = "base address that replaces the region's; http+unix:/path for a local proxy"},
    {"auth_url", TYPE_STRING, NULL, NULL, "FLEET_AUTH_URL", 0, false,
     .doc = "address of the authorization server"},
    {"token_url", TYPE_STRING, NULL, NULL, "FLEET_TOKEN_URL", 0, false,
     .doc = "address for token requests of applications with a secret"},
    {"account", TYPE_STRING, "default", NULL, NULL, 0, false, .doc = "name under which everything is stored"},
    {"client_id", TYPE_STRING, NULL, NULL, "FLEET_CLIENT_ID", 0, false,
     .doc = "client id of the application"},
    {"client_secret", TYPE_STRING, NULL, NULL, "FLEET_CLIENT_SECRET", SECRET, false,
     .doc = "secret of the application; without one it is an open-source app and uses PKCE"},
    {"redirect_uri", TYPE_STRING, NULL, NULL, "FLEET_REDIRECT_URI", 0, false,
     .doc = "address to which the browser returns, exactly as registered"},
    {"scopes", TYPE_STRINGS, NULL, NULL, NULL, 0, false,
     .doc = "scopes to request at sign-in; by default all of an owner"},
    {"domain", TYPE_STRING, NULL, NULL, "FLEET_DOMAIN", 0, false,
     .doc = "where the public key is hosted, such as app.example.com"},
    {"key", TYPE_STRING, NULL, NULL, "FLEET_KEY", 0, false, .also = ALSO_OBJECT | ALSO_TABLE | ALSO_LINES,
     .doc = "file of the virtual key, or a key; the client then signs commands"},
    {"commands", TYPE_STRING, "auto", ways, NULL, 0, false,
     .doc = "how commands are sent; proxy needs proxy_url"},
    {"proxy_url", TYPE_STRING, NULL, NULL, NULL, 0, false, .doc = "address of a signing proxy"},
    {"store", TYPE_STRING, NULL, NULL, "FLEET_STORE", 0, false, .also = ALSO_TABLE | ALSO_OBJECT,
     .doc = "directory, address of a Redis, or a store; by default memory"},
    {"token", TYPE_STRING, NULL, NULL, "FLEET_TOKEN", SECRET, false,
     .doc = "an access token that you manage yourself"},
    {"timeout", TYPE_NUMBER, "30", NULL, "FLEET_TIMEOUT", 0, false, "seconds for a whole call", SECONDS},
    {"connect_timeout", TYPE_NUMBER, "10", NULL, NULL, 0, false, "seconds for connecting", SECONDS},
    {"max_response", TYPE_INTEGER, "10000000", NULL, NULL, 0, false, "largest reply in bytes, decompressed",
     .min = 1, .max = 2147483647},
    {"ca_file", TYPE_STRING, NULL, NULL, "FLEET_CA_FILE", 0, false,
     .doc = "file of certificates to trust, instead of the system's"},
    {"user_agent", TYPE_STRING, NULL, NULL, NULL, 0, false,
     .doc = "the User-Agent; by default fleet and its version"},
    {"proxy", TYPE_STRING, NULL, NULL, NULL, 0, false,
     .doc = "HTTP proxy; the one of the environment is not used"},
    {"http2", TYPE_BOOLEAN, "true", NULL, NULL, 0, false,
     .doc = "reads share connections by HTTP/2 if the server offers it; false: HTTP/1.1 only"},
    {"vendor", TYPE_STRING, "tesla", NULL, NULL, 0, false, .doc = "service whose addresses to use"},
    {"hosts", TYPE_STRINGS, NULL, NULL, NULL, 0, false,
     .doc = "hosts that a 421 may name when base_url is a custom one"},
    {"insecure_http", TYPE_BOOLEAN, "false", NULL, NULL, 0, false, .doc = "allow http:// beyond loopback"},
    {"insecure_key_mode", TYPE_BOOLEAN, "false", NULL, NULL, 0, false,
     .doc = "allow a key file that others can read"},
    {"store_key", TYPE_STRING, NULL, NULL, "FLEET_STORE_KEY", SECRET, false,
     .doc = "32 bytes as hex or base64url, or @file: encrypts stored tokens and sessions"},
    {"log", TYPE_OBJECT, NULL, NULL, NULL, 0, true, .also = ALSO_FUNCTION,
     .doc = "function that receives every event, without secrets"},
    {"budgets", TYPE_OBJECT, NULL, NULL, NULL, 0, true, .also = ALSO_TABLE,
     .doc = "limits of cost and of calls; a call beyond them is not sent"},
    {"pacing", TYPE_OBJECT, NULL, NULL, NULL, 0, true, .also = ALSO_TABLE,
     .doc = "calls a minute for a vehicle by price class; {} uses the published rate limits"},
    {"prices", TYPE_OBJECT, NULL, NULL, NULL, 0, true, .also = ALSO_TABLE,
     .doc = "dollars a call by price class, instead of the published ones"},
    {"metrics", TYPE_OBJECT, NULL, NULL, NULL, 0, true, .also = ALSO_FUNCTION | ALSO_TABLE,
     .doc = "function that receives every counted event, or fleet.metrics.prometheus()"},
    {"audit", TYPE_OBJECT, NULL, NULL, NULL, 0, true, .also = ALSO_FUNCTION,
     .doc = "function that receives every write: who, what, outcome"},
    {"http", TYPE_OBJECT, NULL, NULL, NULL, 0, true, .also = ALSO_FUNCTION,
     .doc = "function that makes the HTTP requests instead of the module"},
    END};

const struct option call_option_rows[] = {
    {"timeout", TYPE_NUMBER, NULL, NULL, NULL, 0, false, "seconds for the whole call", SECONDS},
    {"wake", TYPE_BOOLEAN, "false", NULL, NULL, 0, false, .rows = FOR_LIVE,
     .doc = "wake a sleeping vehicle first: 0.02 USD"},
    {"auth", TYPE_STRING, NULL, token_kinds, NULL, 0, false,
     .doc = "use this kind of token instead of the call's first one"},
    {"idempotent", TYPE_BOOLEAN, NULL, NULL, NULL, 0, false, .rows = FOR_WRITES,
     .doc = "the call may be repeated after an unknown outcome"},
    {"strict", TYPE_BOOLEAN, "false", NULL, NULL, 0, false, .rows = FOR_CHANGES,
     .doc = "fail if the vehicle was already in that state (changed = false)"},
    {"raw", TYPE_BOOLEAN, "false", NULL, NULL, 0, false,
     .doc = "return the bytes of the reply; not for signed commands"},
    {"force", TYPE_BOOLEAN, "false", NULL, NULL, 0, false, .rows = FOR_FORCED,
     .doc = "send what the client otherwise refuses to send"},
    {"read_back", TYPE_BOOLEAN, "false", NULL, NULL, 0, false, .rows = FOR_SETTINGS,
     .doc = "return only when a read shows the energy setting"},
    END};
