#include "stream/frames.h"

#include <string.h>

void frames_init(struct frames *f, size_t limit) {
  *f = (struct frames){.limit = limit, .message = BUF_INIT};
}

void frames_free(struct frames *f) {
  buf_free(&f->message);
}

static struct frame_event bad(unsigned code, const char *reason) {
  return (struct frame_event){FRAME_BAD, bytes_of(reason), code};
}

static bool is_control(const struct frames *f) {
  return f->opcode >= 8;
}

/* Bytes of a header that begins so; 2 until its second byte is there. */
static size_t header_size(const struct frames *f) {
  if (f->head_size < 2) return 2;
  unsigned length = f->head[1] & 127;
  return 2u + (length == 126 ? 2u : length == 127 ? 8u : 0u) + (f->head[1] & 128 ? 4u : 0u);
}

static const char *const opcode_reasons[16] = {
    [3] = "bad opcode 3",   [4] = "bad opcode 4",   [5] = "bad opcode 5",   [6] = "bad opcode 6",
    [7] = "bad opcode 7",   [11] = "bad opcode 11", [12] = "bad opcode 12", [13] = "bad opcode 13",
    [14] = "bad opcode 14", [15] = "bad opcode 15"};

/* The header is complete: what it says, and whether it may say so. */
static struct frame_event begin_frame(struct frames *f) {
  size_t at = 2, length = f->head[1] & 127;
  f->left = length;
  if (length >= 126) {
    size_t width = length == 126 ? 2 : 8;
    f->left = 0;
    for (size_t i = 0; i < width; i++) f->left = f->left << 8 | f->head[at++];
  }
  f->opcode = f->head[0] & 15;
  f->last = f->head[0] & 128;
  if (f->head[0] & 0x70) return bad(1002, "bad RSV bits");
  if (opcode_reasons[f->opcode]) return bad(1002, opcode_reasons[f->opcode]);
  if (!(f->head[1] & 128)) return bad(1002, "bad MASK");
  if (f->left >> 63) return bad(1002, "bad length");
  if (is_control(f) && (!f->last || length > sizeof f->control)) return bad(1002, "bad control frame");
  if (f->opcode == FRAME_CONTINUES && !f->open) return bad(1002, "continuation without a message");
  if (!is_control(f) && f->opcode != FRAME_CONTINUES && f->open) return bad(1002, "message within a message");
  memcpy(f->mask, f->head + at, sizeof f->mask);
  if (!is_control(f) && f->opcode != FRAME_CONTINUES) f->open = f->opcode;
  f->reading = true;
  f->head_size = f->taken = 0;
  return (struct frame_event){.type = FRAME_MORE};
}

static void unmask(struct frames *f, unsigned char *data, size_t size) {
  for (size_t i = 0; i < size; i++) data[i] ^= f->mask[(f->taken + i) & 3];
}

/* RFC 6455 section 7.4: codes that a peer may send */
static bool is_close_code(unsigned code) {
  return (code >= 1000 && code <= 1003) || (code >= 1007 && code <= 1013) || (code >= 3000 && code <= 4999);
}

static struct frame_event end_control(struct frames *f) {
  if (f->opcode == FRAME_IS_CLOSE && f->taken >= 2 &&
      !is_close_code((unsigned)f->control[0] << 8 | f->control[1]))
    return bad(1002, "bad close code");
  static const enum frame_event_type types[] = {FRAME_CLOSE, FRAME_PING, FRAME_PONG};
  return (struct frame_event){types[f->opcode - FRAME_IS_CLOSE], {f->control, f->taken}, 0};
}

/* The message has ended; `whole` is all of it where nothing was kept. */
static struct frame_event end_message(struct frames *f, struct bytes whole) {
  struct frame_event event = {f->open == FRAME_IS_TEXT ? FRAME_TEXT : FRAME_MESSAGE, whole, 0};
  if (f->skipping) event = (struct frame_event){.type = FRAME_TOO_LONG};
  if (!buf_ok(&f->message)) event = bad(1011, "out of memory");
  if (f->message.size) event.data = buf_bytes(&f->message), f->unread = true;
  f->open = 0;
  f->skipping = false;
  return event;
}

static void keep(struct frames *f, const unsigned char *data, size_t size) {
  if (f->skipping || size > f->limit - f->message.size) {
    f->skipping = true;
    buf_free(&f->message);
  } else {
    buf_add(&f->message, data, size);
  }
}

struct frame_event frames_take(struct frames *f, unsigned char **piece, size_t *size) {
  if (f->unread) { /* the message that was given out before */
    buf_free(&f->message);
    f->unread = false;
  }
  for (;;) {
    if (!f->reading) {
      while (f->head_size < header_size(f) && *size > 0) {
        f->head[f->head_size++] = *(*piece)++;
        --*size;
      }
      if (f->head_size < header_size(f)) return (struct frame_event){.type = FRAME_MORE};
      struct frame_event event = begin_frame(f);
      if (event.type == FRAME_BAD) return event;
    }
    size_t now = f->left < *size ? (size_t)f->left : *size;
    unsigned char *data = *piece;
    unmask(f, data, now);
    if (is_control(f)) memcpy(f->control + f->taken, data, now);
    *piece += now;
    *size -= now;
    f->left -= now;
    f->taken += now;
    bool ended = !f->left, whole = ended && f->last && f->taken == now && !f->message.size && !f->skipping;
    if (!is_control(f) && !(whole && now <= f->limit)) keep(f, data, now);
    if (!ended) return (struct frame_event){.type = FRAME_MORE};
    f->reading = false;
    if (is_control(f)) return end_control(f);
    if (f->last) return end_message(f, (struct bytes){data, now});
  }
}

static void write_head(struct buf *out, unsigned opcode, size_t size, unsigned masked) {
  buf_put(out, (unsigned char)(128 | opcode));
  if (size < 126) {
    buf_put(out, (unsigned char)(masked | size));
  } else if (size < 65536) {
    buf_put(out, (unsigned char)(masked | 126));
    buf_put(out, (unsigned char)(size >> 8));
    buf_put(out, (unsigned char)size);
  } else {
    buf_put(out, (unsigned char)(masked | 127));
    for (int shift = 56; shift >= 0; shift -= 8) buf_put(out, (unsigned char)((uint64_t)size >> shift));
  }
}

void frame_write(struct buf *out, unsigned opcode, struct bytes payload) {
  buf_reserve(out, payload.size + FRAME_HEAD);
  write_head(out, opcode, payload.size, 0);
  buf_add(out, payload.data, payload.size);
}

void frame_write_masked(struct buf *out, unsigned opcode, struct bytes payload, const unsigned char mask[4]) {
  write_head(out, opcode, payload.size, 128);
  buf_add(out, mask, 4);
  for (size_t i = 0; i < payload.size; i++) buf_put(out, payload.data[i] ^ mask[i & 3]);
}

void frame_write_close(struct buf *out, unsigned code, struct bytes reason) {
  unsigned char text[125] = {(unsigned char)(code >> 8), (unsigned char)code};
  size_t size = reason.size < sizeof text - 2 ? reason.size : sizeof text - 2;
  if (size) memcpy(text + 2, reason.data, size);
  frame_write(out, FRAME_IS_CLOSE, (struct bytes){text, code ? size + 2 : 0});
}
