/* One argument of a call: checked against its parameter row, and written as text, as JSON, or for a message.
 */
#include "base/nearest.h"
#include "base/utf8.h"
#include "base/vin.h"
#include "call/arguments.h"
#include "crypto/key.h"
#include "time/calendar.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* ---- mistakes ---- */

bool arguments_ok(const struct arguments *a) {
  return !a->error->size && buf_ok(a->error) && !a->arena->failed;
}

/* What is a field of the client is named with it: partner.register. */
static const char *group_of(const struct row *row) {
  static const char *const groups[] = {"partner.", "user.", "charging."};
  for (size_t i = 0; row->handle && i < sizeof groups / sizeof *groups; i++)
    if (strncmp(row->handle, groups[i], strlen(row->handle)) == 0) return groups[i];
  return "";
}

bool mistake(const struct arguments *a, const char *format, ...) {
  if (a->error->size) return false;
  va_list list;
  va_start(list, format);
  buf_format(a->error, "%s%s: ", group_of(a->row), a->row->method);
  buf_format_list(a->error, format, list);
  va_end(list);
  return false;
}

bool unknown_name(const struct arguments *a, const char *what, struct bytes name, const char *const *names,
                  size_t count) {
  struct buf sentence = BUF_INIT;
  const struct node *given = node_text_copy(a->arena, name);
  unknown_sentence(&sentence, what, given ? (const char *)given->text.data : "", names, count);
  mistake(a, "%s", buf_text(&sentence));
  a->error->failed |= sentence.failed;
  buf_free(&sentence);
  return false;
}

void table_json(const struct arguments *a, const struct node *value, const char *lists, struct buf *out) {
  struct json_refusal why;
  if (json_write(value, lists, out, &why) || a->error->size) return;
  buf_format(a->error, "%.*s cannot be written as JSON (in '%.*s')", (int)why.what.size,
             (const char *)why.what.data, (int)why.name.size, (const char *)why.name.data);
}

static bool is_text(const struct node *value) {
  return node_is(value, NODE_TEXT);
}

static bool is_number(const struct node *value) {
  return node_is(value, NODE_INTEGER) || node_is(value, NODE_NUMBER);
}

/* With a NUL behind it. */
static const char *c_text(const struct arguments *a, struct bytes text) {
  const struct node *copy = node_text_copy(a->arena, text);
  return copy ? (const char *)copy->text.data : "";
}

/* ---- texts and numbers ---- */

static bool is_clean(struct bytes text) {
  for (size_t i = 0; i < text.size; i++)
    if (text.data[i] < 0x20 || text.data[i] == 0x7F) return false;
  return true;
}

struct bytes text_value(const struct arguments *a, const struct param *q, const struct node *value) {
  if (is_text(value)) return value->text;
  mistake(a, "'%s' must be a string, got %s", q->name, node_type_name(value));
  return bytes_of("");
}

static bool is_bounded(const struct param *q) {
  return q->min != 0 || q->max != 0;
}

static void check_range(const struct arguments *a, const struct param *q, double value) {
  if (!is_bounded(q) || (value >= q->min && value <= q->max)) return;
  struct buf range = BUF_INIT;
  buf_json_number(&range, q->min);
  buf_text_add(&range, " to ");
  buf_json_number(&range, q->max);
  mistake(a, "'%s' must be %s%s%s", q->name, buf_text(&range), q->unit ? " " : "", q->unit ? q->unit : "");
  buf_free(&range);
}

static double number_value(const struct arguments *a, const struct param *q, const struct node *value) {
  double number = 0;
  if (!node_as_number(value, &number)) {
    mistake(a, "'%s' must be a number, got %s", q->name, node_type_name(value));
    return 0;
  }
  if (!isfinite(number)) mistake(a, "'%s' must be a finite number", q->name);
  check_range(a, q, number);
  return number;
}

/* A whole number; a double of 2^53 and above looks like its neighbours. */
static bool exact_whole(const struct node *value, int64_t *whole) {
  bool exact = !node_is(value, NODE_NUMBER) || fabs(value->number) < 9007199254740992.0;
  return exact && node_as_whole(value, whole);
}

static int64_t integer_value(const struct arguments *a, const struct param *q, const struct node *value) {
  int64_t integer = 0;
  number_value(a, q, value);
  if (!exact_whole(value, &integer)) mistake(a, "'%s' must be a whole number", q->name);
  return integer;
}

/* ---- choices ---- */

enum { MOST_CHOICES = 40 };

