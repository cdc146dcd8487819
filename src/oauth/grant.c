#include "oauth/grant.h"

#include "oauth/form.h"

#include <string.h>

enum { SHORTEST = 4 }; /* a shorter secret also occurs in plain words */

static const char *const kind_names[] = {"code", "refresh", "partner", "business"};
static const char *const types[] = {"authorization_code", "refresh_token", "client_credentials",
                                    "client_credentials"};

bool grant_kind_named(const char *name, enum grant_kind *kind) {
  for (int i = GRANT_CODE; i <= GRANT_BUSINESS; i++) {
    if (strcmp(kind_names[i], name) != 0) continue;
    *kind = (enum grant_kind)i;
    return true;
  }
  return false;
}

/* ---- the form ---- */

#define IN(kind) (1u << (kind))
#define CREDENTIALS (IN(GRANT_PARTNER) | IN(GRANT_BUSINESS))

static const struct field {
  const char *name;
  size_t offset;
  unsigned kinds;
  bool secret;
} fields[] = {
    {"client_id", offsetof(struct grant, client_id), IN(GRANT_CODE) | IN(GRANT_REFRESH) | CREDENTIALS, false},
    {"client_secret", offsetof(struct grant, client_secret), IN(GRANT_CODE) | CREDENTIALS, true},
    {"code", offsetof(struct grant, code), IN(GRANT_CODE), true},
    {"refresh_token", offsetof(struct grant, refresh_token), IN(GRANT_REFRESH), true},
    {"audience", offsetof(struct grant, audience), IN(GRANT_CODE) | CREDENTIALS, false},
    {"scope", offsetof(struct grant, scope), CREDENTIALS, false},
    {"auth_code", offsetof(struct grant, auth_code), IN(GRANT_BUSINESS), true},
    {"code_verifier", offsetof(struct grant, code_verifier), IN(GRANT_CODE), true},
    {"redirect_uri", offsetof(struct grant, redirect_uri), IN(GRANT_CODE), false},
};
enum { FIELDS = sizeof fields / sizeof *fields };

static struct bytes value_of(const struct grant *g, const struct field *f) {
  bool verifier = f->offset == offsetof(struct grant, code_verifier);
  if (verifier && g->client_secret.data) return (struct bytes){NULL, 0};
  return *(const struct bytes *)(const void *)((const char *)g + f->offset);
}

void grant_form(struct buf *form, enum grant_kind kind, const struct grant *g) {
  form_add(form, "grant_type", bytes_of(types[kind]));
  for (int i = 0; i < FIELDS; i++)
    if (fields[i].kinds & IN(kind)) form_add(form, fields[i].name, value_of(g, &fields[i]));
}

/* ---- secrets of the form in other texts ---- */

static const unsigned char mark[] = "[redacted]";

static void replace(struct buf *text, struct bytes secret) {
  struct buf out = BUF_INIT;
  const unsigned char *at = text->data, *end = at + text->size, *found;
  if (secret.size < SHORTEST || !text->size) return;
  while ((found = memmem(at, (size_t)(end - at), secret.data, secret.size))) {
    buf_add(&out, at, (size_t)(found - at));
    buf_add(&out, mark, sizeof mark - 1);
    at = found + secret.size;
  }
  buf_add(&out, at, (size_t)(end - at));
  buf_clear(text);
  buf_add(text, out.data, out.size);
  if (!buf_ok(&out)) text->failed = true;
  buf_free(&out);
}

static void hide_one(struct buf *text, const struct buf *secret) {
  struct buf encoded = BUF_INIT;
  buf_percent(&encoded, buf_bytes(secret));
  replace(text, buf_bytes(secret));
  replace(text, buf_bytes(&encoded));
  buf_free(&encoded);
}

void grant_hide(struct bytes form, struct bytes text, struct buf *out) {
  struct buf clean = BUF_INIT;
  buf_add(&clean, text.data, text.size);
  for (int i = 0; i < FIELDS; i++) {
    struct buf secret = BUF_INIT;
    if (fields[i].secret && form_field(form, fields[i].name, &secret, NULL)) hide_one(&clean, &secret);
    buf_free(&secret);
  }
  buf_add(out, clean.data, clean.size);
  if (!buf_ok(&clean)) out->failed = true;
  buf_free(&clean);
}
