/* One failure, as a value with facts (rule R1): what kind it is, what the vehicle did, what to say.
 *
 * Every layer below bind/ reports through this struct; nothing prints, nothing raises. The functions return
 * false so that a failing path reads `return err_set(e, ...)`.
 */
#ifndef FLEET_BASE_ERR_H
#define FLEET_BASE_ERR_H

#include "tables/rows.h"

struct err {
  enum kind kind;
  enum outcome outcome;
  int status;         /* HTTP status, 0: none */
  int fault;          /* signed_message_fault, 0: none */
  double retry_after; /* seconds, 0: not given */
  char reason[192];   /* the word or text of the service or vehicle, or "" */
  char message[512];  /* a sentence for people, without secrets */
};

/* No failure yet. The texts get their terminator only: filling them would cost more than many a short call.
 */
static inline void err_clear(struct err *e) {
  e->kind = KIND_none;
  e->outcome = OUTCOME_NONE;
  e->status = e->fault = 0;
  e->retry_after = 0;
  e->reason[0] = e->message[0] = '\0';
}

/* Cuts long text at a UTF-8 boundary and puts a space for a control character. e may be NULL. Returns false.
 */
bool err_set(struct err *e, enum kind kind, const char *format, ...) __attribute__((format(printf, 3, 4)));
void err_reason(struct err *e, const char *text); /* as it came, cut at a UTF-8 boundary */
bool err_out_of_memory(struct err *e);

const char *kind_name(enum kind kind);          /* "none" for KIND_none */
enum kind kind_of(const char *name);            /* KIND_none when there is no such kind */
enum outcome outcome_of(const char *name);      /* OUTCOME_NONE for NULL and unknown names */
const char *outcome_name(enum outcome outcome); /* NULL for OUTCOME_NONE */

#endif
