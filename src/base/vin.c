#include "base/vin.h"

static bool is_vin_letter(unsigned char c) {
  return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z' && c != 'I' && c != 'O' && c != 'Q');
}

bool is_vin(struct bytes text) {
  if (text.size != VIN_SIZE) return false;
  for (size_t i = 0; i < VIN_SIZE; i++)
    if (!is_vin_letter(text.data[i])) return false;
  return true;
}
