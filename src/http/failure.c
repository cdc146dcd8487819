#include "http/parts.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

/* What libcurl's codes mean before and after the request could be written. Others: HTTP_LOCAL, HTTP_CUT. */
static const struct meaning {
  CURLcode code;
  enum http_failure before, after;
} meanings[] = {
    {CURLE_COULDNT_RESOLVE_HOST, HTTP_RESOLVE, HTTP_RESOLVE},
    {CURLE_COULDNT_RESOLVE_PROXY, HTTP_RESOLVE, HTTP_RESOLVE},
    {CURLE_COULDNT_CONNECT, HTTP_CONNECT, HTTP_CONNECT},
    {CURLE_PROXY, HTTP_CONNECT, HTTP_CONNECT},
    {CURLE_OPERATION_TIMEDOUT, HTTP_CONNECT, HTTP_TIMEOUT},
    {CURLE_GOT_NOTHING, HTTP_CONNECT, HTTP_EMPTY},
    {CURLE_SEND_ERROR, HTTP_CONNECT, HTTP_EMPTY},
    {CURLE_RECV_ERROR, HTTP_CONNECT, HTTP_EMPTY},
    {CURLE_SSL_CONNECT_ERROR, HTTP_TLS, HTTP_TLS},
    {CURLE_PEER_FAILED_VERIFICATION, HTTP_TLS, HTTP_TLS},
    {CURLE_SSL_CERTPROBLEM, HTTP_TLS, HTTP_TLS},
    {CURLE_SSL_CIPHER, HTTP_TLS, HTTP_TLS},
    {CURLE_SSL_CACERT_BADFILE, HTTP_TLS, HTTP_TLS},
    {CURLE_SSL_ISSUER_ERROR, HTTP_TLS, HTTP_TLS},
    {CURLE_SSL_ENGINE_INITFAILED, HTTP_TLS, HTTP_TLS},
    {CURLE_SSL_INVALIDCERTSTATUS, HTTP_TLS, HTTP_TLS},
    {CURLE_OUT_OF_MEMORY, HTTP_LOCAL, HTTP_LOCAL},
};

/* libcurl takes no header line above 100 KB: older ones then say that there is no memory. */
static bool header_too_large(const struct http_transfer *t, CURLcode code) {
  enum { TOO_LARGE = 100 /* CURLE_TOO_LARGE, of 8.6 */ };
  return (code == CURLE_OUT_OF_MEMORY || (int)code == TOO_LARGE) && t->response.sent && !t->headers_done;
}

static enum http_failure failure_of(const struct http_transfer *t, CURLcode code) {
  const struct http_response *r = &t->response;
  if (code == CURLE_OK) return HTTP_OK;
  if (t->stopped) return t->stopped;
  if (header_too_large(t, code)) return HTTP_TOO_LARGE;
  if (code == CURLE_OPERATION_TIMEDOUT && r->seconds + 0.001 >= t->timeout) return HTTP_TIMEOUT;
  for (size_t i = 0; i < sizeof meanings / sizeof *meanings; i++) {
    if (meanings[i].code != code) continue;
    if (!r->sent) return meanings[i].before;
    return meanings[i].after == HTTP_EMPTY && t->header_bytes ? HTTP_CUT : meanings[i].after;
  }
  return r->sent ? HTTP_CUT : HTTP_LOCAL;
}

static const char *const sentences[] = {
    [HTTP_RESOLVE] = "the server's name could not be resolved; check the network and the name server",
    [HTTP_CONNECT] = "no connection to the server; check the network",
    [HTTP_TLS] = "no trusted connection to the server",
    [HTTP_TIMEOUT] = "no complete reply within the time limit",
    [HTTP_EMPTY] = "the connection ended without a reply",
    [HTTP_CUT] = "the reply ended early or cannot be read",
    [HTTP_TOO_LARGE] = "the reply is larger than allowed",
    [HTTP_CANCELLED] = "the request was cancelled",
    [HTTP_LOCAL] = "the request could not be started",
};

/* libcurl's own text, unless it quotes the address. */
static const char *tls_detail(const struct easy *c, CURLcode code) {
  char *url = NULL, host[256];
  curl_easy_getinfo(c->curl, CURLINFO_EFFECTIVE_URL, &url);
  const char *begin = url ? strstr(url, "://") : NULL;
  if (!begin) return curl_easy_strerror(code);
  snprintf(host, sizeof host, "%.*s", (int)strcspn(begin + 3, "/:?#"), begin + 3);
  return c->error[0] && !strstr(c->error, host) ? c->error : curl_easy_strerror(code);
}

/* A machine without a battery-backed clock starts in 1970, when no certificate is valid yet. */
static void add_clock(char *message, size_t size, double wall) {
  enum { PROGRAM_WRITTEN = 1704067200 /* 2024-01-01 */, YEAR = 31556952 };
  size_t used = strlen(message);
  if (wall >= PROGRAM_WRITTEN) return;
  snprintf(message + used, size - used, "; this machine's clock says %d: set it", 1970 + (int)(wall / YEAR));
}

void failure_explain(struct http_transfer *t, CURLcode code) {
  struct http_response *r = &t->response;
  const char *detail = NULL;
  r->failure = failure_of(t, code);
  if (r->failure == HTTP_OK) return;
  if (r->failure == HTTP_TLS) detail = tls_detail(t->easy, code);
  if (r->failure == HTTP_CUT || r->failure == HTTP_LOCAL) detail = curl_easy_strerror(code);
  if (r->failure == HTTP_TOO_LARGE && code == CURLE_OUT_OF_MEMORY) detail = "a header, or there is no memory";
  if (t->detail) detail = t->detail;
  if (t->stopped == HTTP_LOCAL) detail = "no memory or no descriptors left";
  snprintf(r->message, sizeof r->message, "%s%s%s", sentences[r->failure], detail ? ": " : "",
           detail ? detail : "");
  if (r->failure == HTTP_TLS) add_clock(r->message, sizeof r->message, (double)time(NULL));
}
