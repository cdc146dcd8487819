#include "base/json_prepare.h"

#include <endian.h>
#include <string.h>

enum { EXACT_DIGITS = 15 };

struct scan {
  const unsigned char *end, *copied; /* up to copied the text is in out */
  const char *ids;
  struct buf *out;
  struct json_steps *steps;
  uint64_t id_bits; /* of the ids: name_bit */
  int depth;
  bool escapes; /* there are backslashes */
};

/* An object or list that is open. What is read in it now stands at its name, NULL in a list, and place: as in
 * struct json_step. */
struct table {
  struct table *around; /* NULL: this is the outermost */
  const unsigned char *name;
  uint32_t place;
  bool told;                  /* a step leads into it */
  const unsigned char *comma; /* before the member, NULL: there is none, or it is left out */
  uint64_t bit, seen;         /* name_bit of this name, of those up to it */
};

/* ---- steps ---- */

static void add_step(struct json_steps *steps, enum json_step_kind kind, const struct table *t) {
  if (steps->count == JSON_STEPS) steps->untold = true;
  if (!steps->untold) steps->list[steps->count++] = (struct json_step){t->name, t->place, kind};
}

static void lead_into(struct json_steps *steps, struct table *t) {
  if (!t->around || t->told) return;
  lead_into(steps, t->around);
  add_step(steps, JSON_INTO, t->around);
  t->told = true;
}

/* To the value that is read now; one that is no part of a table needs no step. */
static void lead_to(struct json_steps *steps, enum json_step_kind kind, struct table *t) {
  if (!t) return;
  lead_into(steps, t);
  add_step(steps, kind, t);
}

/* ---- writing ---- */

/* Copies what stands before here, and makes room for what follows. */
static unsigned char *copy_up_to(struct scan *s, const unsigned char *here, size_t following) {
  struct buf *out = s->out;
  size_t size = (size_t)(here - s->copied), room = size + following;
  if ((!out->data || out->capacity - out->size < room) && !buf_reserve(out, room)) return NULL;
  memcpy(out->data + out->size, s->copied, size);
  out->size += size;
  return out->data + out->size;
}

/* What stands between here and there is left out. */
static void cut(struct scan *s, const unsigned char *here, const unsigned char *there) {
  copy_up_to(s, here, 0);
  s->copied = there;
}

static void put_in_quotes(struct scan *s, const unsigned char *from, const unsigned char *to) {
  size_t size = (size_t)(to - from);
  unsigned char *out = copy_up_to(s, from, size + 2);
  s->copied = to;
  if (!out) return;
  out[0] = out[size + 1] = '"';
  memcpy(out + 1, from, size);
  s->out->size += size + 2;
}

/* ---- strings ---- */

/* A bit for every byte that is zero, and perhaps for those above it. */
static inline uint64_t zero_bytes(uint64_t word) {
  return (word - 0x0101010101010101u) & ~word & 0x8080808080808080u;
}

/* The next quote or, where these are looked for, backslash; the end where there is none. */
static inline const unsigned char *next_mark(const unsigned char *at, const unsigned char *end,
                                             bool escapes) {
  for (uint64_t word; end - at >= 8; at += 8) {
    memcpy(&word, at, 8);
    word = le64toh(word);
    uint64_t found = zero_bytes(word ^ 0x2222222222222222u);
    if (escapes) found |= zero_bytes(word ^ 0x5C5C5C5C5C5C5C5Cu);
    if (found) return at + __builtin_ctzll(found) / 8;
  }
  while (at < end && *at != '"' && !(escapes && *at == '\\')) at++;
  return at;
}

static const unsigned char *escaped_string_end(const unsigned char *at, const unsigned char *end) {
  while ((at = next_mark(at, end, true)) < end && *at == '\\') at = end - at > 1 ? at + 2 : end;
  return at;
}

/* The quote that ends the string whose first byte this is; the end of the text where none does. */
static inline const unsigned char *string_end(const struct scan *s, const unsigned char *at) {
  return s->escapes ? escaped_string_end(at, s->end) : next_mark(at, s->end, false);
}

