#include "base/err.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void cut_at_utf8(char *text, size_t size) {
  size_t n = strlen(text);
  if (n + 1 < size) return;
  while (n > 0 && ((unsigned char)text[n - 1] & 0xC0) == 0x80) n--;
  if (n > 0 && (unsigned char)text[n - 1] >= 0xC0) n--;
  text[n] = '\0';
}

/* Messages quote the service and are printed on terminals: control characters are replaced. */
static void no_controls(char *text) {
  for (unsigned char *c = (unsigned char *)text; *c; c++) {
    bool c1 = c[0] == 0xC2 && c[1] >= 0x80 && c[1] <= 0x9F;
    if (c1) c[1] = ' ';
    if (c1 || *c < 0x20 || *c == 0x7F) *c = ' ';
  }
}

bool err_set(struct err *e, enum kind kind, const char *format, ...) {
  if (!e) return false;
  va_list args;
  va_start(args, format);
  vsnprintf(e->message, sizeof e->message, format, args);
  va_end(args);
  cut_at_utf8(e->message, sizeof e->message);
  no_controls(e->message);
  e->kind = kind;
  return false;
}

void err_reason(struct err *e, const char *text) {
  snprintf(e->reason, sizeof e->reason, "%s", text);
  cut_at_utf8(e->reason, sizeof e->reason);
}

bool err_out_of_memory(struct err *e) {
  return err_set(e, KIND_service, "out of memory");
}

static const char *const kind_names[] = {"none",
#define X(name) #name,
                                         KINDS(X)
#undef X
};

const char *kind_name(enum kind kind) {
  return kind < KIND_COUNT ? kind_names[kind] : "none";
}

enum kind kind_of(const char *name) {
  for (int i = 1; i < KIND_COUNT; i++)
    if (strcmp(kind_names[i], name) == 0) return (enum kind)i;
  return KIND_none;
}

const char *outcome_name(enum outcome outcome) {
  static const char *const names[] = {NULL, "not_sent", "refused", "unknown"};
  return names[outcome];
}

enum outcome outcome_of(const char *name) {
  for (int o = OUTCOME_NOT_SENT; name && o <= OUTCOME_UNKNOWN; o++)
    if (strcmp(name, outcome_name((enum outcome)o)) == 0) return (enum outcome)o;
  return OUTCOME_NONE;
}
