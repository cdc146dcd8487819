#include "base/hostname.h"

#include <string.h>

enum { NAME_MOST = 253, LABEL_MOST = 63 };

#define SMALL "abcdefghijklmnopqrstuvwxyz"
#define CAPITALS "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define DIGITS "0123456789"
#define SPACES " \t\n\v\f\r"

static bool is_in_set(unsigned char byte, const char *set) {
  return byte && strchr(set, byte);
}

/* How many bytes at the beginning are of the set. */
static size_t span(struct bytes t, const char *set) {
  size_t n = 0;
  while (n < t.size && is_in_set(t.data[n], set)) n++;
  return n;
}

static bool any_of(struct bytes t, const char *set) {
  for (size_t i = 0; i < t.size; i++)
    if (is_in_set(t.data[i], set)) return true;
  return false;
}

static bool has(struct bytes t, const char *part) {
  size_t size = strlen(part);
  for (size_t i = 0; i + size <= t.size; i++)
    if (memcmp(t.data + i, part, size) == 0) return true;
  return false;
}

static bool beyond_ascii(struct bytes t) {
  for (size_t i = 0; i < t.size; i++)
    if (t.data[i] >= 0x80) return true;
  return false;
}

/* Parts of the text, in the order in which they are looked for. */
static const char *wrong_byte(struct bytes t) {
  if (span(t, SPACES) == t.size) return "is empty";
  if (has(t, "://")) return "leave out the scheme";
  if (any_of(t, "@")) return "leave out the part before the @";
  if (any_of(t, "/\\")) return "leave out the path";
  if (any_of(t, "?#")) return "leave out what follows the name";
  if (any_of(t, ":")) return "leave out the port";
  if (any_of(t, SPACES)) return "leave out the spaces";
  if (any_of(t, "*")) return "name one host, without *";
  if (beyond_ascii(t)) return "write it in its xn-- form";
  if (span(t, SMALL CAPITALS DIGITS ".-") < t.size)
    return "it may hold letters, digits, dots and hyphens only";
  return NULL;
}

static const char *wrong_dot(struct bytes t) {
  if (t.data[t.size - 1] == '.') return "leave out the dot at its end";
  if (has(t, "..")) return "a name is missing between two dots";
  if (t.data[0] == '.') return "leave out the dot at its beginning";
  return NULL;
}

static const char *wrong_label(const unsigned char *label, size_t size) {
  if (size > LABEL_MOST) return "one of its parts is longer than 63 characters";
  if (label[0] == '-' || label[size - 1] == '-') return "no part may begin or end with a hyphen";
  return NULL;
}

/* No label is empty here. */
static const char *wrong_labels(struct bytes t) {
  const char *problem = NULL;
  for (size_t i = 0, n; i < t.size && !problem; i += n + 1) {
    struct bytes rest = {t.data + i, t.size - i};
    n = span(rest, SMALL CAPITALS DIGITS "-");
    problem = wrong_label(rest.data, n);
  }
  return problem;
}

const char *hostname_problem(struct bytes t) {
  if (!t.data) return "it must be text";
  const char *problem = wrong_byte(t);
  if (!problem) problem = wrong_dot(t);
  if (!problem && t.size > NAME_MOST) problem = "it is longer than 253 characters";
  return problem ? problem : wrong_labels(t);
}

const char *domain_problem(struct bytes t) {
  const char *problem = hostname_problem(t);
  if (problem) return problem;
  if (any_of(t, CAPITALS)) return "write it in small letters";
  if (span(t, DIGITS ".") == t.size) return "a name is needed, not an address";
  if (!any_of(t, ".")) return "a dot is missing: it must be reachable from the internet";
  return NULL;
}

/* ---- suggestions ---- */

static struct bytes without(struct bytes t, size_t front) {
  return (struct bytes){t.data + front, t.size - front};
}

static struct bytes without_scheme(struct bytes t) {
  size_t n = span(t, SMALL CAPITALS DIGITS "+.-");
  bool scheme = n && is_in_set(t.data[0], SMALL CAPITALS) && t.size - n >= 3 && !memcmp(t.data + n, "://", 3);
  return scheme ? without(t, n + 3) : t;
}

/* Removes the user information: all up to the last @ before the path. */
static struct bytes without_user(struct bytes t) {
  size_t user = 0;
  for (size_t i = 0; i < t.size && !is_in_set(t.data[i], "/?#"); i++)
    if (t.data[i] == '@') user = i + 1;
  return without(t, user);
}

static struct bytes host_part(struct bytes t) {
  t = without(t, span(t, SPACES));
  while (t.size && is_in_set(t.data[t.size - 1], SPACES)) t.size--;
  t = without_user(without_scheme(t));
  for (size_t i = 0; i < t.size; i++)
    if (is_in_set(t.data[i], "/\\?#:")) t.size = i;
  if (t.size && t.data[t.size - 1] == '.') t.size--;
  return t;
}

bool domain_meant(struct bytes text, struct buf *out) {
  struct bytes host = host_part(text);
  unsigned char guess[NAME_MOST];
  if (host.size > sizeof guess) return false;
  for (size_t i = 0; i < host.size; i++)
    guess[i] = is_in_set(host.data[i], CAPITALS) ? (unsigned char)(host.data[i] | 0x20) : host.data[i];
  struct bytes meant = {guess, host.size};
  if (bytes_equal(meant, text) || domain_problem(meant)) return false;
  buf_add(out, guess, host.size);
  return true;
}

bool domain_sentence(struct bytes text, struct buf *out) {
  const char *problem = domain_problem(text);
  struct buf meant = BUF_INIT;
  if (!problem) return false;
  buf_format(out, "'domain' must be a host name such as app.example.com: %s", problem);
  if (domain_meant(text, &meant)) buf_format(out, " (did you mean '%s'?)", buf_text(&meant));
  out->failed = out->failed || meant.failed;
  buf_free(&meant);
  return true;
}
