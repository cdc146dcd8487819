#include "redis/tls.h"

#include "base/sigpipe.h"

#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdlib.h>

struct tls {
  SSL_CTX *context;
  SSL *ssl;
};

/* ---- what went wrong ---- */

static bool library_failure(const char *what, struct err *e) {
  char text[160];
  ERR_error_string_n(ERR_get_error(), text, sizeof text);
  ERR_clear_error();
  return err_set(e, KIND_store, "%s: %s", what, text);
}

static void failure_of(const struct tls *t, struct err *e) {
  long verified = SSL_get_verify_result(t->ssl);
  if (verified == X509_V_OK) {
    library_failure("TLS with Redis failed", e);
    return;
  }
  ERR_clear_error();
  err_set(e, KIND_tls, "the certificate of Redis is not believed: %s",
          X509_verify_cert_error_string(verified));
}

static enum tls_progress progress(const struct tls *t, int result, struct err *e) {
  switch (SSL_get_error(t->ssl, result)) {
  case SSL_ERROR_WANT_READ:
    return TLS_READS;
  case SSL_ERROR_WANT_WRITE:
    return TLS_WRITES;
  case SSL_ERROR_ZERO_RETURN:
    return TLS_ENDED;
  case SSL_ERROR_SYSCALL:
    ERR_clear_error();
    return TLS_ENDED;
  default:
    failure_of(t, e);
    return TLS_FAILED;
  }
}

/* ---- making one ---- */

/* An address is compared with the certificate's addresses, a name with its names. */
static bool expect_host(SSL *ssl, const char *host) {
  unsigned char address[16];
  bool numeric = inet_pton(AF_INET, host, address) == 1 || inet_pton(AF_INET6, host, address) == 1;
  if (numeric) return X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), host) == 1;
  SSL_set_hostflags(ssl, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
  return SSL_set1_host(ssl, host) == 1 && SSL_set_tlsext_host_name(ssl, host) == 1;
}

static bool set_up(struct tls *t, int fd, const char *host, const char *ca_file, struct err *e) {
  t->context = SSL_CTX_new(TLS_client_method());
  if (!t->context) return library_failure("no TLS", e);
  SSL_CTX_set_min_proto_version(t->context, TLS1_2_VERSION);
  SSL_CTX_set_verify(t->context, SSL_VERIFY_PEER, NULL);
  SSL_CTX_set_mode(t->context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  SSL_CTX_set_options(t->context, SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION);
  int believed = ca_file ? SSL_CTX_load_verify_locations(t->context, ca_file, NULL)
                         : SSL_CTX_set_default_verify_paths(t->context);
  if (believed != 1) return library_failure(ca_file ? ca_file : "the system's certificates", e);
  t->ssl = SSL_new(t->context);
  if (!t->ssl || !expect_host(t->ssl, host) || SSL_set_fd(t->ssl, fd) != 1)
    return library_failure("no TLS", e);
  SSL_set_connect_state(t->ssl);
  return true;
}

struct tls *tls_new(int fd, const char *host, const char *ca_file, struct err *e) {
  struct tls *t = calloc(1, sizeof *t);
  if (!t) {
    err_out_of_memory(e);
    return NULL;
  }
  if (set_up(t, fd, host, ca_file, e)) return t;
  tls_free(t);
  return NULL;
}

void tls_free(struct tls *t) {
  if (!t) return;
  if (t->ssl) SSL_set_quiet_shutdown(t->ssl, 1);
  SSL_free(t->ssl);
  SSL_CTX_free(t->context);
  free(t);
}

/* ---- bytes; OpenSSL writes with write(), which may raise SIGPIPE ---- */

/* Old errors of other code in the thread's error queue would be taken for this connection's. */
static void begin(struct sigpipe *held) {
  sigpipe_hold(held);
  ERR_clear_error();
}

enum tls_progress tls_handshake(struct tls *t, struct err *e) {
  struct sigpipe held;
  begin(&held);
  int result = SSL_do_handshake(t->ssl);
  enum tls_progress made = result == 1 ? TLS_DONE : progress(t, result, e);
  sigpipe_release(&held);
  return made;
}

enum tls_progress tls_read(struct tls *t, void *data, size_t size, size_t *got, struct err *e) {
  struct sigpipe held;
  begin(&held);
  int result = SSL_read_ex(t->ssl, data, size, got);
  enum tls_progress made = result == 1 ? TLS_DONE : progress(t, result, e);
  sigpipe_release(&held);
  return made;
}

bool tls_holds_more(const struct tls *t) {
  return SSL_pending(t->ssl) > 0;
}

enum tls_progress tls_write(struct tls *t, const void *data, size_t size, size_t *done, struct err *e) {
  struct sigpipe held;
  begin(&held);
  int result = SSL_write_ex(t->ssl, data, size, done);
  enum tls_progress made = result == 1 ? TLS_DONE : progress(t, result, e);
  sigpipe_release(&held);
  return made;
}
