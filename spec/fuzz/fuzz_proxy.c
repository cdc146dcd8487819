/* The header of a load balancer: read as the receiver reads it, no byte more than it says may be read. */
#include "stream/proxy.h"

#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  size_t had = 0;
  struct proxy_header h;
  unsigned char copy[PROXY_MOST];
  for (;;) {
    enum proxy_state state = proxy_read((struct bytes){copy, had}, &h);
    if (state != PROXY_MORE) return 0;
    if (!h.wanted || had + h.wanted > PROXY_MOST) abort();
    if (h.wanted > size - had) return 0;
    for (size_t i = 0; i < h.wanted; i++) copy[had + i] = data[had + i];
    had += h.wanted;
  }
}
