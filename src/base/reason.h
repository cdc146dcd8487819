/* What a vehicle, a site, a signing proxy or the authorization server says went wrong, looked up in the rows.
 * Not in err.h: it needs the tables, and not everything that reports a failure does. */
#ifndef FLEET_BASE_REASON_H
#define FLEET_BASE_REASON_H

#include "base/buf.h"
#include "base/err.h"

/* The row of a reason text: whole, by its end or by a part, after the signing proxy's words; NULL when no row
 * knows it. */
const struct reason *reason_of(const char *text);
const struct reason *reason_in(struct bytes text);

/* The reason within a text: a word of the security domain at any place, else what follows the signing
 * proxy's words, else the whole. */
struct bytes reason_words(struct bytes text);

/* Sets err.reason to these words. */
void reason_set(struct err *e, struct bytes text);

/* Whether the text has the words that the signing proxy puts before a reason of the vehicle. */
bool reason_of_vehicle(struct bytes text);

/* The protocol fault that a text names, as signing proxies write it: MESSAGEFAULT_ERROR_ and the name, the
 * name alone where it is of several words, or "unrecognized error code" and the number. */
struct fault_word {
  bool found;
  int number;              /* 0: not known */
  const struct fault *row; /* NULL: a fault without a row */
};
struct fault_word fault_in(struct bytes text);

/* The sentence of a reason for a call of this row. "vehicle" and "vehicle or site" become "site" for an
 * energy site, and "vehicle" for other rows. Reasons that only a vehicle gives have no sentence for a
 * site. */
enum { REASON_DOC = 160 };
void reason_doc(char out[static REASON_DOC], const struct reason *reason, const struct row *row);

#endif
