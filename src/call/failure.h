/* The err of a failed call, from the words of the service, the vehicle or the connection.
 *
 * Error bodies have several published forms. The message names the call, the error text, the status, and what
 * to do.
 */
#ifndef FLEET_CALL_FAILURE_H
#define FLEET_CALL_FAILURE_H

#include "base/err.h"
#include "http/outcome.h"
#include "http/transfer.h"

enum {
  FAILURE_COUNT = 0
#define X(NAME, name) +1
  HTTP_FAILURES(X)
#undef X
};
extern const char *const failure_names[FAILURE_COUNT]; /* by enum http_failure: "ok", "connect", ... */

struct error_body { /* of a reply; NULL: not said */
  const char *error, *description, *reason;
  bool refused; /* response.result is false */
};

/* The message and the reason of a failed exchange; e has its kind. */
void compose_failure(struct err *e, const char *name, const struct http_response *r,
                     const struct error_body *s, const struct verdict *v);
/* Whether the reason of a negative answer says that the wanted state already holds: an ok without a change,
 * unless the caller is strict. False: e says why nothing was done. */
bool judge_reason(struct err *e, const struct row *row, bool strict, const char *text);
/* An energy setting that was answered with a code of 400 and above. Returns false. */
bool refused_setting(struct err *e, const struct row *row, int code, const char *text);

#endif
