#include "tariff/row_text.h"

#include <string.h>

/* ---- numbers ---- */

/* Cuts digits off the start of text, most at most. False: fewer than least. */
static bool take_number(struct bytes *text, size_t least, size_t most, int *value) {
  size_t count = 0;
  *value = 0;
  while (count < text->size && text->data[count] >= '0' && text->data[count] <= '9' && count < most)
    *value = *value * 10 + (text->data[count++] - '0');
  *text = (struct bytes){text->data + count, text->size - count};
  return count >= least;
}

static bool take_sign(struct bytes *text, char sign) {
  if (!text->size || text->data[0] != (unsigned char)sign) return false;
  *text = (struct bytes){text->data + 1, text->size - 1};
  return true;
}

bool parse_clock(struct bytes text, int *minute) {
  int hour, rest;
  if (!take_number(&text, 1, 2, &hour) || !take_sign(&text, ':') || !take_number(&text, 2, 2, &rest) ||
      text.size)
    return false;
  *minute = hour * 60 + rest;
  return rest <= 59 && *minute <= 1440;
}

bool parse_date(struct bytes text, int *month, int *day) {
  return take_number(&text, 1, 2, month) && take_sign(&text, '-') && take_number(&text, 1, 2, day) &&
         !text.size;
}

/* ---- days ---- */

static bool is_separator(unsigned char c) {
  return c == ',' || c == ' ' || (c >= '\t' && c <= '\r');
}

/* By its first three letters; -1: none. */
static int day_number(struct bytes word) {
  static const char names[][4] = {"mon", "tue", "wed", "thu", "fri", "sat", "sun"};
  for (int day = 0; day < 7 && word.size >= 3; day++) {
    int same = 0;
    while (same < 3 && (word.data[same] | 0x20) == names[day][same]) same++;
    if (same == 3) return day;
  }
  return -1;
}

/* A range has one "-" between two words. Other text is one word. */
static void split_range(struct bytes part, struct bytes *from, struct bytes *to) {
  const unsigned char *dash = memchr(part.data, '-', part.size), *end = part.data + part.size;
  *from = *to = part;
  if (!dash || dash == part.data || dash + 1 == end || memchr(dash + 1, '-', (size_t)(end - dash - 1)))
    return;
  *from = (struct bytes){part.data, (size_t)(dash - part.data)};
  *to = (struct bytes){dash + 1, (size_t)(end - dash - 1)};
}

static bool add_days(struct bytes part, unsigned *days, struct bytes *wrong) {
  struct bytes from, to;
  split_range(part, &from, &to);
  int last = day_number(to), day = day_number(from);
  *wrong = last < 0 ? to : from;
  if (last < 0 || day < 0) return false;
  for (*days |= 1u << day; day != last; *days |= 1u << day) day = (day + 1) % 7;
  return true;
}

bool parse_days(struct bytes text, unsigned *days, struct bytes *wrong) {
  *days = 0;
  for (size_t at = 0, end; at < text.size; at = end + 1) {
    end = at;
    while (end < text.size && !is_separator(text.data[end])) end++;
    if (end > at && !add_days((struct bytes){text.data + at, end - at}, days, wrong)) return false;
  }
  return true;
}
