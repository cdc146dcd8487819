#include "stream/inspect.h"

#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <string.h>

enum { DAY = 86400 };

static void common_name(const X509_NAME *name, char *out, size_t room) {
  int at = X509_NAME_get_index_by_NID(name, NID_commonName, -1);
  unsigned char *text = NULL;
  int size =
      at < 0 ? -1 : ASN1_STRING_to_UTF8(&text, X509_NAME_ENTRY_get_data(X509_NAME_get_entry(name, at)));
  out[0] = '\0';
  if (size >= 0 && (size_t)size < room && !memchr(text, 0, (size_t)size)) {
    memcpy(out, text, (size_t)size);
    out[size] = '\0';
  }
  OPENSSL_free(text);
}

/* From 1970 as text: libcrypto's time_t may be narrower than ours on 32 bits. */
static bool seconds_of(const ASN1_TIME *when, int64_t *out) {
  int days, seconds;
  ASN1_TIME *epoch = ASN1_TIME_new();
  bool good =
      epoch && ASN1_TIME_set_string(epoch, "19700101000000Z") && ASN1_TIME_diff(&days, &seconds, epoch, when);
  ASN1_TIME_free(epoch);
  if (good) *out = (int64_t)days * DAY + seconds;
  return good;
}

bool certificate_facts(X509 *certificate, struct certificate_facts *out, struct err *e) {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned size = 0;
  *out = (struct certificate_facts){0};
  ERR_clear_error();
  bool good = X509_digest(certificate, EVP_sha256(), digest, &size) == 1 && size == FINGERPRINT_SIZE &&
              seconds_of(X509_get0_notBefore(certificate), &out->from) &&
              seconds_of(X509_get0_notAfter(certificate), &out->until);
  ERR_clear_error();
  if (!good) return err_set(e, KIND_invalid, "a certificate cannot be read");
  for (unsigned i = 0; i < size; i++) snprintf(out->fingerprint + 2 * i, 3, "%02x", digest[i]);
  common_name(X509_get_subject_name(certificate), out->subject, sizeof out->subject);
  common_name(X509_get_issuer_name(certificate), out->issuer, sizeof out->issuer);
  out->authority = X509_check_ca(certificate) != 0;
  out->self_issued =
      X509_NAME_cmp(X509_get_subject_name(certificate), X509_get_issuer_name(certificate)) == 0;
  return true;
}

static void add_address(struct buf *out, const ASN1_OCTET_STRING *address) {
  const unsigned char *byte = ASN1_STRING_get0_data(address);
  int size = ASN1_STRING_length(address);
  if (size == 4) buf_format(out, "%d.%d.%d.%d\n", byte[0], byte[1], byte[2], byte[3]);
  for (int i = 0; size == 16 && i < 16; i += 2)
    buf_format(out, "%x%s", (unsigned)byte[i] << 8 | byte[i + 1], i < 14 ? ":" : "\n");
}

void certificate_hosts(X509 *certificate, struct buf *out) {
  GENERAL_NAMES *names = X509_get_ext_d2i(certificate, NID_subject_alt_name, NULL, NULL);
  for (int i = 0; i < sk_GENERAL_NAME_num(names); i++) {
    int type;
    const ASN1_STRING *value = GENERAL_NAME_get0_value(sk_GENERAL_NAME_value(names, i), &type);
    const char *text = type == GEN_DNS ? (const char *)ASN1_STRING_get0_data(value) : NULL;
    if (text && !memchr(text, 0, (size_t)ASN1_STRING_length(value))) buf_format(out, "%s\n", text);
    if (type == GEN_IPADD) add_address(out, value);
  }
  GENERAL_NAMES_free(names);
}

static bool set_host(X509_VERIFY_PARAM *p, const char *host) {
  return X509_VERIFY_PARAM_set1_ip_asc(p, host) == 1 || X509_VERIFY_PARAM_set1_host(p, host, 0) == 1;
}

static bool add_all(X509_STORE *store, STACK_OF(X509) * authorities) {
  for (int i = 0; i < sk_X509_num(authorities); i++)
    if (X509_STORE_add_cert(store, sk_X509_value(authorities, i)) != 1) return false;
  return true;
}

bool trust_server(STACK_OF(X509) * chain, STACK_OF(X509) * authorities, const char *host, bool alone,
                  int64_t at, struct err *e) {
  X509_STORE *store = X509_STORE_new();
  X509_STORE_CTX *context = X509_STORE_CTX_new();
  ERR_clear_error();
  bool good = store && context && add_all(store, authorities) &&
              X509_STORE_CTX_init(context, store, sk_X509_value(chain, 0), alone ? NULL : chain) == 1 &&
              X509_STORE_CTX_set_default(context, "ssl_server") == 1 &&
              set_host(X509_STORE_CTX_get0_param(context), host);
  if (good && at) X509_STORE_CTX_set_time(context, 0, (time_t)at);
  if (!good)
    err_set(e, KIND_tls, "the chain cannot be verified");
  else if (X509_verify_cert(context) != 1)
    good = err_set(e, KIND_tls, "%s", X509_verify_cert_error_string(X509_STORE_CTX_get_error(context)));
  ERR_clear_error();
  X509_STORE_CTX_free(context);
  X509_STORE_free(store);
  return good;
}