/* ---- names ---- */

/* Other names may have the same. */
static inline uint64_t name_bit(unsigned char first, size_t size) {
  return (uint64_t)1 << (first * 3u + size) % 64;
}

static uint64_t name_bits(const char *words) {
  uint64_t bits = 0;
  for (const char *at = words, *end; at && *at; at = end + (*end == ' ')) {
    end = strchrnul(at, ' ');
    bits |= name_bit((unsigned char)*at, (size_t)(end - at));
  }
  return bits;
}

static bool is_listed(const char *words, const unsigned char *name, size_t size) {
  for (const char *at = words, *end; *at; at = end + (*end == ' ')) {
    end = strchrnul(at, ' ');
    if ((size_t)(end - at) == size && memcmp(at, name, size) == 0) return true;
  }
  return false;
}

static bool is_id(const struct scan *s, const struct table *t) {
  return t && t->bit & s->id_bits && is_listed(s->ids, t->name, t->place);
}

/* ---- numbers ---- */

enum number { FRACTION, INTEGER, LONG, OTHER }; /* OTHER: perhaps an integer, perhaps no JSON */

static inline bool is_digit(unsigned char c) {
  return (unsigned char)(c - '0') < 10;
}

static const unsigned char *behind_digits(const unsigned char *at, const unsigned char *end) {
  while (at < end && is_digit(*at)) at++;
  return at;
}

static const unsigned char *behind_number(const unsigned char *at, const unsigned char *end) {
  while (at < end && (is_digit(*at) || (*at && strchr("+-.eE", *at)))) at++;
  return at;
}

/* What is more than digits and a point. */
static bool goes_on(const unsigned char *at, const unsigned char *end) {
  return at < end && (*at == 'e' || *at == 'E' || *at == '+' || *at == '-' || *at == '.');
}

/* The number that starts here, and where it ends. A fraction of so few digits is never a whole number as a
 * double. */
static enum number number_at(const unsigned char **here, const unsigned char *end) {
  const unsigned char *start = *here, *first = start + (*start == '-');
  const unsigned char *point = behind_digits(first, end), *at = point;
  unsigned rest = 0;
  if (at < end && *at == '.')
    for (at++; at < end && is_digit(*at); at++) rest |= *at ^ '0';
  bool odd = goes_on(at, end), zero = point > first && *first == '0';
  *here = odd ? behind_number(at, end) : at;
  if (odd || point == first || (zero && (point - first > 1 || (first > start && point == at)))) return OTHER;
  if (point == at) return point - first > EXACT_DIGITS ? LONG : INTEGER;
  return rest && at - first <= EXACT_DIGITS + 1 ? FRACTION : OTHER;
}

static const unsigned char *read_number(struct scan *s, const unsigned char *start, struct table *t) {
  const unsigned char *at = start;
  enum number kind = number_at(&at, s->end);
  bool id = is_id(s, t);
  if (kind == LONG || (kind == INTEGER && id))
    put_in_quotes(s, start, at);
  else if (kind != FRACTION || id)
    lead_to(s->steps, id ? JSON_ID : JSON_NUMBER, t);
  return at;
}

/* ---- tables ---- */

/* These take the place of a value and give that behind it; NULL: it is no JSON, as whoever reads it will
 * find. */
static const unsigned char *read_object(struct scan *s, const unsigned char *at, struct table *around);
static const unsigned char *read_list(struct scan *s, const unsigned char *at, struct table *around);

static inline const unsigned char *skip_blanks(const unsigned char *at, const unsigned char *end) {
  while (at < end && *at <= ' ' && (*at == ' ' || *at == '\t' || *at == '\n' || *at == '\r')) at++;
  return at;
}

static inline const unsigned char *read_word(const struct scan *s, const unsigned char *at, const char *word,
                                             size_t size) {
  return (size_t)(s->end - at) >= size && memcmp(at, word, size) == 0 ? at + size : NULL;
}

