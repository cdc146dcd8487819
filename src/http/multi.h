/* Requests in flight on one libcurl multi handle: submit, run, take what has finished.
 *
 * It knows neither Lua nor the service, and never writes a request twice that may change something. libcurl
 * would: on a kept connection that dies without a reply it sends the same request again. That second try is
 * stopped before its first byte, and the failure says that the first may have arrived. A connection on which
 * something waits before the request is written is not used for it: connection.h. Everything that may change
 * something is HTTP/1.1: a connection that breaks leaves one outcome in doubt, not many. Requests that change
 * nothing may share connections by HTTP/2, where the server offers it over TLS. TLS sessions are resumed.
 * What the environment says about proxies and certificates is ignored unless the request says otherwise.
 */
#ifndef FLEET_HTTP_MULTI_H
#define FLEET_HTTP_MULTI_H

#include "base/poller.h"
#include "http/transfer.h"

#define HTTP_TAG 1u /* tag of libcurl's sockets in the poller */

struct http;
const char *http_version(void);                                   /* of the libcurl that runs */
const char *http_tls_version(void);                               /* NULL without TLS */
bool http_open(struct http **h, struct poller *p, struct err *e); /* p must outlive it */
/* Starts a request. The transfer belongs to h until http_drop. The caller's mistakes give KIND_invalid: an
 * odd address, a time limit that is none, a header line with control characters. */
struct http_transfer *http_submit(struct http *h, const struct http_request *r, struct err *e);
/* Runs due timers, waits for at most so many seconds (0: not at all, negative: no limit) unless a request has
 * finished, and handles the events of libcurl. Returns how many other events there are; they remain in
 * events. */
int http_run(struct http *h, struct poller_event *events, int capacity, double seconds);
double http_timeout(const struct http *h); /* seconds until http_run or http_take is due, negative: never */
struct http_transfer *http_take(struct http *h); /* a finished one, each once; NULL: none */
bool http_finished(const struct http *h);        /* http_take has something to give */
int http_in_flight(const struct http *h);        /* submitted and not yet taken or dropped */

void http_cancel(struct http *h,
                 struct http_transfer *t); /* finishes as HTTP_CANCELLED and is taken like any other */
void http_drop(struct http *h, struct http_transfer *t); /* ends it if need be, wipes and frees it */
/* Ends all transfers, also those that were taken and not dropped. A forked child only closes its descriptors
 * and frees the memory of this room: libcurl would end TLS connections that the parent uses. */
void http_close(struct http *h);

#endif
