/* Who may do what with a vehicle: doc/protocol.md#key-roles. */
#ifndef FLEET_SIGNING_ROLE_H
#define FLEET_SIGNING_ROLE_H

#include <stdbool.h>
#include <stdint.h>

enum role { /* Keys.Role */
            ROLE_NONE,
            ROLE_SERVICE,
            ROLE_OWNER,
            ROLE_DRIVER,
            ROLE_FLEET_MANAGER,
            ROLE_VEHICLE_MONITOR,
            ROLE_CHARGING_MANAGER,
            ROLE_GUEST = 8
};

int role_of(const char *name); /* "OWNER" …; -1: no such role */

/* May a key of this role give this command? */
bool role_may(enum role role, uint32_t domain, const char *action);

#endif
