#include "base/reason.h"

#include "base/text.h"

#include <string.h>

static const char fault_prefix[] = "MESSAGEFAULT_ERROR_", fault_number[] = "unrecognized error code ";
static const char security_prefix[] = "GENERICERROR_";

static bool is_word(unsigned char c) {
  return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_';
}

static size_t word_size(struct bytes text) {
  size_t n = 0;
  while (n < text.size && is_word(text.data[n])) n++;
  return n;
}

/* The text after the last of these prefixes; data NULL: the text has none of them. */
static struct bytes behind(struct bytes text, const char *const *prefixes) {
  struct bytes last = {NULL, 0};
  for (; *prefixes; prefixes++)
    for (struct bytes at = text_after(text, *prefixes); at.data; at = text_after(at, *prefixes))
      if (!last.data || at.data > last.data) last = at;
  return last;
}

/* The text from the first occurrence of part. */
static struct bytes from(struct bytes text, const char *part) {
  struct bytes after = text_after(text, part);
  if (!after.data) return after;
  return (struct bytes){after.data - strlen(part), after.size + strlen(part)};
}

bool reason_of_vehicle(struct bytes text) {
  return behind(text, proxy_prefixes).data || text_after(text, security_prefix).data;
}

/* doc/protocol.md#reasons */
struct bytes reason_words(struct bytes text) {
  struct bytes word = from(text, security_prefix);
  if (word.data) return text_cut(word, word_size(word));
  word = behind(text, proxy_prefixes);
  return word.data ? word : text;
}

void reason_set(struct err *e, struct bytes text) {
  char copy[sizeof e->reason + 4]; /* err_reason cuts it, and must see that it is too long */
  struct bytes words = text_cut(reason_words(text), sizeof copy - 1);
  if (words.size) memcpy(copy, words.data, words.size);
  copy[words.size] = '\0';
  err_reason(e, copy);
}

static bool reason_matches(const struct reason *r, struct bytes text) {
  size_t length = strlen(r->text);
  if (r->match == MATCH_PART) return text_after(text, r->text).data;
  if (r->match == MATCH_TAIL)
    return text.size >= length && text_is(text_skip(text, text.size - length), r->text);
  return text_is(text, r->text);
}

const struct reason *reason_of(const char *text) {
  return reason_in(bytes_of(text));
}

const struct reason *reason_in(struct bytes text) {
  struct bytes words = reason_words(text);
  for (const char *const *prefix = reason_prefixes; *prefix; prefix++)
    if (text_starts(words, *prefix)) words = text_skip(words, strlen(*prefix));
  for (const struct reason *r = reason_rows; r->text; r++)
    if (reason_matches(r, words)) return r;
  return NULL;
}

/* Hyphens and blanks are taken for underscores. */
static bool same_name(struct bytes text, const char *name) {
  for (size_t i = 0; name[i]; i++) {
    unsigned char c = i < text.size ? text.data[i] : 0;
    if (c == '-' || c == ' ') c = '_';
    if (c >= 'a' && c <= 'z') c = (unsigned char)(c - 'a' + 'A');
    if (c != (unsigned char)name[i]) return false;
  }
  size_t size = strlen(name);
  return size == text.size || !is_word(text.data[size]);
}

static const struct fault *fault_named(struct bytes text, bool prefixed) {
  for (const struct fault *f = fault_rows; f->name; f++)
    if ((prefixed || strchr(f->name, '_')) && same_name(text, f->name)) return f;
  return NULL;
}

static const struct fault *fault_numbered(int number) {
  for (const struct fault *f = fault_rows; f->name; f++)
    if (f->number == number) return f;
  return NULL;
}

static struct fault_word of_row(const struct fault *row, int number) {
  return (struct fault_word){true, row ? row->number : number, row};
}

struct fault_word fault_in(struct bytes text) {
  struct bytes named = text_after(text, fault_prefix);
  if (named.data) return of_row(fault_named(named, true), 0);
  struct bytes digits = text_after(text, fault_number);
  if (digits.data) {
    int number = 0;
    for (size_t i = 0; i < digits.size && digits.data[i] >= '0' && digits.data[i] <= '9' && number < 10000;
         i++)
      number = number * 10 + digits.data[i] - '0';
    return of_row(fault_numbered(number), number);
  }
  for (size_t i = 0; i < text.size; i++) {
    if (i && is_word(text.data[i - 1])) continue;
    const struct fault *row = fault_named(text_skip(text, i), false);
    if (row) return of_row(row, 0);
  }
  return (struct fault_word){false, 0, NULL};
}

void reason_doc(char out[static REASON_DOC], const struct reason *reason, const struct row *row) {
  static const char *const words[] = {"vehicle or site", "vehicle"}; /* the longer one first */
  bool of_site = strcmp(row->handle, "site") == 0;
  const char *own = of_site ? "site" : "vehicle";
  size_t size = 0;
  out[0] = '\0';
  if (!reason->doc || (of_site && !strstr(reason->where, "site"))) return;
  for (const char *at = reason->doc; *at && size + strlen(own) + 1 < REASON_DOC;) {
    size_t word = 0;
    for (size_t i = 0; i < 2 && !word; i++)
      if (strncmp(at, words[i], strlen(words[i])) == 0) word = strlen(words[i]);
    if (word) {
      memcpy(out + size, own, strlen(own));
      size += strlen(own), at += word;
    } else {
      out[size++] = *at++;
    }
  }
  out[size] = '\0';
}
