/* Writing a tariff, for sending and for comparing: two tariffs mean the same when their texts with sorted
 * periods are equal. */
#ifndef FLEET_TARIFF_ENCODE_H
#define FLEET_TARIFF_ENCODE_H

#include "tariff/model.h"

enum period_order { PERIODS_AS_SENT, PERIODS_SORTED };

void tariff_write(const struct tariff *t, enum period_order order, struct buf *out);

#endif
