#include "signing/window.h"

/* A shift by the width of the type or more is undefined in C. */
static uint32_t shifted(uint32_t bits, uint32_t by) {
  return by < WINDOW_WIDTH ? bits << by : 0;
}

static struct window behind(struct window w, uint32_t n, bool *accepted) {
  uint32_t age = w.highest - n;
  *accepted = age > 0 && age <= WINDOW_WIDTH && !(w.used & shifted(1, age - 1));
  if (*accepted) w.used |= shifted(1, age - 1);
  return w;
}

struct window window_use(struct window w, uint32_t n, bool *accepted) {
  *accepted = true;
  if (!w.open) return (struct window){n, 0, true};
  if (n <= w.highest) return behind(w, n, accepted);
  uint32_t ahead = n - w.highest;
  return (struct window){n, shifted(w.used, ahead) | shifted(1, ahead - 1), true};
}
