/* Asks one path over and over on connections that are kept, one request in flight on each, and spends little
 * on it: what the other side costs is measured, in its own process.
 *
 *   reads <port> <path> <token> <connections> <requests> <different>
 *
 * *** in the path is a number that goes round below <different>. Ends with 1 when a reply is not 200. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { MOST_CONNECTIONS = 1000, ROOM = 65536 };

struct connection {
  char data[ROOM];
  size_t size;
};

static struct connection connections[MOST_CONNECTIONS];
static struct pollfd waits[MOST_CONNECTIONS];
static char request[4096];
static size_t request_size;
static char *number; /* its three digits in the request, or NULL */
static int next_number, numbers;

static int open_connection(int port) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((unsigned short)port)};
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  int fd = socket(AF_INET, SOCK_STREAM, 0);
  if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof address)) exit(1);
  return fd;
}

static void count_on(void) {
  number[0] = (char)('0' + next_number / 100 % 10);
  number[1] = (char)('0' + next_number / 10 % 10);
  number[2] = (char)('0' + next_number % 10);
  next_number = (next_number + 1) % numbers;
}

static void ask(int fd) {
  if (number) count_on();
  if (write(fd, request, request_size) != (ssize_t)request_size) exit(1);
}

/* Whether the whole reply is there. */
static bool is_complete(const struct connection *c) {
  const char *end = strstr(c->data, "\r\n\r\n"), *length = strcasestr(c->data, "\r\nContent-Length:");
  if (!end) return false;
  if (strncmp(c->data, "HTTP/1.1 200", 12) || !length || length > end) exit(1);
  return c->size >= (size_t)(end + 4 - c->data) + strtoul(length + 17, NULL, 10);
}

static bool read_some(int fd, struct connection *c) {
  ssize_t got = read(fd, c->data + c->size, ROOM - 1 - c->size);
  if (got <= 0) exit(1);
  c->size += (size_t)got;
  c->data[c->size] = 0;
  return is_complete(c);
}

static void run(nfds_t count, long left_to_start, long left_to_finish) {
  for (nfds_t i = 0; i < count && left_to_start > 0; i++, left_to_start--) ask(waits[i].fd);
  while (left_to_finish > 0 && poll(waits, count, -1) > 0) {
    for (nfds_t i = 0; i < count; i++) {
      if (!waits[i].revents || !read_some(waits[i].fd, &connections[i])) continue;
      connections[i].size = 0;
      left_to_finish--;
      if (left_to_start-- > 0) ask(waits[i].fd);
    }
  }
}

int main(int argc, char **argv) {
  if (argc != 7 || atoi(argv[4]) < 1 || atoi(argv[4]) > MOST_CONNECTIONS || atoi(argv[6]) < 1) return 2;
  nfds_t count = (nfds_t)atoi(argv[4]);
  request_size = (size_t)snprintf(
      request, sizeof request,
      "GET %s HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer %s\r\nAccept: application/json\r\n\r\n",
      argv[2], argv[3]);
  if (request_size >= sizeof request) return 2;
  number = strstr(request, "***");
  numbers = atoi(argv[6]);
  for (nfds_t i = 0; i < count; i++)
    waits[i] = (struct pollfd){.fd = open_connection(atoi(argv[1])), .events = POLLIN};
  run(count, atol(argv[5]), atol(argv[5]));
  return 0;
}
