#include "base/redact.h"

#include <stdlib.h>
#include <string.h>

static const char mark[] = "[redacted]";

enum {
  MAY_BE_CUT = 188, /* texts of the service are cut (base/err.h), perhaps within a secret */
  LONG_WORD = 20,
  SHORT_TOKEN = 10,
  SHORTEST = 4,
  SHORTEST_PART = 3
};

static bool starts(struct bytes text, struct bytes with) {
  return text.size >= with.size && memcmp(text.data, with.data, with.size) == 0;
}

static struct bytes after(struct bytes text, size_t n) {
  return (struct bytes){text.data + n, text.size - n};
}

/* ---- secrets by their value ---- */

static void replace(struct buf *text, struct bytes form) {
  struct buf out = BUF_INIT;
  for (struct bytes rest = buf_bytes(text); rest.size > 0;) {
    bool here = starts(rest, form);
    if (here)
      buf_text_add(&out, mark);
    else
      buf_put(&out, rest.data[0]);
    rest = after(rest, here ? form.size : 1);
  }
  out.failed |= text->failed;
  buf_free(text);
  *text = out;
}

/* Where a text was cut within a secret, the secret's beginning is its end. */
static void replace_tail(struct buf *text, struct bytes form) {
  size_t n = form.size - 1 < text->size ? form.size - 1 : text->size;
  for (; n >= SHORTEST_PART; n--) {
    if (memcmp(text->data + text->size - n, form.data, n) != 0) continue;
    wipe(text->data + text->size - n, n);
    text->size -= n;
    buf_text_add(text, mark);
    return;
  }
}

static void replace_form(struct buf *text, struct bytes form, bool cut) {
  replace(text, form);
  if (cut && buf_ok(text)) replace_tail(text, form);
}

static void escape_slashes(struct buf *out, struct bytes secret) {
  for (size_t i = 0; i < secret.size; i++) {
    if (secret.data[i] == '/') buf_put(out, '\\');
    buf_put(out, secret.data[i]);
  }
}

static void replace_secret(struct buf *text, struct bytes secret, bool cut) {
  struct buf form = BUF_INIT;
  replace_form(text, secret, cut);
  buf_percent(&form, secret);
  replace_form(text, buf_bytes(&form), cut);
  text->failed |= form.failed;
  buf_clear(&form);
  escape_slashes(&form, secret);
  replace_form(text, buf_bytes(&form), cut);
  text->failed |= form.failed;
  buf_free(&form);
}

/* ---- what looks like a token ---- */

static bool is_in(unsigned char c, const char *more) {
  return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c && strchr(more, c));
}

static size_t run_of(struct bytes text, size_t from, const char *more) {
  size_t n = from;
  while (n < text.size && is_in(text.data[n], more)) n++;
  return n;
}

static bool is_space(unsigned char c) {
  return c == ' ' || (c >= '\t' && c <= '\r');
}

/* A word of a sentence may follow "bearer": a token is long, or of middle length with digits and
 * letters in it. */
static bool like_a_token(struct bytes run) {
  bool digit = false, letter = false;
  for (size_t i = 0; i < run.size; i++) {
    digit |= run.data[i] >= '0' && run.data[i] <= '9';
    letter |= (run.data[i] | 0x20) >= 'a' && (run.data[i] | 0x20) <= 'z';
  }
  return run.size >= LONG_WORD || (run.size >= SHORT_TOKEN && digit && letter);
}

/* The bytes of "Bearer token" at the start, or 0. */
static size_t bearer(struct bytes text) {
  static const char word[] = "earer";
  size_t n = sizeof word, first;
  if (text.size <= n || (text.data[0] != 'B' && text.data[0] != 'b')) return 0;
  if (memcmp(text.data + 1, word, sizeof word - 1) != 0 || !is_space(text.data[n])) return 0;
  while (n < text.size && is_space(text.data[n])) n++;
  first = n;
  n = run_of(text, n, "-._~+/");
  if (!like_a_token((struct bytes){text.data + first, n - first})) return 0;
  while (n < text.size && text.data[n] == '=') n++;
  return n;
}

/* The bytes of a JSON Web Token at the start, or 0. */
static size_t web_token(struct bytes text) {
  if (!starts(text, bytes_of("eyJ"))) return 0;
  size_t head = run_of(text, 3, "-_");
  if (head == 3 || head >= text.size || text.data[head] != '.') return 0;
  size_t body = run_of(text, head + 1, "-_");
  if (body == head + 1) return 0;
  return run_of(text, body < text.size && text.data[body] == '.' ? body + 1 : body, "-_");
}

typedef size_t token_at(struct bytes text);

static void replace_tokens(struct buf *text, token_at *find, const char *instead) {
  struct buf out = BUF_INIT;
  for (struct bytes rest = buf_bytes(text); rest.size > 0;) {
    size_t n = find(rest);
    if (n)
      buf_text_add(&out, instead);
    else
      buf_put(&out, rest.data[0]);
    rest = after(rest, n ? n : 1);
  }
  out.failed |= text->failed;
  buf_free(text);
  *text = out;
}

/* ---- both ---- */

/* A PIN may be a part of a token: removed first, it would hide the form of the token. */
static int longer_first(const void *a, const void *b) {
  const struct bytes *one = a, *other = b;
  return (one->size < other->size) - (one->size > other->size);
}

void redact(struct buf *out, struct bytes text, struct bytes *secrets, size_t count) {
  struct buf clean = BUF_INIT;
  buf_add(&clean, text.data, text.size);
  if (count) qsort(secrets, count, sizeof *secrets, longer_first);
  for (size_t i = 0; i < count; i++)
    if (secrets[i].size >= SHORTEST) replace_secret(&clean, secrets[i], text.size >= MAY_BE_CUT);
  replace_tokens(&clean, bearer, "Bearer [redacted]");
  replace_tokens(&clean, web_token, mark);
  buf_add(out, clean.data, clean.size);
  out->failed |= clean.failed;
  buf_free(&clean);
}
