/* A signal's value as the maker's server publishes it to MQTT: JSON. */
#ifndef FLEET_STREAM_PUBLISHED_H
#define FLEET_STREAM_PUBLISHED_H

#include "stream/payload.h"

/* place: a text such as "(37.4 N, 122.1 W)" is a place, as it is for the first signal of Location. */
void published_json(const struct signal *s, bool place, struct buf *out);

#endif
