/* A hint for routing: the region of an account, from its tokens. Claims are not verified, may be absent and
 * may change (doc/protocol.md#region-of-a-token). */
#ifndef FLEET_OAUTH_REGION_H
#define FLEET_OAUTH_REGION_H

#include "base/buf.h"
#include "tables/rows.h"

const struct vendor *vendor_named(struct bytes name); /* NULL: none */
/* NULL: no region has this base address. */
const struct region *region_at(const struct vendor *v, struct bytes base_url);

struct region_claims {
  struct bytes code;                /* ou_code of the access token; data NULL: none */
  struct bytes start;               /* of the refresh token: "EU_", "NA_" or another form; data NULL: none */
  const struct region *own, *named; /* found by region_audience */
  int count;                        /* how many audiences named a region */
};

/* Adds one audience of the access token. A slash at its end is ignored. */
void region_audience(struct region_claims *claims, const struct vendor *v, struct bytes audience);
/* Writes the name of the region, which may be unknown here; false: no hint. In this order: the claimed region
 * if it is an audience, the only audience, the claim, the refresh token. */
bool region_hint(const struct region_claims *claims, struct buf *name);

#endif
