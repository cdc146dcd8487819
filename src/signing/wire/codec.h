/* Commands and answers: values to protobuf bytes and back, by walking the rows and the message descriptors.
 *
 * There is no code per command. The notation of row.message, param.field and choice.field is explained in
 * tables/rows.h; what a path names in the descriptors decides how a value is written.
 */
#ifndef FLEET_SIGNING_CODEC_H
#define FLEET_SIGNING_CODEC_H

#include "base/buf.h"
#include "base/err.h"
#include "base/arena.h"

struct value { /* of one parameter; the caller has checked it against the row */
  bool given;
  bool boolean;
  double number;
  uint64_t integer;            /* TYPE_ID, TYPE_INTEGER and the mask of TYPE_DAYS */
  struct bytes text;           /* TYPE_STRING */
  const struct choice *choice; /* the choice taken, when the parameter has choices */
};

const char *codec_version(void);                 /* of the protobuf-c that runs */
const struct row *command_row(const char *name); /* NULL: no such command */

/* The bytes of a command's application message. values are in the order of row->params. */
bool codec_encode(const struct row *row, const struct value *values, uint64_t fresh_id, struct buf *out,
                  struct err *e);

enum { DECODE_MAX = 16 };
/* The row of this message and the values of its parameters. Texts are views into the arena. A message may
 * hold the same command for several seats: at is the index of one, from 0. */
const struct row *codec_decode(enum domain domain, struct bytes payload, size_t at, struct arena *a,
                               struct value values[DECODE_MAX], struct err *e);

/* The name of the action in a command ("hvacAutoAction", "RKEAction"); NULL when it is unknown.
 * False: the bytes are no message of this domain. */
bool codec_action(enum domain domain, struct bytes payload, struct arena *a, const char **action);

#endif
