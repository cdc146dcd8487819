/* Sets the address of a request on an easy handle. The whole address is parsed only when the host changes,
 * because libcurl's parser costs as much as all other work before the socket. */
#include "http/parts.h"

#include <string.h>

/* The start of the path of an address. NULL when setting the path alone may give another address: libcurl
 * would change an escape, a query or fragment precedes the first slash, or a third slash precedes the
 * host. */
static const char *plain_path(const char *url) {
  const char *host = strstr(url, "://"), *path = host ? strchr(host + 3, '/') : NULL;
  return path && path > host + 3 && !strpbrk(url, "%?#") ? path : NULL;
}

static bool set_whole(struct easy *c, const char *url) {
  const unsigned flags = CURLU_PATH_AS_IS | CURLU_DISALLOW_USER | CURLU_NON_SUPPORT_SCHEME;
  if (!c->address) c->address = curl_url();
  return c->address && curl_url_set(c->address, CURLUPART_URL, url, flags) == CURLUE_OK;
}

/* A handle that is to fetch what libcurl does not parse is given the text, and fails as it always did. */
bool easy_set_address(struct easy *c, const char *url) {
  const char *path = plain_path(url);
  size_t origin = path ? (size_t)(path - url) : 0;
  if (origin && origin == c->origin_size && memcmp(url, c->origin, origin) == 0)
    return curl_url_set(c->address, CURLUPART_PATH, path, 0) == CURLUE_OK;
  c->origin_size = 0;
  bool parsed = set_whole(c, url);
  if (curl_easy_setopt(c->curl, CURLOPT_CURLU, parsed ? c->address : NULL) != CURLE_OK ||
      (!parsed && curl_easy_setopt(c->curl, CURLOPT_URL, url) != CURLE_OK))
    return false;
  if (parsed && origin < sizeof c->origin) memcpy(c->origin, url, c->origin_size = origin);
  return true;
}
