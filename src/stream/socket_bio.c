#include "stream/socket_bio.h"

#include "base/sockets.h"

#include <errno.h>
#include <pthread.h>

static struct socket_source *source_of(BIO *bio) {
  return BIO_get_data(bio);
}

static bool is_retried(void) {
  return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
}

static int write_socket(BIO *bio, const char *data, int size) {
  ssize_t sent = socket_send(source_of(bio)->fd, data, (size_t)size);
  BIO_clear_retry_flags(bio);
  if (sent < 0 && is_retried()) BIO_set_retry_write(bio);
  return (int)sent;
}

static int read_socket(BIO *bio, char *room, int size) {
  struct socket_source *source = source_of(bio);
  size_t most = (size_t)size < source->left ? (size_t)size : source->left;
  ssize_t got = most ? recv(source->fd, room, most, 0) : -1;
  BIO_clear_retry_flags(bio);
  if (!most || (got < 0 && is_retried())) BIO_set_retry_read(bio);
  if (got > 0) source->left -= (size_t)got;
  return (int)got;
}

static long control(BIO *bio, int command, long number, void *pointer) {
  (void)bio, (void)number, (void)pointer;
  return command == BIO_CTRL_FLUSH; /* nothing is buffered here; there is no other service */
}

static BIO_METHOD *method; /* as long as the process: connections of every receiver share it */

static void make_method(void) {
  method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "socket");
  if (method && BIO_meth_set_write(method, write_socket) == 1 &&
      BIO_meth_set_read(method, read_socket) == 1 && BIO_meth_set_ctrl(method, control) == 1)
    return;
  BIO_meth_free(method);
  method = NULL;
}

bool ssl_use_socket(SSL *ssl, struct socket_source *source) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, make_method);
  BIO *bio = method ? BIO_new(method) : NULL;
  if (!bio) return false;
  BIO_set_data(bio, source);
  BIO_set_init(bio, 1);
  SSL_set_bio(ssl, bio, bio);
  return true;
}
