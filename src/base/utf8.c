#include "base/utf8.h"

/* What may follow a first byte: how many bytes, and the bounds of the first of them; the others are 80 to BF.
 */
static const struct shape {
  unsigned char from, to, more, least, most;
} shapes[] = {{0x00, 0x7f, 0, 0, 0},       {0xc2, 0xdf, 1, 0x80, 0xbf}, {0xe0, 0xe0, 2, 0xa0, 0xbf},
              {0xe1, 0xec, 2, 0x80, 0xbf}, {0xed, 0xed, 2, 0x80, 0x9f}, {0xee, 0xef, 2, 0x80, 0xbf},
              {0xf0, 0xf0, 3, 0x90, 0xbf}, {0xf1, 0xf3, 3, 0x80, 0xbf}, {0xf4, 0xf4, 3, 0x80, 0x8f}};

static const struct shape *shape_of(unsigned char first) {
  for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
    if (first >= shapes[i].from && first <= shapes[i].to) return &shapes[i];
  return NULL;
}

size_t utf8_sequence(struct bytes t) {
  const struct shape *s = t.size ? shape_of(t.data[0]) : NULL;
  if (!s || t.size <= s->more) return 0;
  if (s->more && (t.data[1] < s->least || t.data[1] > s->most)) return 0;
  for (size_t i = 2; i <= s->more; i++)
    if ((t.data[i] & 0xc0) != 0x80) return 0;
  return s->more + 1U;
}

void utf8_repair(struct buf *out, struct bytes t) {
  for (size_t i = 0, n; i < t.size; i += n ? n : 1) {
    n = utf8_sequence((struct bytes){t.data + i, t.size - i});
    if (n)
      buf_add(out, t.data + i, n);
    else
      buf_text_add(out, "\xEF\xBF\xBD");
  }
}
