/* The yardstick for request budgets: what libcurl's multi interface costs by itself. Socket interface, epoll,
 * kept connections, easy handles used again, the reply thrown away; nothing that a careful program would add.
 *
 *   request <url> <in flight> <requests>     prints CPU seconds per request */
#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <time.h>

static int epoll_fd;
static long timeout_ms = -1;

static size_t on_body(char *data, size_t one, size_t size, void *user) {
  (void)data, (void)user;
  return one * size;
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

static CURL *new_easy(const char *url) {
  CURL *easy = curl_easy_init();
  curl_easy_setopt(easy, CURLOPT_URL, url);
  curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_body);
  return easy;
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
      CURL *easy = m->easy_handle;
      if (m->data.result != CURLE_OK) exit(1);
      curl_multi_remove_handle(multi, easy);
      left_to_finish--;
      if (left_to_start > 0)
        curl_multi_add_handle(multi, easy), left_to_start--;
      else
        curl_easy_cleanup(easy);
    }
  }
}

int main(int argc, char **argv) {
  if (argc != 4) return 2;
  long in_flight = atol(argv[2]), count = atol(argv[3]);
  curl_global_init(CURL_GLOBAL_DEFAULT);
  CURLM *multi = curl_multi_init();
  epoll_fd = epoll_create1(EPOLL_CLOEXEC);
  curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, on_socket);
  curl_multi_setopt(multi, CURLMOPT_SOCKETDATA, multi);
  curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, on_timer);
  curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, on_timer);
  double before = cpu_seconds();
  for (long i = 0; i < in_flight && i < count; i++) curl_multi_add_handle(multi, new_easy(argv[1]));
  run(multi, count > in_flight ? count - in_flight : 0, count);
  printf("%.9f\n", (cpu_seconds() - before) / (double)count);
  curl_multi_cleanup(multi);
  return 0;
}
