#include "stream/issue.h"

#include "stream/trust.h"

#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

enum { DAY = 86400, SERIAL_SIZE = 16 };

/* What one certificate is made of; all of it is freed at one place. */
struct making {
  X509 *certificate;
  EVP_PKEY *key, *signer;
  STACK_OF(X509) * issuers;
  BIO *out;
};

static bool library_failure(struct err *e) {
  char text[160];
  ERR_error_string_n(ERR_get_error(), text, sizeof text);
  ERR_clear_error();
  return err_set(e, KIND_tls, "the certificate cannot be made: %s", text);
}

static bool read_issuer(struct making *m, const struct issue *wanted, struct err *e) {
  char no_passphrase[] = "";
  if (!wanted->issuer.size) return true;
  m->issuers = certificates_of(wanted->issuer, "issuer", e);
  if (!m->issuers) return false;
  BIO *in = BIO_new_mem_buf(wanted->issuer_key.data, (int)wanted->issuer_key.size);
  m->signer = in ? PEM_read_bio_PrivateKey(in, NULL, NULL, no_passphrase) : NULL;
  BIO_free(in);
  ERR_clear_error();
  return m->signer || err_set(e, KIND_invalid, "the authority's key cannot be read");
}

/* Of its key: unique, as the key is. */
static bool set_serial(X509 *certificate) {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned size;
  if (X509_pubkey_digest(certificate, EVP_sha256(), digest, &size) != 1) return false;
  digest[0] &= 0x7f; /* positive */
  BIGNUM *number = BN_bin2bn(digest, SERIAL_SIZE, NULL);
  bool good = number && BN_to_ASN1_INTEGER(number, X509_get_serialNumber(certificate)) != NULL;
  BN_free(number);
  return good;
}

static bool set_names(X509 *certificate, const char *subject, X509 *issuer) {
  X509_NAME *name = X509_get_subject_name(certificate);
  return X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_UTF8, (const unsigned char *)subject, -1, -1, 0) ==
             1 &&
         X509_set_issuer_name(certificate, issuer ? X509_get_subject_name(issuer) : name) == 1;
}

static bool add_extension(X509 *certificate, X509 *issuer, int nid, const char *text) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, issuer ? issuer : certificate, certificate, NULL, NULL, 0);
  X509_EXTENSION *extension = X509V3_EXT_conf_nid(NULL, &context, nid, text);
  bool good = extension && X509_add_ext(certificate, extension, -1) == 1;
  X509_EXTENSION_free(extension);
  return good;
}

/* Built, not written as text: a name may hold what the text form gives a meaning. */
static bool add_host(X509 *certificate, const char *host) {
  GENERAL_NAMES *names = GENERAL_NAMES_new();
  GENERAL_NAME *name = GENERAL_NAME_new();
  ASN1_OCTET_STRING *address = a2i_IPADDRESS(host);
  ASN1_IA5STRING *text = address ? NULL : ASN1_IA5STRING_new();
  bool good = names && name && (address || (text && ASN1_STRING_set(text, host, -1) == 1));
  if (good)
    GENERAL_NAME_set0_value(name, address ? GEN_IPADD : GEN_DNS, address ? (void *)address : (void *)text);
  if (!good) {
    ASN1_OCTET_STRING_free(address);
    ASN1_IA5STRING_free(text);
  }
  good = good && sk_GENERAL_NAME_push(names, name) > 0;
  if (!good) GENERAL_NAME_free(name);
  good = good && X509_add1_ext_i2d(certificate, NID_subject_alt_name, names, 0, X509V3_ADD_DEFAULT) == 1;
  GENERAL_NAMES_free(names);
  return good;
}

static bool add_extensions(X509 *certificate, X509 *issuer, const struct issue *wanted) {
  return add_extension(certificate, issuer, NID_basic_constraints,
                       wanted->authority ? "critical,CA:TRUE" : "critical,CA:FALSE") &&
         add_extension(certificate, issuer, NID_key_usage,
                       wanted->authority ? "critical,keyCertSign,cRLSign" : "critical,digitalSignature") &&
         add_extension(certificate, issuer, NID_subject_key_identifier, "hash") &&
         (!issuer || add_extension(certificate, issuer, NID_authority_key_identifier, "keyid")) &&
         (!wanted->usage || add_extension(certificate, issuer, NID_ext_key_usage, wanted->usage)) &&
         (!wanted->host || add_host(certificate, wanted->host));
}

/* It holds from a day before now: the clock of a vehicle or of this machine may be late. */
static bool fill(struct making *m, const struct issue *wanted) {
  X509 *issuer = m->issuers ? sk_X509_value(m->issuers, 0) : NULL;
  m->key = EVP_EC_gen("P-256");
  m->certificate = X509_new();
  return m->key && m->certificate && X509_set_version(m->certificate, 2) == 1 &&
         X509_gmtime_adj(X509_getm_notBefore(m->certificate), -DAY) &&
         X509_time_adj_ex(X509_getm_notAfter(m->certificate), (int)wanted->days, 0, NULL) &&
         set_names(m->certificate, wanted->subject, issuer) && X509_set_pubkey(m->certificate, m->key) == 1 &&
         set_serial(m->certificate) && add_extensions(m->certificate, issuer, wanted) &&
         X509_sign(m->certificate, m->signer ? m->signer : m->key, EVP_sha256()) > 0;
}

/* BIO_get_mem_data is a macro that casts. */
static bool take_text(BIO *in, struct buf *out) {
  char piece[512];
  int size;
  while ((size = BIO_read(in, piece, sizeof piece)) > 0) buf_add(out, piece, (size_t)size);
  wipe(piece, sizeof piece);
  return buf_ok(out);
}

static bool write_out(struct making *m, struct buf *certificate, struct buf *key) {
  m->out = BIO_new(BIO_s_secmem());
  return m->out && PEM_write_bio_X509(m->out, m->certificate) == 1 && take_text(m->out, certificate) &&
         PEM_write_bio_PKCS8PrivateKey(m->out, m->key, NULL, NULL, 0, NULL, NULL) == 1 &&
         take_text(m->out, key);
}

bool issue_certificate(const struct issue *wanted, struct buf *certificate, struct buf *key, struct err *e) {
  struct making m = {0};
  ERR_clear_error();
  bool good = read_issuer(&m, wanted, e);
  if (good && !(fill(&m, wanted) && write_out(&m, certificate, key))) good = library_failure(e);
  X509_free(m.certificate);
  EVP_PKEY_free(m.key);
  EVP_PKEY_free(m.signer);
  sk_X509_pop_free(m.issuers, X509_free);
  BIO_free(m.out);
  return good;
}
