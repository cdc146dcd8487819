/* The content of telemetry payloads as C values, views into the payload's bytes; doc/protocol.md.
 *
 * Unknown fields are passed over, unknown numbers of enums and of signals are kept. A text that is not UTF-8
 * makes the payload unreadable, as protobuf has it.
 */
#ifndef FLEET_STREAM_PAYLOAD_H
#define FLEET_STREAM_PAYLOAD_H

#include "base/wire.h"

#include "stream/proto/vehicle_data.pb-c.h"

enum { VALUE_PARTS = 10 };

struct value {
  const ProtobufCFieldDescriptor *member; /* of the oneof; NULL: none that is known */
  int64_t number;                         /* of an integer, boolean or enum */
  double real;                            /* of a float or double */
  struct bytes text;
  uint64_t parts[VALUE_PARTS]; /* of a message, by the order of its descriptor: bits, as on the wire */
};

struct signal {
  int64_t field; /* its number */
  bool given;    /* has a value, even an empty one */
  struct value value;
};

bool signal_read(struct bytes datum, struct signal *s);
const char *signal_name(int64_t field); /* NULL: this number has no name */
bool value_is_invalid(const struct value *v);
/* The name of an enum's number, with its prefix; NULL: it has none. */
const char *enum_name(const ProtobufCEnumDescriptor *type, int64_t number);

void value_clock(const uint64_t parts[VALUE_PARTS], char *text, size_t size); /* a time of day: 07:05:59 */
double shortest_float(float value); /* the shortest number that is this float: 0.1, not 0.10000000149 */

struct instant {
  bool given;
  int64_t seconds, nanoseconds;
};

bool instant_read(struct bytes timestamp, struct instant *t);
bool is_text(struct bytes text); /* UTF-8 */

#endif
