/* Which of a vendor's regions an account lives in, as far as its tokens say: a hint for routing and nothing
 * else. Claims are not verified, may be absent and may change (doc/protocol.md#region-of-a-token).
 */
#ifndef FLEET_OAUTH_REGION_H
#define FLEET_OAUTH_REGION_H

#include "base/buf.h"
#include "tables/rows.h"

const struct vendor *vendor_named(struct bytes name); /* NULL: none */
/* The region of this base address; NULL when no row has it. */
const struct region *region_at(const struct vendor *v, struct bytes base_url);

struct region_claims {
  struct bytes code;  /* ou_code of the access token; data NULL: none */
  struct bytes start; /* of the refresh token, which begins "EU_" where it is of the known form; or NULL */
  const struct region *own, *named; /* found by region_audience */
  int count;                        /* how many audiences named a region */
};

/* Takes one audience of the access token, with or without a slash at its end. */
void region_audience(struct region_claims *claims, const struct vendor *v, struct bytes audience);
/* Writes the name of the region, perhaps one that no row knows; false: nothing is said. The claim's region
 * among the audiences comes first, then the only audience, the claim, and the refresh token. */
bool region_hint(const struct region_claims *claims, struct buf *name);

#endif
