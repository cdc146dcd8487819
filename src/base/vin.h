/* What a vehicle identification number looks like (ISO 3779), in one place: what passes here becomes a part
 * of addresses, keys of stores and signed messages. */
#ifndef FLEET_BASE_VIN_H
#define FLEET_BASE_VIN_H

#include "base/buf.h"

enum { VIN_SIZE = 17 };

#define VIN_SPELLING "17 capital letters and digits, without I, O and Q"

bool is_vin(struct bytes text);

#endif
