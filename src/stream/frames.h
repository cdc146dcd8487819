/* WebSocket frames of a client (RFC 6455 section 5), read piece by piece; the bytes are unmasked where they
 * lie.
 *
 * A message that lies whole in one piece is a view into it; only parts of messages are copied. A message
 * above the limit is skipped without being kept.
 */
#ifndef FLEET_STREAM_FRAMES_H
#define FLEET_STREAM_FRAMES_H

#include "base/buf.h"

enum frame_event_type {
  FRAME_MORE,     /* the piece is used up */
  FRAME_MESSAGE,  /* a whole binary message */
  FRAME_TEXT,     /* a text message: vehicles send none */
  FRAME_TOO_LONG, /* a message above the limit has ended */
  FRAME_PING,
  FRAME_PONG,
  FRAME_CLOSE,
  FRAME_BAD, /* the connection cannot go on: close with `code` and `data` as the reason */
};

struct frame_event {
  enum frame_event_type type;
  struct bytes data; /* valid until the next call */
  unsigned code;
};

enum { FRAME_HEAD = 14 }; /* bytes of the longest */

struct frames {
  size_t limit;            /* bytes of a message */
  struct buf message;      /* what has come of a message in parts */
  uint64_t left;           /* of the payload of the frame */
  size_t head_size, taken; /* bytes of the header so far; of the payload so far */
  unsigned char head[FRAME_HEAD], mask[4], control[125];
  unsigned opcode; /* of the frame */
  unsigned open;   /* opcode of the message that is open, 0: none */
  bool last, reading, skipping,
      unread; /* last frame of its message; inside a payload; over the limit; `message` was given out */
};

enum {
  FRAME_CONTINUES = 0,
  FRAME_IS_TEXT = 1,
  FRAME_IS_BINARY = 2,
  FRAME_IS_CLOSE = 8,
  FRAME_IS_PING = 9,
  FRAME_IS_PONG = 10
};

void frames_init(struct frames *f, size_t limit);
void frames_free(struct frames *f);
/* Takes bytes from the piece, which it unmasks and shortens, and returns what they complete. */
struct frame_event frames_take(struct frames *f, unsigned char **piece, size_t *size);
/* A frame of a server: whole, without a mask. */
void frame_write(struct buf *out, unsigned opcode, struct bytes payload);
void frame_write_masked(struct buf *out, unsigned opcode, struct bytes payload,
                        const unsigned char mask[4]); /* of a client */
void frame_write_close(struct buf *out, unsigned code, struct bytes reason);

#endif
