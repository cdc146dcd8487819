/* Whole messages by reflection: any answer as JSON text, and any message from paths and values.
 *
 * Commands have rows (codec.h). Answers carry hundreds of members, which need no rows of their own:
 * readers get them as JSON under the names of the definitions, and a simulated vehicle writes them by path.
 */
#ifndef FLEET_SIGNING_MEMBERS_H
#define FLEET_SIGNING_MEMBERS_H

#include "base/buf.h"
#include "base/err.h"
#include "base/arena.h"

/* Types are named "CarServer.Response", "VCSEC.FromVCSECMessage", "CarServer.Action",
 * "VCSEC.UnsignedMessage", "UniversalMessage.RoutableMessage", "Signatures.SessionInfo". */

/* Enums are names (an unknown one its number), 64-bit integers and bytes (base64) are strings; defaults are
 * left out. as_numbers: a 64-bit integer of at most 15 digits is a number. */
bool members_json(const char *type, struct bytes message, bool as_numbers, struct buf *json, struct err *e);

struct members { /* a message being written */
  struct arena arena;
  struct ProtobufCMessage *root;
};

bool members_start(struct members *m, const char *type, struct err *e); /* members_end either way */
bool members_number(struct members *m, const char *path, double value, struct err *e);
bool members_text(struct members *m, const char *path, struct bytes value,
                  struct err *e);                                         /* also bytes, and enums by name */
bool members_message(struct members *m, const char *path, struct err *e); /* present, even when empty */
bool members_write(struct members *m, struct buf *out, struct err *e);
void members_end(struct members *m);

#endif