static const unsigned char *read_value(struct scan *s, const unsigned char *at, struct table *t) {
  if (at == s->end) return NULL;
  switch (*at) {
  case '"':
    at = string_end(s, at + 1);
    return at < s->end ? at + 1 : NULL;
  case '{':
    return read_object(s, at, t);
  case '[':
    return read_list(s, at, t);
  case 't':
    return read_word(s, at, "true", 4);
  case 'f':
    return read_word(s, at, "false", 5);
  case 'n':
    return read_word(s, at, "null", 4);
  }
  return is_digit(*at) || *at == '-' ? read_number(s, at, t) : NULL;
}

static const unsigned char *read_list(struct scan *s, const unsigned char *at, struct table *around) {
  struct table t = {.around = around, .place = 1};
  if (++s->depth > JSON_DEPTH) return NULL;
  at = skip_blanks(at + 1, s->end);
  if (at < s->end && *at != ']')
    for (; (at = read_value(s, at, &t)); t.place++) {
      at = skip_blanks(at, s->end);
      if (at == s->end || *at != ',') break;
      at = skip_blanks(at + 1, s->end);
    }
  if (!at || at == s->end || *at != ']') return NULL;
  if (t.told) add_step(s->steps, JSON_OUT, &t);
  s->depth--;
  return at + 1;
}

/* Leaves out a member that is null, with one of the commas beside it, where what remains is JSON only if it
 * was so with the member. One that may have replaced another of its name is not left out. */
static const unsigned char *read_null(struct scan *s, const unsigned char *at, struct table *t, bool again) {
  if (!(at = read_word(s, at, "null", 4))) return NULL;
  const unsigned char *next = skip_blanks(at, s->end), *following = next;
  if (next == s->end || (*next != ',' && *next != '}')) return NULL;
  if (again || s->steps->untold) {
    lead_to(s->steps, JSON_NULL, t);
  } else if (t->comma) {
    cut(s, t->comma, at);
  } else {
    if (*next == ',') following = skip_blanks(next + 1, s->end);
    if (*next == ',' && (following == s->end || *following != '"')) return NULL;
    cut(s, t->name - 1, following);
  }
  return next;
}

static const unsigned char *read_member(struct scan *s, const unsigned char *at, struct table *t) {
  if (at == s->end || *at != '"') return NULL;
  const unsigned char *name = at + 1, *quote = string_end(s, name);
  if (quote == s->end) return NULL;
  t->name = name;
  t->place = (uint32_t)(quote - name);
  if (s->escapes && memchr(name, '\\', t->place)) s->steps->untold = true;
  t->bit = name_bit(*name, t->place);
  bool again = t->seen & t->bit;
  t->seen |= t->bit;
  at = skip_blanks(quote + 1, s->end);
  if (at == s->end || *at != ':') return NULL;
  at = skip_blanks(at + 1, s->end);
  return at < s->end && *at == 'n' ? read_null(s, at, t, again) : read_value(s, at, t);
}

static const unsigned char *read_object(struct scan *s, const unsigned char *at, struct table *around) {
  struct table t = {.around = around};
  if (++s->depth > JSON_DEPTH) return NULL;
  at = skip_blanks(at + 1, s->end);
  if (at < s->end && *at != '}')
    while ((at = read_member(s, at, &t))) {
      at = skip_blanks(at, s->end);
      if (at == s->end || *at != ',') break;
      if (s->copied <= at) t.comma = at;
      at = skip_blanks(at + 1, s->end);
    }
  if (!at || at == s->end || *at != '}') return NULL;
  if (t.told) add_step(s->steps, JSON_OUT, &t);
  s->depth--;
  return at + 1;
}

struct bytes json_prepare(struct bytes text, const char *ids, struct buf *out, struct json_steps *steps) {
  struct scan s = {.end = text.data + text.size, .copied = text.data, .ids = ids, .out = out, .steps = steps};
  s.id_bits = name_bits(ids);
  s.escapes = text.size && memchr(text.data, '\\', text.size);
  steps->untold = false;
  steps->count = 0;
  if (!read_value(&s, skip_blanks(text.data, s.end), NULL)) steps->untold = true;
  if (s.copied == text.data) return text;
  cut(&s, s.end, s.end);
  return buf_bytes(out);
}
