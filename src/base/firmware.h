/* Firmware versions of vehicles such as "2024.14.9": numbers from the left, the missing ones 0. */
#ifndef FLEET_BASE_FIRMWARE_H
#define FLEET_BASE_FIRMWARE_H

#include <stdbool.h>

bool firmware_older(const char *version, const char *other);
bool firmware_known(const char *version); /* whether there is a number in it */

#endif
