#include "server/internal.h"

#include <stdlib.h>

struct kept *kept_new(unsigned status, struct MHD_Response *open, struct MHD_Response *closing) {
  struct kept *k = open && closing ? calloc(1, sizeof *k) : NULL;
  if (k) {
    *k = (struct kept){.holders = 1, .status = status, .open = open, .closing = closing};
    return k;
  }
  if (open) MHD_destroy_response(open);
  if (closing) MHD_destroy_response(closing);
  return NULL;
}

void kept_release(struct kept *k) {
  if (--k->holders) return;
  MHD_destroy_response(k->open);
  MHD_destroy_response(k->closing);
  free(k);
}
