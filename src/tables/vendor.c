/* Every name and address of the vendor: doc/protocol.md#addresses, #configuration-signature. */
#include "tables/rows.h"

/* In China one host serves sign-in and tokens. */
static const struct region tesla_regions[] = {
    {"na", "https://fleet-api.prd.na.vn.cloud.tesla.com", "https://auth.tesla.com",
     "https://fleet-auth.prd.vn.cloud.tesla.com"},
    {"eu", "https://fleet-api.prd.eu.vn.cloud.tesla.com", "https://auth.tesla.com",
     "https://fleet-auth.prd.vn.cloud.tesla.com"},
    {"cn", "https://fleet-api.prd.cn.vn.cloud.tesla.cn", "https://auth.tesla.cn", "https://auth.tesla.cn"},
    {NULL, NULL, NULL, NULL}};

static const char *const tesla_hosts[] = {".tesla.com", ".tesla.cn", ".teslamotors.com", NULL};

/* The owner interface of before 2024. */
static const char *const tesla_closed[] = {"owner-api.teslamotors.com", "owner-api.vn.cloud.tesla.cn", NULL};

const struct vendor vendor_rows[] = {{.name = "tesla",
                                      .regions = tesla_regions,
                                      .host_endings = tesla_hosts,
                                      .closed_hosts = tesla_closed,
                                      .authorize_path = "/oauth2/v3/authorize",
                                      .consent_path = "/user/revoke/consent",
                                      .token_path = "/oauth2/v3/token",
                                      .health_path = "/status",
                                      .key_path = "/.well-known/appspecific/com.tesla.3p.public-key.pem",
                                      .pairing_url = "https://tesla.com/_ak/",
                                      .invitation_url = "https://www.tesla.com/_rs/1/",
                                      .jws_algorithm = "Tesla.SS256",
                                      .jws_audience = "com.tesla"},
                                     {.name = NULL}};