static void unknown_choice(const struct arguments *a, const struct param *q, const struct node *value) {
  const char *names[MOST_CHOICES];
  size_t count = 0;
  for (const struct choice *c = q->choices; c->name && count < MOST_CHOICES; c++) names[count++] = c->name;
  struct buf sentence = BUF_INIT;
  const struct node *given = node_written(a->arena, value);
  choice_sentence(&sentence, q->name, given ? (const char *)given->text.data : "", names, count);
  mistake(a, "%s", buf_text(&sentence));
  buf_free(&sentence);
}

static bool is_choice(const struct node *value, const struct choice *c) {
  double number;
  if (node_as_number(value, &number)) return !c->text && number == c->number;
  if (!is_text(value)) return false;
  return bytes_equal(value->text, bytes_of(c->name)) ||
         (c->text && bytes_equal(value->text, bytes_of(c->text)));
}

/* NULL: a mistake. */
static const struct choice *choice_value(const struct arguments *a, const struct param *q,
                                         const struct node *value) {
  for (const struct choice *c = q->choices; c->name; c++)
    if (is_choice(value, c)) return c;
  if (q->forced && is_choice(value, q->forced)) {
    if (a->force) return q->forced;
    mistake(a, "'%s' may be '%s' with force = true only: it is not a published value", q->name,
            q->forced->name);
    return NULL;
  }
  unknown_choice(a, q, value);
  return NULL;
}

/* ---- days of the week: bit 0 is Sunday (doc/protocol.md#days-of-the-week) ---- */

static unsigned day_bits(struct bytes word) {
  for (const struct choice *day = day_choices; day->name; day++)
    if (word.size == strlen(day->name) && strncasecmp((const char *)word.data, day->name, word.size) == 0)
      return (unsigned)day->number;
  return 0;
}

static unsigned one_day(const struct arguments *a, const struct param *q, struct bytes word) {
  while (word.size && *word.data == ' ') word.data++, word.size--;
  while (word.size && word.data[word.size - 1] == ' ') word.size--;
  unsigned bits = day_bits(word);
  if (!bits)
    mistake(a, "'%s' has no day '%s': use mon tue wed thu fri sat sun, all or weekdays", q->name,
            c_text(a, word));
  return bits;
}

static unsigned days_in_text(const struct arguments *a, const struct param *q, struct bytes text) {
  unsigned bits = 0;
  for (;;) {
    const unsigned char *comma = memchr(text.data, ',', text.size);
    size_t size = comma ? (size_t)(comma - text.data) : text.size;
    bits |= one_day(a, q, (struct bytes){text.data, size});
    if (!comma) return bits;
    text.data += size + 1, text.size -= size + 1;
  }
}

unsigned days_value(const struct arguments *a, const struct param *q, const struct node *value) {
  unsigned bits = 0;
  if (is_text(value)) bits = days_in_text(a, q, value->text);
  if (is_number(value)) bits = (unsigned)integer_value(a, q, value);
  for (const struct node *one = first_element(value); one; one = next_element(one))
    bits |= one_day(a, q, text_value(a, q, one));
  if (bits == 0 || bits > 127)
    mistake(a, "'%s' must name days: {\"mon\",\"tue\"}, \"Mon,Tues\", \"all\" or a mask", q->name);
  return bits;
}

/* One word when the set has one, else the days one by one; the first of several names of a day counts. */
void days_text(struct buf *out, unsigned bits) {
  unsigned written = 0;
  for (const struct choice *day = day_choices; day->name; day++)
    if ((unsigned)day->number == bits) {
      buf_text_add(out, day->text);
      return;
    }
  for (const struct choice *day = day_choices; day->name; day++) {
    unsigned bit = (unsigned)day->number;
    if (!(bits & bit) || written & bit || bit & (bit - 1)) continue;
    buf_format(out, "%s%s", written ? "," : "", day->text);
    written |= bit;
  }
}

/* ---- ids and times ---- */

static bool all_of(struct bytes text, const char *characters) {
  for (size_t i = 0; i < text.size; i++)
    if (!text.data[i] || !strchr(characters, text.data[i])) return false;
  return true;
}

