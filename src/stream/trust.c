#include "stream/trust.h"

#include "stream/identity.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <stdio.h>

static bool library_failure(const char *what, struct err *e) {
  char text[160];
  ERR_error_string_n(ERR_get_error(), text, sizeof text);
  ERR_clear_error();
  return err_set(e, KIND_tls, "%s: %s", what, text);
}

STACK_OF(X509) * certificates_of(struct bytes pem, const char *name, struct err *e) {
  STACK_OF(X509) *list = sk_X509_new_null();
  BIO *in = pem.size <= INT32_MAX ? BIO_new_mem_buf(pem.data, (int)pem.size) : NULL;
  X509 *one = NULL;
  bool good = list && in;
  ERR_clear_error();
  while (good && (one = PEM_read_bio_X509(in, NULL, NULL, NULL))) good = sk_X509_push(list, one) > 0;
  unsigned long failure = ERR_peek_last_error();
  bool ended = ERR_GET_LIB(failure) == ERR_LIB_PEM && ERR_GET_REASON(failure) == PEM_R_NO_START_LINE;
  if (!list || !in)
    err_out_of_memory(e);
  else if (!ended)
    err_set(e, KIND_invalid, "%s: certificate %d of the PEM text cannot be read", name,
            sk_X509_num(list) + 1);
  else if (!sk_X509_num(list))
    err_set(e, KIND_invalid, "%s: no certificate in it: PEM is wanted", name);
  good = good && ended && sk_X509_num(list) > 0;
  ERR_clear_error();
  BIO_free(in);
  if (good) return list;
  sk_X509_pop_free(list, X509_free);
  return NULL;
}

bool fingerprint_of(const X509 *certificate, char out[FINGERPRINT + 1]) {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned size = 0;
  if (X509_digest(certificate, EVP_sha256(), digest, &size) != 1 || size * 2 != FINGERPRINT) return false;
  for (unsigned i = 0; i < size; i++) snprintf(out + (size_t)2 * i, 3, "%02x", digest[i]);
  return true;
}

void common_name_of(const X509 *certificate, char *out, size_t size) {
  out[0] = 0;
  if (X509_NAME_get_text_by_NID(X509_get_subject_name(certificate), NID_commonName, out, (int)size) < 0)
    out[0] = 0;
}

bool use_chain(SSL_CTX *context, struct bytes certificate, struct bytes key, struct err *e) {
  STACK_OF(X509) *chain = certificates_of(certificate, "certificate", e);
  if (!chain) return false;
  BIO *in = key.size <= INT32_MAX ? BIO_new_mem_buf(key.data, (int)key.size) : NULL;
  char no_passphrase[] = "";
  EVP_PKEY *private_key = in ? PEM_read_bio_PrivateKey(in, NULL, NULL, no_passphrase) : NULL;
  bool good = private_key && SSL_CTX_use_certificate(context, sk_X509_value(chain, 0)) == 1;
  for (int i = 1; good && i < sk_X509_num(chain); i++)
    good = SSL_CTX_add1_chain_cert(context, sk_X509_value(chain, i)) == 1;
  good = good && SSL_CTX_use_PrivateKey(context, private_key) == 1 && SSL_CTX_check_private_key(context) == 1;
  if (!private_key)
    err_set(e, KIND_invalid, "certificate_key: it cannot be read: PEM without a passphrase is wanted");
  else if (X509_check_private_key(sk_X509_value(chain, 0), private_key) != 1)
    err_set(e, KIND_tls, "certificate_key: this key does not belong to the certificate");
  else if (!good)
    library_failure("certificate and key cannot be used together", e);
  ERR_clear_error();
  EVP_PKEY_free(private_key);
  BIO_free(in);
  sk_X509_pop_free(chain, X509_free);
  return good;
}

static bool fill_store(X509_STORE *store, STACK_OF(X509) * authorities) {
  X509_VERIFY_PARAM *p = X509_STORE_get0_param(store);
  for (int i = 0; i < sk_X509_num(authorities); i++)
    if (X509_STORE_add_cert(store, sk_X509_value(authorities, i)) != 1) return false;
  return X509_VERIFY_PARAM_set_purpose(p, X509_PURPOSE_ANY) == 1 &&
         X509_VERIFY_PARAM_set_flags(p, X509_V_FLAG_PARTIAL_CHAIN) == 1;
}

/* Whether each issuer says that it is an authority. OpenSSL also accepts one that may sign certificates by
 * its key usage and has no basic constraints. */
static bool issuers_are_authorities(STACK_OF(X509) * chain) {
  enum { CONSTRAINED = 1, VERSION_1_ROOT = 3 };
  for (int i = 1; i < sk_X509_num(chain); i++) {
    int kind = X509_check_ca(sk_X509_value(chain, i));
    if (kind != CONSTRAINED && kind != VERSION_1_ROOT) return false;
  }
  return true;
}

/* X509_verify_cert, and then the authorities and the purposes of the chain that it built. */
static int verify(X509_STORE_CTX *context, void *unused) {
  (void)unused;
  if (X509_verify_cert(context) != 1) return 0;
  STACK_OF(X509) *chain = X509_STORE_CTX_get0_chain(context);
  if (!issuers_are_authorities(chain)) {
    X509_STORE_CTX_set_error(context, X509_V_ERR_INVALID_CA);
    return 0;
  }
  if (chain_may_be_client(chain)) return 1;
  X509_STORE_CTX_set_error(context, X509_V_ERR_CERT_REJECTED); /* its alert is bad_certificate */
  return 0;
}

bool trust_clients(SSL_CTX *context, STACK_OF(X509) * authorities, struct err *e) {
  X509_VERIFY_PARAM *p = SSL_CTX_get0_param(context);
  ERR_clear_error();
  if (!fill_store(SSL_CTX_get_cert_store(context), authorities) ||
      X509_VERIFY_PARAM_set_purpose(p, X509_PURPOSE_ANY) != 1 ||
      X509_VERIFY_PARAM_set_flags(p, X509_V_FLAG_PARTIAL_CHAIN) != 1)
    return library_failure("the authorities cannot be used", e);
  for (int i = 0; i < sk_X509_num(authorities); i++)
    if (SSL_CTX_add_client_CA(context, sk_X509_value(authorities, i)) != 1)
      return library_failure("the authorities cannot be named", e);
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
  SSL_CTX_set_cert_verify_callback(context, verify, NULL);
  return true;
}

bool trust_chain(STACK_OF(X509) * chain, STACK_OF(X509) * authorities, int64_t at, struct err *e) {
  X509_STORE *store = X509_STORE_new();
  X509_STORE_CTX *context = X509_STORE_CTX_new();
  bool good = store && context && fill_store(store, authorities) &&
              X509_STORE_CTX_init(context, store, sk_X509_value(chain, 0), chain) == 1;
  if (good && at) X509_STORE_CTX_set_time(context, 0, (time_t)at);
  if (!good) {
    library_failure("the chain cannot be verified", e);
  } else if (verify(context, NULL) != 1) {
    int error = X509_STORE_CTX_get_error(context);
    good = err_set(e, KIND_tls, "the certificate is not accepted: %s",
                   error == X509_V_ERR_CERT_REJECTED ? "its purpose is not a TLS client's"
                                                     : X509_verify_cert_error_string(error));
  }
  ERR_clear_error();
  X509_STORE_CTX_free(context);
  X509_STORE_free(store);
  return good;
}
