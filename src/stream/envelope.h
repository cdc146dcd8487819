/* The envelope of a telemetry message: a FlatBuffers table around a topic, an id and a protobuf payload;
 * doc/protocol.md#telemetry-stream.
 *
 * Reading never follows a pointer cast and checks each position and length against the message in 64 bits.
 */
#ifndef FLEET_STREAM_ENVELOPE_H
#define FLEET_STREAM_ENVELOPE_H

#include "base/buf.h"
#include "base/err.h"

enum { ENVELOPE_STREAM = 4, ENVELOPE_ACK = 5 };

/* Views into the message; a vector that is absent is empty. The fields below `type` are those of a stream
 * message. */
struct envelope {
  struct bytes txid, topic, message_id;
  unsigned type;
  uint32_t created_at; /* UTC seconds */
  struct bytes sender_id, payload, device_type, device_id;
  uint64_t delivered_at; /* ms since 1970, set by servers */
};

/* false: the message is no envelope; e->message says where it ends to be one. */
bool envelope_read(struct bytes message, struct envelope *out, struct err *e);

/* The bytes that the maker's server answers with: vehicles are known to take exactly these. */
void envelope_ack(struct buf *out, struct bytes txid, struct bytes topic);
void envelope_refusal(struct buf *out, struct bytes txid);
void envelope_stream(struct buf *out,
                     const struct envelope *in); /* as a vehicle sends it: for the simulator */

#endif
