/* The yardstick for request budgets: what somebody would write by hand with the same libraries. libcurl's
 * multi interface with sockets and epoll, kept connections, easy handles used again, the headers and limits
 * of a client of ours, and each reply decoded by lua-cjson into a Lua table. With "bare" the reply is thrown
 * away.
 *
 *   request <url> <in flight> <requests> [bare]     prints CPU seconds per request */
#include <curl/curl.h>
#include <lauxlib.h>
#include <lualib.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>

enum { MOST_BYTES = 10000000, MOST_HEADER_BYTES = 65536 };

struct request {
  CURL *easy;
  char *body;
  size_t size, room, header_bytes;
};

static const char *url;
static struct curl_slist *headers;
static lua_State *L; /* NULL: replies are thrown away */
static int epoll_fd;
static long timeout_ms = -1;

static size_t on_header(char *data, size_t one, size_t size, void *user) {
  struct request *r = user;
  (void)data;
  r->header_bytes += one * size;
  return r->header_bytes <= MOST_HEADER_BYTES ? one * size : 0;
}

static size_t on_body(char *data, size_t one, size_t size, void *user) {
  struct request *r = user;
  size_t bytes = one * size;
  if (!L) return bytes;
  if (bytes > MOST_BYTES - r->size) return 0;
  if (r->size + bytes > r->room) {
    size_t room = 2 * (r->size + bytes);
    char *grown = realloc(r->body, room);
    if (!grown) return 0;
    r->body = grown;
    r->room = room;
  }
  memcpy(r->body + r->size, data, bytes);
  r->size += bytes;
  return bytes;
}

/* The socket's pointer says whether it is in the epoll set already. */
static int on_socket(CURL *easy, curl_socket_t fd, int what, void *user, void *known) {
  (void)easy;
  struct epoll_event event = {.data.fd = fd};
  if (what & CURL_POLL_IN) event.events |= EPOLLIN;
  if (what & CURL_POLL_OUT) event.events |= EPOLLOUT;
  if (what == CURL_POLL_REMOVE) return epoll_ctl(epoll_fd, EPOLL_CTL_DEL, fd, NULL), 0;
  epoll_ctl(epoll_fd, known ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, fd, &event);
  curl_multi_assign(user, fd, &epoll_fd);
  return 0;
}

static int on_timer(CURLM *multi, long milliseconds, void *user) {
  (void)multi, (void)user;
  timeout_ms = milliseconds;
  return 0;
}

static struct request *new_request(void) {
  struct request *r = calloc(1, sizeof *r);
  CURL *easy = r->easy = curl_easy_init();
  curl_easy_setopt(easy, CURLOPT_PRIVATE, r);
  curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1);
  curl_easy_setopt(easy, CURLOPT_ACCEPT_ENCODING, "gzip");
  curl_easy_setopt(easy, CURLOPT_PROXY, "");
  curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, 10000L);
  curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, on_header);
  curl_easy_setopt(easy, CURLOPT_HEADERDATA, r);
  curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_body);
  curl_easy_setopt(easy, CURLOPT_WRITEDATA, r);
  return r;
}

static void start(CURLM *multi, struct request *r) {
  r->size = r->header_bytes = 0;
  curl_easy_setopt(r->easy, CURLOPT_URL, url);
  curl_easy_setopt(r->easy, CURLOPT_HTTPHEADER, headers);
  curl_easy_setopt(r->easy, CURLOPT_TIMEOUT_MS, 30000L);
  curl_multi_add_handle(multi, r->easy);
}

static void end(struct request *r) {
  curl_easy_cleanup(r->easy);
  free(r->body);
  free(r);
}

/* The decoder is the only value on the stack. */
static void open_decoder(void) {
  L = luaL_newstate();
  luaL_openlibs(L);
  if (luaL_dostring(L, "return require('cjson').new().decode")) exit(1);
}

static void decode(const struct request *r) {
  if (!L) return;
  long status = 0;
  curl_easy_getinfo(r->easy, CURLINFO_RESPONSE_CODE, &status);
  lua_pushvalue(L, 1);
  lua_pushlstring(L, r->body, r->size);
  if (status != 200 || lua_pcall(L, 1, 1, 0) != LUA_OK || !lua_istable(L, -1)) exit(1);
  lua_settop(L, 1);
}

static void step(CURLM *multi) {
  struct epoll_event events[256];
  int running, count = epoll_wait(epoll_fd, events, 256, (int)timeout_ms);
  for (int i = 0; i < count; i++) {
    int bits = (events[i].events & (EPOLLIN | EPOLLERR | EPOLLHUP) ? CURL_CSELECT_IN : 0) |
               (events[i].events & EPOLLOUT ? CURL_CSELECT_OUT : 0);
    curl_multi_socket_action(multi, events[i].data.fd, bits, &running);
  }
  if (count > 0) return;
  timeout_ms = -1; /* libcurl says when there is a next one */
  curl_multi_socket_action(multi, CURL_SOCKET_TIMEOUT, 0, &running);
}

static double cpu_seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void run(CURLM *multi, long left_to_start, long left_to_finish) {
  while (left_to_finish > 0) {
    int queued;
    step(multi);
    for (CURLMsg *m; (m = curl_multi_info_read(multi, &queued));) {
      struct request *r = NULL;
      curl_easy_getinfo(m->easy_handle, CURLINFO_PRIVATE, (char **)&r);
      if (m->data.result != CURLE_OK) exit(1);
      curl_multi_remove_handle(multi, r->easy);
      decode(r);
      left_to_finish--;
      if (left_to_start > 0)
        start(multi, r), left_to_start--;
      else
        end(r);
    }
  }
}

int main(int argc, char **argv) {
  if (argc < 4) return 2;
  bool bare = argc > 4 && strcmp(argv[4], "bare") == 0;
  long in_flight = atol(argv[2]), count = atol(argv[3]);
  url = argv[1];
  if (!bare) open_decoder();
  curl_global_init(CURL_GLOBAL_DEFAULT);
  headers = curl_slist_append(NULL, "User-Agent: by-hand/1.0");
  headers = curl_slist_append(headers, "Authorization: Bearer a-token");
  CURLM *multi = curl_multi_init();
  epoll_fd = epoll_create1(EPOLL_CLOEXEC);
  curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, on_socket);
  curl_multi_setopt(multi, CURLMOPT_SOCKETDATA, multi);
  curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, on_timer);
  double before = cpu_seconds();
  for (long i = 0; i < in_flight && i < count; i++) start(multi, new_request());
  run(multi, count > in_flight ? count - in_flight : 0, count);
  printf("%.9f\n", (cpu_seconds() - before) / (double)count);
  curl_multi_cleanup(multi);
  curl_slist_free_all(headers);
  if (L) lua_close(L);
  return 0;
}
