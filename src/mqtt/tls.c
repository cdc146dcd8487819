#include "mqtt/tls.h"

#include <arpa/inet.h>
#include <mosquitto.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdint.h>

static bool failure(const char *what, struct err *e) {
  char text[160];
  ERR_error_string_n(ERR_get_error(), text, sizeof text);
  ERR_clear_error();
  return err_set(e, KIND_tls, "%s: %s", what, text);
}

/* libmosquitto sends the address that it connects to as the server's name, where RFC 6066 section 3 allows no
 * addresses. This runs before the handshake. */
static void announce_name(const SSL *ssl, int where, int result) {
  (void)result;
  const char *name = SSL_CTX_get_app_data(SSL_get_SSL_CTX(ssl));
  if (where == SSL_CB_HANDSHAKE_START) SSL_set_tlsext_host_name((SSL *)(uintptr_t)ssl, name);
}

/* An address is compared with the certificate's addresses, a name with its names. */
static bool expect_host(SSL_CTX *context, const char *host) {
  unsigned char address[16];
  X509_VERIFY_PARAM *wanted = SSL_CTX_get0_param(context);
  bool numeric = inet_pton(AF_INET, host, address) == 1 || inet_pton(AF_INET6, host, address) == 1;
  if (numeric) return X509_VERIFY_PARAM_set1_ip_asc(wanted, host) == 1;
  X509_VERIFY_PARAM_set_hostflags(wanted, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
  SSL_CTX_set_app_data(context, (void *)(uintptr_t)host);
  SSL_CTX_set_info_callback(context, announce_name);
  return X509_VERIFY_PARAM_set1_host(wanted, host, 0) == 1;
}

static bool set_up(SSL_CTX *context, const struct broker_options *o, struct err *e) {
  SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER, NULL);
  SSL_CTX_set_options(context, SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION);
  int believed = o->ca_file ? SSL_CTX_load_verify_locations(context, o->ca_file, NULL)
                            : SSL_CTX_set_default_verify_paths(context);
  if (believed != 1) return failure(o->ca_file ? o->ca_file : "the system's certificates", e);
  if (o->cert_file && SSL_CTX_use_certificate_chain_file(context, o->cert_file) != 1)
    return failure(o->cert_file, e);
  if (o->key_file && SSL_CTX_use_PrivateKey_file(context, o->key_file, SSL_FILETYPE_PEM) != 1)
    return failure(o->key_file, e);
  return expect_host(context, o->host) || failure("no TLS", e);
}

/* The library would check a certificate against the address that it connects to: the context checks it
 * against the name. */
bool tls_use(struct mosquitto *handle, const struct broker_options *o, struct err *e) {
  SSL_CTX *context = SSL_CTX_new(TLS_client_method());
  if (!context) return failure("no TLS", e);
  bool used = set_up(context, o, e);
  if (used && (mosquitto_int_option(handle, MOSQ_OPT_SSL_CTX_WITH_DEFAULTS, 0) ||
               mosquitto_void_option(handle, MOSQ_OPT_SSL_CTX, context)))
    used = err_set(e, KIND_tls, "this libmosquitto takes no TLS context");
  SSL_CTX_free(context); /* the library has a reference of its own */
  return used;
}