static bool is_id(struct bytes text) {
  return text.size > 0 && text.size <= 128 &&
         all_of(text, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-_");
}

static bool is_digits(struct bytes text) {
  return text.size > 0 && all_of(text, "0123456789");
}

/* A VIN, or the numeric id that paths take too. */
static bool names_vehicle(struct bytes text) {
  return (text.size <= 20 && is_digits(text)) || is_vin(text);
}

/* It becomes a JSON number, where a leading zero would break the whole body. */
static void check_digits(const struct arguments *a, const struct param *q, struct bytes text) {
  double value = 0;
  if (!is_digits(text)) mistake(a, "'%s' must be digits", q->name);
  if (text.size > 1 && text.data[0] == '0') mistake(a, "'%s' must not start with 0", q->name);
  for (size_t i = 0; i < text.size; i++) value = value * 10 + (text.data[i] - '0');
  if (value < q->min) mistake(a, "'%s' must be %d or more", q->name, (int)q->min);
  if (value > q->max) mistake(a, "'%s' has too many digits", q->name);
}

/* Appends the id as text; numbers are accepted where they are exact. */
static void id_value(const struct arguments *a, const struct param *q, const struct node *value,
                     struct buf *out) {
  char digits[24];
  struct bytes text;
  int64_t whole;
  if (is_number(value)) {
    if (!exact_whole(value, &whole) || whole < 0) {
      mistake(a, "'%s' must be a whole number, 0 or above", q->name);
      return;
    }
    snprintf(digits, sizeof digits, "%lld", (long long)whole);
    text = bytes_of(digits);
  } else {
    text = text_value(a, q, value);
  }
  if (q->type == TYPE_VIN && !names_vehicle(text)) mistake(a, "'%s' is not a VIN: " VIN_SPELLING, q->name);
  if (is_bounded(q)) check_digits(a, q, text);
  if (!is_id(text)) mistake(a, "'%s' must be an id: letters, digits, '-' and '_'", q->name);
  buf_add(out, text.data, text.size);
}

/* A date, or a time with its offset; a number is UTC seconds. Text is sent as it was given. */
static void time_value(const struct arguments *a, const struct param *q, const struct node *value,
                       struct buf *out) {
  struct err e;
  err_clear(&e);
  struct civil date;
  int64_t utc;
  double fraction;
  if (q->type == TYPE_TIME && is_number(value)) {
    double seconds = floor(number_value(a, q, value));
    if (seconds >= CIVIL_MIN && seconds <= CIVIL_MAX)
      civil_format_time(out, (int64_t)seconds, 0);
    else
      mistake(a, "'%s' must be UTC seconds within the years 0 to 9999", q->name);
    return;
  }
  struct bytes text = text_value(a, q, value);
  bool good = civil_parse_date(&date, text, &e) ||
              (q->type == TYPE_TIME && civil_parse_time(&utc, &fraction, text, &e));
  if (!good)
    mistake(a, "'%s' must be %s, got '%s'", q->name,
            q->type == TYPE_DATE ? "a date such as 2026-03-29"
                                 : "a time such as 2026-03-29T00:00:00+01:00, or UTC seconds",
            c_text(a, text));
  buf_add(out, text.data, text.size);
}

/* ---- texts of a parameter, booleans, keys ---- */

static bool is_utf8(struct bytes text) {
  for (size_t at = 0, n; at < text.size; at += n)
    if (!(n = utf8_sequence((struct bytes){text.data + at, text.size - at}))) return false;
  return true;
}

/* A text that a signed message cannot carry is rejected in the plain form too. */
static void check_text(const struct arguments *a, const struct param *q, struct bytes text) {
  if (q->flags & PIN && !(text.size == 4 && is_digits(text))) mistake(a, "'%s' must be four digits", q->name);
  if (q->place != IN_BODY && !is_clean(text)) mistake(a, "'%s' must not hold control characters", q->name);
  if (q->flags & FILLED && text.size == 0) mistake(a, "'%s' must not be empty", q->name);
  if (!is_utf8(text)) mistake(a, "'%s' must be UTF-8 text", q->name);
  if (q->field && memchr(text.data, 0, text.size)) mistake(a, "'%s' must not hold a zero byte", q->name);
}

static void string_value(const struct arguments *a, const struct param *q, const struct node *value,
                         struct buf *out) {
  if (q->flags & NUMBER_AS_TEXT && is_number(value)) {
    buf_integer(out, integer_value(a, q, value));
    return;
  }
  struct bytes text = text_value(a, q, value);
  check_text(a, q, text);
  buf_add(out, text.data, text.size);
}

/* Whether it is the text that the plain form accepts instead of true or false. */
static bool is_boolean_word(const struct param *q, const struct node *value) {
  return q->word && is_text(value) && bytes_equal(value->text, bytes_of(q->word));
}

static bool boolean_value(const struct arguments *a, const struct param *q, const struct node *value) {
  if (node_is(value, NODE_BOOLEAN)) return value->boolean;
  return mistake(a, "'%s' must be true%s%s or false, got %s", q->name, q->word ? ", " : "",
                 q->word ? q->word : "", node_type_name(value));
}

static bool public_key_value(const struct arguments *a, const struct param *q, const struct node *value,
                             unsigned char public[PUBLIC_SIZE]) {
  struct err e;
  err_clear(&e);
  struct bytes given = text_value(a, q, value);
  return key_public_read(a->crypto, given, public, &e) ||
         mistake(a, "'%s' must be a public key (PEM text, 130 hex digits or 65 bytes): %s", q->name,
                 e.message);
}

/* ---- lists ---- */

/* The number of elements is limited; an empty list is a mistake. */
static bool check_list(const struct arguments *a, const struct param *q, const struct node *list) {
  double count = 0;
  if (!node_is_table(list))
    return mistake(a, "'%s' must be a list of strings, got %s", q->name, node_type_name(list));
  for (const struct node *one = first_element(list); one; one = next_element(one)) count++;
  if (count == 0) return mistake(a, "'%s' must be a list with at least one element", q->name);
  if (is_bounded(q) && count > q->max) mistake(a, "'%s' takes at most %d elements", q->name, (int)q->max);
  return true;
}

/* Each element is checked like a single value. In a query they are joined with semicolons
 * (doc/protocol.md#vehicle-data). */
static void list_value(const struct arguments *a, const struct param *q, const struct node *list,
                       bool as_json, struct buf *out) {
  struct param each = *q;
  each.type = q->type == TYPE_VINS ? TYPE_VIN : TYPE_STRING;
  each.min = each.max = 0; /* for a list they limit the number of elements */
  if (!check_list(a, q, list)) return;
  for (const struct node *one = first_element(list); one; one = next_element(one)) {
    struct buf text = BUF_INIT;
    if (one->index > 1) buf_put(out, as_json ? ',' : ';');
    plain_value(a, &each, one, &text);
    if (as_json)
      buf_json_string(out, buf_bytes(&text));
    else
      buf_add(out, text.data, text.size);
    out->failed |= text.failed;
    buf_free(&text);
  }
}

/* ---- the value in a path or a query, before percent-encoding ---- */

static void choice_text(const struct choice *c, struct buf *out) {
  if (c && c->text)
    buf_text_add(out, c->text);
  else if (c)
    buf_json_number(out, c->number);
}

void plain_value(const struct arguments *a, const struct param *q, const struct node *value,
                 struct buf *out) {
  unsigned char public[PUBLIC_SIZE];
  if (q->choices && q->type != TYPE_STRINGS) {
    choice_text(choice_value(a, q, value), out);
    return;
  }
  switch (q->type) {
  case TYPE_STRING:
    string_value(a, q, value, out);
    return;
  case TYPE_INTEGER:
    buf_integer(out, integer_value(a, q, value));
    return;
  case TYPE_NUMBER:
    buf_json_number(out, number_value(a, q, value));
    return;
  case TYPE_BOOLEAN:
    buf_text_add(out, boolean_value(a, q, value) ? "true" : "false");
    return;
  case TYPE_ID:
  case TYPE_VIN:
    id_value(a, q, value, out);
    return;
  case TYPE_TIME:
  case TYPE_DATE:
    time_value(a, q, value, out);
    return;
  case TYPE_DAYS:
    days_text(out, days_value(a, q, value));
    return;
  case TYPE_BYTES:
    buf_base64(out, text_value(a, q, value));
    return;
  case TYPE_PUBLIC_KEY:
    if (public_key_value(a, q, value, public)) buf_hex(out, (struct bytes){public, sizeof public});
    return;
  case TYPE_STRINGS:
  case TYPE_VINS:
    list_value(a, q, value, false, out);
    return;
  case TYPE_OBJECT:
  case TYPE_TARIFF:
    break;
  }
  mistake(a, "'%s' cannot stand in an address", q->name);
}

/* ---- the value in the body ---- */

static void quoted_value(const struct arguments *a, const struct param *q, const struct node *value,
                         struct buf *out) {
  struct buf text = BUF_INIT;
  plain_value(a, q, value, &text);
  buf_json_string(out, buf_bytes(&text));
  out->failed |= text.failed;
  buf_free(&text);
}

/* For an object of which the message carries one member only. */
static void check_member(const struct arguments *a, const struct param *q, const struct node *object) {
  const struct node *member = q->member ? node_member(object, q->member) : NULL;
  if (is_text(member)) check_text(a, q, member->text);
}

static void object_value(const struct arguments *a, const struct param *q, const struct node *value,
                         struct buf *out) {
  if (q == a->encoded) {
    buf_add(out, a->json.data, a->json.size);
  } else if (node_is_table(value)) {
    check_member(a, q, value);
    table_json(a, value, q->lists, out);
  } else {
    mistake(a, "'%s' must be a table, got %s", q->name, node_type_name(value));
  }
}

/* An id of digits only is written as an exact integer literal. */
void json_value(const struct arguments *a, const struct param *q, const struct node *value, struct buf *out) {
  if (q->choices && q->type != TYPE_STRINGS) {
    const struct choice *c = choice_value(a, q, value);
    if (c && c->text)
      buf_json_string(out, bytes_of(c->text));
    else
      choice_text(c, out);
    return;
  }
  if (is_boolean_word(q, value)) {
    buf_json_string(out, bytes_of(q->word));
    return;
  }
  switch (q->type) {
  case TYPE_INTEGER:
  case TYPE_NUMBER:
  case TYPE_BOOLEAN:
    plain_value(a, q, value, out);
    return;
  case TYPE_ID:
    (is_bounded(q) ? plain_value : quoted_value)(a, q, value, out);
    return;
  case TYPE_STRING:
    if (q->flags & OBJECT_TOO && node_is_table(value)) {
      table_json(a, value, NULL, out);
      return;
    }
    quoted_value(a, q, value, out);
    return;
  case TYPE_VIN:
  case TYPE_TIME:
  case TYPE_DATE:
  case TYPE_BYTES:
  case TYPE_PUBLIC_KEY:
  case TYPE_DAYS:
    quoted_value(a, q, value, out);
    return;
  case TYPE_STRINGS:
  case TYPE_VINS:
    buf_put(out, '[');
    list_value(a, q, value, true, out);
    buf_put(out, ']');
    return;
  case TYPE_OBJECT:
  case TYPE_TARIFF:
    object_value(a, q, value, out);
    return;
  }
}

/* ---- the value in a message of the command protocol ---- */

static uint64_t id_number(const struct arguments *a, const struct param *q, const struct node *value) {
  struct buf text = BUF_INIT;
  uint64_t id = 0;
  id_value(a, q, value, &text);
  for (size_t i = 0; i < text.size; i++) {
    unsigned digit = text.data[i] - '0';
    if (digit > 9 || id > (UINT64_MAX - digit) / 10) mistake(a, "'%s' must be a number here", q->name);
    id = id * 10 + digit;
  }
  if (text.failed) a->arena->failed = true;
  buf_free(&text);
  if (q->max > 0 && (double)id > q->max) mistake(a, "'%s' must be at most %.0f", q->name, q->max);
  return id;
}

static struct bytes arena_copy(const struct arguments *a, struct bytes text) {
  const struct node *copy = node_text_copy(a->arena, text);
  return copy ? copy->text : bytes_of("");
}

static struct bytes message_text(const struct arguments *a, const struct param *q, const struct node *value) {
  if (q->flags & OBJECT_TOO && node_is_table(value)) {
    struct buf json = BUF_INIT;
    table_json(a, value, NULL, &json);
    struct bytes text = arena_copy(a, buf_bytes(&json));
    if (json.failed) a->arena->failed = true;
    buf_free(&json);
    return text;
  }
  struct bytes text = text_value(a, q, value);
  check_text(a, q, text);
  return text;
}

void signed_value(const struct arguments *a, const struct param *q, const struct node *value,
                  struct value *out) {
  unsigned char public[PUBLIC_SIZE];
  const struct node *member;
  out->given = true;
  if (q->choices) {
    out->choice = choice_value(a, q, value);
    return;
  }
  switch (q->type) {
  case TYPE_STRING:
    out->text = message_text(a, q, value);
    return;
  case TYPE_PUBLIC_KEY:
    if (public_key_value(a, q, value, public))
      out->text = arena_copy(a, (struct bytes){public, sizeof public});
    return;
  case TYPE_BOOLEAN:
    if (is_boolean_word(q, value))
      out->text = bytes_of(q->word);
    else
      out->boolean = boolean_value(a, q, value);
    return;
  case TYPE_INTEGER:
    out->number = (double)integer_value(a, q, value);
    return;
  case TYPE_NUMBER:
    out->number = number_value(a, q, value);
    return;
  case TYPE_ID:
    out->integer = id_number(a, q, value);
    return;
  case TYPE_DAYS:
    out->integer = days_value(a, q, value);
    return;
  case TYPE_OBJECT:
    if (!q->member) return;
    member = node_member(value, q->member);
    out->given = is_text(member);
    if (!node_is_table(value)) mistake(a, "'%s' must be a table, got %s", q->name, node_type_name(value));
    if (!out->given) return;
    check_text(a, q, member->text);
    out->text = member->text;
    return;
  default:
    mistake(a, "'%s' cannot stand in a signed command", q->name);
  }
}
