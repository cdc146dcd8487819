#include "stream/client.h"

#include "base/fork.h"
#include "base/sockets.h"
#include "stream/socket_bio.h"
#include "stream/trust.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

enum { PIECE = 16384 };

static bool library_failure(const char *what, struct err *e) {
  char text[160];
  unsigned long number = ERR_get_error();
  const char *reason = ERR_reason_error_string(number);
  ERR_error_string_n(number, text, sizeof text);
  ERR_clear_error();
  return err_set(e, KIND_tls, "%s: %s", what, reason ? reason : text);
}

static bool believe(SSL_CTX *context, struct bytes pem, struct err *e) {
  STACK_OF(X509) *list = certificates_of(pem, "server_ca", e);
  if (!list) return false;
  bool good = true;
  for (int i = 0; good && i < sk_X509_num(list); i++)
    good = X509_STORE_add_cert(SSL_CTX_get_cert_store(context), sk_X509_value(list, i)) == 1;
  sk_X509_pop_free(list, X509_free);
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER, NULL);
  return good || library_failure("the server's authorities cannot be used", e);
}

static bool set_up(struct stream_client *c, const struct stream_client_options *o, struct err *e) {
  static const int versions[] = {TLS1_1_VERSION, TLS1_2_VERSION, TLS1_3_VERSION};
  ERR_clear_error();
  c->context = SSL_CTX_new(TLS_client_method());
  if (!c->context) return library_failure("no TLS", e);
  SSL_CTX_set_max_proto_version(c->context, versions[o->newest - 11]);
  if (o->newest == 11) {
    SSL_CTX_set_min_proto_version(c->context, TLS1_1_VERSION);
    SSL_CTX_set_security_level(c->context, 0);
  }
  SSL_CTX_set_mode(c->context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  if (o->certificate.size && !use_chain(c->context, o->certificate, o->key, e)) return false;
  if (o->server_ca.size && !believe(c->context, o->server_ca, e)) return false;
  c->ssl = SSL_new(c->context);
  c->source = (struct socket_source){c->fd, SIZE_MAX};
  if (!c->ssl || !ssl_use_socket(c->ssl, &c->source) || SSL_set1_host(c->ssl, o->name) != 1 ||
      SSL_set_tlsext_host_name(c->ssl, o->name) != 1)
    return library_failure("no TLS", e);
  SSL_set_connect_state(c->ssl);
  return true;
}

bool stream_client_open(struct stream_client *c, const struct stream_client_options *o, struct err *e) {
  union {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
  } to = {0};
  socklen_t size = sizeof to.v4;
  *c = (struct stream_client){.fd = -1, .generation = fork_generation(), .out = BUF_INIT, .in = BUF_INIT};
  to.v4.sin_family = AF_INET;
  to.v4.sin_port = htons((uint16_t)o->port);
  if (inet_pton(AF_INET, o->address, &to.v4.sin_addr) != 1) {
    to.v6.sin6_family = AF_INET6;
    to.v6.sin6_port = htons((uint16_t)o->port);
    size = sizeof to.v6;
    if (inet_pton(AF_INET6, o->address, &to.v6.sin6_addr) != 1)
      return err_set(e, KIND_invalid, "'%s' is no address", o->address);
  }
  c->fd = socket_open_async(to.any.sa_family, SOCK_STREAM);
  bool good = c->fd >= 0 && (connect(c->fd, &to.any, size) == 0 || errno == EINPROGRESS);
  if (!good) err_set(e, KIND_network, "no connection to %s: %s", o->address, strerror(errno));
  good = good && set_up(c, o, e);
  if (!good) stream_client_close(c);
  return good;
}

/* true: later; false: it has ended. */
static bool later(struct stream_client *c, struct err *e) {
  switch (SSL_get_error(c->ssl, 0)) {
  case SSL_ERROR_WANT_READ:
  case SSL_ERROR_WANT_WRITE:
    return true;
  case SSL_ERROR_ZERO_RETURN:
  case SSL_ERROR_SYSCALL:
    ERR_clear_error();
    c->ended = true;
    return err_set(e, KIND_network, "%s%s%s", c->connected ? "the connection ended" : "no connection",
                   errno ? ": " : "", errno ? strerror(errno) : "");
  default:
    c->ended = true;
    return library_failure("TLS", e);
  }
}

bool stream_client_step(struct stream_client *c, struct err *e) {
  unsigned char room[PIECE];
  size_t done;
  if (c->ended) return err_set(e, KIND_network, "the connection ended");
  errno = 0;
  c->source.left = SIZE_MAX;
  ERR_clear_error();
  if (!c->connected) {
    if (SSL_do_handshake(c->ssl) != 1) return later(c, e);
    c->connected = true;
  }
  while (c->out.size > c->sent) {
    ERR_clear_error();
    if (SSL_write_ex(c->ssl, c->out.data + c->sent, c->out.size - c->sent, &done) != 1) {
      if (!later(c, e)) return false;
      break;
    }
    c->sent += done;
  }
  if (c->out.size == c->sent) {
    buf_free(&c->out);
    c->sent = 0;
  }
  for (;;) {
    ERR_clear_error();
    if (SSL_read_ex(c->ssl, room, sizeof room, &done) != 1) return later(c, e);
    buf_add(&c->in, room, done);
  }
}

bool stream_client_wants_write(const struct stream_client *c) {
  return c->connected ? c->out.size > c->sent : !SSL_want_read(c->ssl);
}

bool stream_client_chain(const struct stream_client *c, struct buf *pem) {
  STACK_OF(X509) *chain = SSL_get_peer_cert_chain(c->ssl);
  for (int i = 0; i < sk_X509_num(chain); i++) {
    char piece[512];
    int size;
    BIO *out = BIO_new(BIO_s_mem());
    bool good = out && PEM_write_bio_X509(out, sk_X509_value(chain, i)) == 1;
    while (good && (size = BIO_read(out, piece, sizeof piece)) > 0) buf_add(pem, piece, (size_t)size);
    BIO_free(out);
    if (!good) return false;
  }
  return buf_ok(pem);
}

bool stream_client_forked(const struct stream_client *c) {
  return c->generation != fork_generation();
}

void stream_client_close(struct stream_client *c) {
  if (c->ssl) SSL_set_quiet_shutdown(c->ssl, 1);
  SSL_free(c->ssl);
  SSL_CTX_free(c->context);
  c->ssl = NULL;
  c->context = NULL;
  if (c->fd >= 0) close(c->fd);
  c->fd = -1;
  buf_free(&c->out);
  buf_free(&c->in);
}
