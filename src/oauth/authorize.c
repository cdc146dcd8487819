#include "oauth/authorize.h"

#include "crypto/digest.h"
#include "crypto/random.h"
#include "oauth/form.h"

#include <string.h>

enum { STATE_BYTES = 32, VERIFIER_BYTES = 32, NONCE_BYTES = 16 };

/* ---- state, nonce and verifier ---- */

static bool has_scope(struct bytes scopes, const char *wanted) {
  size_t size = strlen(wanted);
  for (size_t start = 0, end; start < scopes.size; start = end + 1) {
    for (end = start; end < scopes.size && scopes.data[end] != ' ';) end++;
    if (end - start == size && memcmp(scopes.data + start, wanted, size) == 0) return true;
  }
  return false;
}

bool pending_draw(struct pending *p, struct crypto *c, const struct authorize *a, bool open_source,
                  struct bytes own_nonce, struct err *e) {
  if (!crypto_random_text(c, &p->state, STATE_BYTES, e)) return false;
  if (open_source && !crypto_random_text(c, &p->code_verifier, VERIFIER_BYTES, e)) return false;
  buf_add(&p->nonce, own_nonce.data, own_nonce.size);
  if (own_nonce.size || !has_scope(a->scope, "openid")) return buf_ok(&p->nonce) || err_out_of_memory(e);
  return crypto_random_text(c, &p->nonce, NONCE_BYTES, e);
}

void pending_free(struct pending *p) {
  buf_free(&p->state);
  buf_free(&p->nonce);
  buf_free(&p->code_verifier);
}

/* ---- addresses ---- */

bool authorize_challenge(struct crypto *c, struct buf *out, struct bytes verifier, struct err *e) {
  unsigned char hash[HASH_SIZE];
  if (!crypto_sha256(c, verifier, hash)) return err_set(e, KIND_service, "OpenSSL made no SHA-256");
  buf_base64url(out, (struct bytes){hash, sizeof hash});
  return buf_ok(out) || err_out_of_memory(e);
}

static struct bytes unless_empty(const struct buf *b) {
  return b->size ? buf_bytes(b) : (struct bytes){NULL, 0};
}

static void add_query(struct buf *query, const struct authorize *a, const struct pending *p,
                      const struct buf *challenge) {
  form_add(query, "response_type", bytes_of("code"));
  form_add(query, "client_id", a->client_id);
  form_add(query, "redirect_uri", a->redirect_uri);
  form_add(query, "scope", a->scope);
  form_add(query, "state", buf_bytes(&p->state));
  form_add(query, "nonce", unless_empty(&p->nonce));
  form_add(query, "code_challenge", unless_empty(challenge));
  if (challenge->size) form_add(query, "code_challenge_method", bytes_of("S256"));
  form_add(query, "prompt_missing_scopes", a->prompt_missing_scopes);
  form_add(query, "require_requested_scopes", a->require_requested_scopes);
  form_add(query, "show_keypair_step", a->show_keypair_step);
  form_add(query, "locale", a->locale);
  form_add(query, "prompt", a->prompt);
  form_add(query, "login_hint", a->login_hint);
}

static void add_page(struct buf *out, struct bytes page, const struct buf *query) {
  buf_add(out, page.data, page.size);
  buf_put(out, '?');
  buf_add(out, query->data, query->size);
  if (!buf_ok(query)) out->failed = true;
}

bool authorize_address(struct crypto *c, struct buf *out, const struct authorize *a, const struct pending *p,
                       struct err *e) {
  struct buf challenge = BUF_INIT, query = BUF_INIT;
  bool good = !p->code_verifier.size || authorize_challenge(c, &challenge, buf_bytes(&p->code_verifier), e);
  if (good) add_query(&query, a, p, &challenge);
  if (good) add_page(out, a->page, &query);
  buf_free(&challenge);
  buf_free(&query);
  return good && (buf_ok(out) || err_out_of_memory(e));
}

void consent_address(struct buf *out, struct bytes page, struct bytes client_id, struct bytes back_url) {
  struct buf query = BUF_INIT;
  form_add(&query, "revoke_client_id", client_id);
  form_add(&query, "back_url", back_url);
  add_page(out, page, &query);
  buf_free(&query);
}
