/* The form of a vehicle identification number (ISO 3779). A VIN becomes a part of addresses, keys of stores
 * and signed messages, so that all code checks it here. */
#ifndef FLEET_BASE_VIN_H
#define FLEET_BASE_VIN_H

#include "base/buf.h"

enum { VIN_SIZE = 17 };

#define VIN_SPELLING "17 capital letters and digits, without I, O and Q"

bool is_vin(struct bytes text);

#endif
