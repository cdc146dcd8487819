/* What calls cost and how often they may be made: doc/protocol.md#prices, #rate-limits. */
#include "tables/rows.h"

const char *const billing_date = "not stated"; /* the copy that was read bears none */
const char *const billing_source = "a stored copy of Tesla's page on billing and limits";

/* By enum billing; ends with a NULL name. */
const struct billing_row billing_rows[] = {
    {.name = "free", .doc = "accounts, energy sites, charging records, sign-in"},
    {.name = "data", .per_dollar = 500, .per_minute = 60, .doc = "reads of a vehicle"},
    {.name = "command", .per_dollar = 1000, .per_minute = 30, .doc = "commands and signed messages"},
    {.name = "wake", .per_dollar = 50, .per_minute = 3, .doc = "waking a vehicle"},
    {.name = "specs", .per_dollar = 10, .found_only = true, .doc = "specifications, where they are known"},
    {.name = "signal", .per_dollar = 150000, .doc = "values that vehicles stream"},
    {.name = NULL}};
