#include "crypto/x509.h"

#include "crypto/internal.h"

#include <openssl/bio.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>
#include <limits.h>
#include <string.h>

enum { DAY = 86400 };

/* NULL when the bytes are not exactly one certificate. */
static X509 *certificate_of(const unsigned char *der, long size) {
  const unsigned char *at = der;
  X509 *certificate = d2i_X509(NULL, &at, size);
  if (certificate && at == der + size) return certificate;
  X509_free(certificate);
  return NULL;
}

enum block { BLOCK_CERTIFICATE, BLOCK_OTHER, BLOCK_NONE, BLOCK_BROKEN };

static enum block end_of_blocks(void) {
  unsigned long why = ERR_peek_last_error();
  return ERR_GET_LIB(why) == ERR_LIB_PEM && ERR_GET_REASON(why) == PEM_R_NO_START_LINE ? BLOCK_NONE
                                                                                       : BLOCK_BROKEN;
}

static enum block next_block(BIO *in, X509 **certificate) {
  char *label = NULL, *header = NULL;
  unsigned char *der = NULL;
  long size = 0;
  enum block found = BLOCK_OTHER;
  if (!PEM_read_bio(in, &label, &header, &der, &size)) return end_of_blocks();
  if (strcmp(label, PEM_STRING_X509) == 0) {
    *certificate = certificate_of(der, size);
    found = *certificate ? BLOCK_CERTIFICATE : BLOCK_BROKEN;
  }
  OPENSSL_free(label);
  OPENSSL_free(header);
  OPENSSL_free(der);
  return found;
}

static bool read_all(BIO *in, STACK_OF(X509) * all, struct err *e) {
  for (;;) {
    X509 *certificate = NULL;
    enum block found = next_block(in, &certificate);
    if (found == BLOCK_NONE) return true;
    if (found == BLOCK_BROKEN)
      return err_set(e, KIND_invalid, "certificate %d cannot be read: it was cut or changed",
                     sk_X509_num(all) + 1);
    if (found == BLOCK_OTHER) continue;
    if (sk_X509_num(all) == CHAIN_MOST) {
      X509_free(certificate);
      return err_set(e, KIND_invalid, "holds more than %d certificates", CHAIN_MOST);
    }
    if (sk_X509_push(all, certificate) == 0) return X509_free(certificate), err_out_of_memory(e);
  }
}

/* 1970 as text: libcrypto's time_t may be narrower than ours on 32 bits. */
static bool seconds_of(const ASN1_TIME *when, int64_t *out) {
  int days, seconds;
  ASN1_TIME *epoch = ASN1_TIME_new();
  bool ok =
      epoch && ASN1_TIME_set_string(epoch, "19700101000000Z") && ASN1_TIME_diff(&days, &seconds, epoch, when);
  ASN1_TIME_free(epoch);
  if (ok) *out = (int64_t)days * DAY + seconds;
  return ok;
}

/* By names and key identifiers. A server's own certificate may forbid its key to sign others. */
static bool has_issuer(const STACK_OF(X509) * all, X509 *certificate) {
  for (int i = 0; i < sk_X509_num(all); i++) {
    int answer = X509_check_issued(sk_X509_value(all, i), certificate);
    if (answer == X509_V_OK || answer == X509_V_ERR_KEYUSAGE_NO_CERTSIGN) return true;
  }
  return false;
}

static bool take_facts(const STACK_OF(X509) * all, struct bytes host, struct chain *out, struct err *e) {
  out->count = (size_t)sk_X509_num(all);
  out->servers = out->named = 0;
  for (int i = 0; i < sk_X509_num(all); i++) {
    X509 *certificate = sk_X509_value(all, i);
    if (!seconds_of(X509_get0_notAfter(certificate), &out->at[i].until))
      return err_set(e, KIND_invalid, "certificate %d has no date at which it ends", i + 1);
    out->at[i].has_issuer = has_issuer(all, certificate);
    if (X509_check_ca(certificate)) continue;
    out->servers++;
    out->named += host.size && X509_check_host(certificate, (const char *)host.data, host.size, 0, NULL) == 1;
  }
  return true;
}

bool x509_chain(struct bytes pem, struct bytes host, struct chain *out, struct err *e) {
  if (pem.size > INT_MAX || (pem.size && memchr(pem.data, 0, pem.size)))
    return err_set(e, KIND_invalid, "is no text"); /* OpenSSL ends a label at a zero byte, others do not */
  BIO *in = BIO_new_mem_buf(pem.size ? (const void *)pem.data : "", (int)pem.size);
  STACK_OF(X509) *all = sk_X509_new_null();
  ERR_clear_error();
  bool ok = in && all ? read_all(in, all, e) && take_facts(all, host, out, e) : err_out_of_memory(e);
  sk_X509_pop_free(all, X509_free);
  BIO_free(in);
  ERR_clear_error();
  return ok;
}
