#include "tariff/encode.h"

bool tariff_equal(const struct tariff *a, const struct tariff *b) {
  struct buf one = BUF_INIT, other = BUF_INIT;
  tariff_write(a, PERIODS_SORTED, &one);
  tariff_write(b, PERIODS_SORTED, &other);
  bool equal = buf_ok(&one) && buf_ok(&other) && bytes_equal(buf_bytes(&one), buf_bytes(&other));
  buf_free(&one);
  buf_free(&other);
  return equal;
}
