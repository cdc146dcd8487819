/* Whole messages by reflection: any answer as JSON text, and any message from paths and values.
 *
 * Commands have rows (codec.h). Answers have hundreds of members and no rows: a reader gets them as JSON with
 * the names of the definitions, and the simulator writes them by path.
 */
#ifndef FLEET_SIGNING_REFLECT_H
#define FLEET_SIGNING_REFLECT_H

#include "base/buf.h"
#include "base/err.h"
#include "base/value.h"

/* Types are named "CarServer.Response", "VCSEC.FromVCSECMessage", "CarServer.Action",
 * "VCSEC.UnsignedMessage", "UniversalMessage.RoutableMessage", "Signatures.SessionInfo". */

/* Enums are names (an unknown one its number), 64-bit integers and bytes (base64) are strings; defaults are
 * left out. as_numbers: a 64-bit integer of at most 15 digits is a number. */
bool members_json(const char *type, struct bytes message, bool as_numbers, struct buf *json, struct err *e);

/* A message of an object { "path.of.member": value }: enums by name or number, bytes as text; {} makes a
 * message present. The inverse of members_json. */
bool members_encode(const char *type, const struct node *members, struct buf *out, struct err *e);

#endif
