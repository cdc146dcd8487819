/* The yardstick for the receiver's budget: what one would write by hand with the same library. TLS with a
 * client certificate, the upgrade, frames, envelopes, acknowledgements. No limits, no identities, no
 * payloads, no queues, no deadlines.
 *
 *   stream <certificate> <key> <client authorities>     prints its port; answers each line of its standard
 * input with the CPU seconds that it has used; ends with it */
#include "stream/envelope.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { EVENTS = 64, ROOM = 16384 };

struct car {
  SSL *ssl;
  bool shaken, upgraded;
  struct buf in;
};

static int epoll_fd;
static SSL_CTX *context;

static void require(bool ok, const char *what) {
  if (ok) return;
  fprintf(stderr, "failed: %s\n", what);
  exit(1);
}

static void close_car(struct car *c) {
  close(SSL_get_fd(c->ssl));
  SSL_free(c->ssl);
  buf_free(&c->in);
  free(c);
}

static void send_all(struct car *c, const void *data, size_t size) {
  size_t done;
  require(SSL_write_ex(c->ssl, data, size, &done) == 1, "write");
}

static void answer(struct car *c, struct bytes message) {
  struct envelope v;
  struct err e;
  struct buf ack = BUF_INIT, frame = BUF_INIT;
  err_clear(&e);
  require(envelope_read(message, &v, &e), "envelope");
  envelope_ack(&ack, v.txid, v.topic);
  buf_put(&frame, 0x82);
  require(ack.size < 126, "a short acknowledgement");
  buf_put(&frame, (unsigned char)ack.size);
  buf_add(&frame, ack.data, ack.size);
  send_all(c, frame.data, frame.size);
  buf_free(&ack);
  buf_free(&frame);
}

/* Returns how many bytes one frame took; 0: it is not whole yet. */
static size_t take_frame(struct car *c, unsigned char *at, size_t size) {
  if (size < 2) return 0;
  size_t length = at[1] & 127u, head = 2;
  if (length == 126) {
    if (size < 4) return 0;
    length = (size_t)at[2] << 8 | at[3];
    head = 4;
  }
  if (size < head + 4 + length) return 0;
  const unsigned char *mask = at + head;
  unsigned char *payload = at + head + 4;
  for (size_t i = 0; i < length; i++) payload[i] ^= mask[i & 3];
  answer(c, (struct bytes){payload, length});
  return head + 4 + length;
}

static void take_bytes(struct car *c) {
  static const char reply[] =
      "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
      "Sec-WebSocket-Accept: C/0nmHhBztSRGR1CwL6Tf4ZjwpY=\r\n\r\n";
  size_t used = 0, took;
  if (!c->upgraded) {
    const unsigned char *end = memmem(c->in.data, c->in.size, "\r\n\r\n", 4);
    if (!end) return;
    used = (size_t)(end - c->in.data) + 4;
    c->upgraded = true;
    send_all(c, reply, sizeof reply - 1);
  }
  while ((took = take_frame(c, c->in.data + used, c->in.size - used))) used += took;
  struct buf rest = BUF_INIT;
  if (used < c->in.size) buf_add(&rest, c->in.data + used, c->in.size - used);
  buf_free(&c->in);
  c->in = rest;
}

static void turn_car(struct car *c) {
  unsigned char room[ROOM];
  size_t done;
  if (!c->shaken) {
    int result = SSL_accept(c->ssl);
    if (result != 1) {
      int why = SSL_get_error(c->ssl, result);
      if (why != SSL_ERROR_WANT_READ && why != SSL_ERROR_WANT_WRITE) close_car(c);
      return;
    }
    c->shaken = true;
  }
  while (SSL_read_ex(c->ssl, room, sizeof room, &done) == 1) {
    buf_add(&c->in, room, done);
    take_bytes(c);
  }
  if (SSL_get_error(c->ssl, 0) != SSL_ERROR_WANT_READ) close_car(c);
}

static void accept_some(int listener) {
  for (int i = 0; i < 64; i++) {
    int fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0) return;
    struct car *c = calloc(1, sizeof *c);
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = c};
    c->ssl = SSL_new(context);
    SSL_set_fd(c->ssl, fd);
    SSL_set_accept_state(c->ssl);
    epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event);
  }
}

static void say_cpu(void) {
  struct timespec used;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  printf("%.6f\n", (double)used.tv_sec + (double)used.tv_nsec / 1e9);
  fflush(stdout);
}

int main(int argc, char **argv) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t size = sizeof address;
  char line[64];
  require(argc == 4, "stream <certificate> <key> <client authorities>");
  signal(SIGPIPE, SIG_IGN);
  context = SSL_CTX_new(TLS_server_method());
  require(SSL_CTX_use_certificate_chain_file(context, argv[1]) == 1 &&
              SSL_CTX_use_PrivateKey_file(context, argv[2], SSL_FILETYPE_PEM) == 1 &&
              SSL_CTX_load_verify_locations(context, argv[3], NULL) == 1,
          "certificates");
  X509_VERIFY_PARAM_set_purpose(SSL_CTX_get0_param(context), X509_PURPOSE_ANY);
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
  SSL_CTX_set_num_tickets(context, 0);
  SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS);
  int listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  require(bind(listener, (struct sockaddr *)&address, size) == 0 && listen(listener, 4096) == 0 &&
              getsockname(listener, (struct sockaddr *)&address, &size) == 0,
          "listen");
  epoll_fd = epoll_create1(EPOLL_CLOEXEC);
  struct epoll_event own = {.events = EPOLLIN, .data.ptr = NULL},
                     input = {.events = EPOLLIN, .data.ptr = &own};
  epoll_ctl(epoll_fd, EPOLL_CTL_ADD, listener, &own);
  require(epoll_ctl(epoll_fd, EPOLL_CTL_ADD, STDIN_FILENO, &input) == 0, "a pipe as standard input");
  printf("%d\n", ntohs(address.sin_port));
  fflush(stdout);
  for (;;) {
    struct epoll_event events[EVENTS];
    int count = epoll_wait(epoll_fd, events, EVENTS, -1);
    for (int i = 0; i < count; i++) {
      if (events[i].data.ptr == NULL) {
        accept_some(listener);
      } else if (events[i].data.ptr == &own) {
        if (read(STDIN_FILENO, line, sizeof line) <= 0) return 0;
        say_cpu();
      } else {
        turn_car(events[i].data.ptr);
      }
    }
  }
}
