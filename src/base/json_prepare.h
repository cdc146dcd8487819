/* The text of a JSON reply, made ready for lua-cjson: one look at it in place of one at each table that comes
 * of it.
 *
 * lua-cjson reads every number as a double and every null as a value of its own. What Lua shall see as a text
 * (ids, integers that a double cannot hold) is put in quotes, and members that are null are left out. What
 * only Lua can make of a number is told as steps: where the numbers stand that may be integers. The text is
 * still refused where it was no JSON, and means the same where it was, names that stand twice included.
 * Nothing is allocated but what out holds, and any bytes may be given.
 */
#ifndef FLEET_BASE_JSON_PREPARE_H
#define FLEET_BASE_JSON_PREPARE_H

#include "base/buf.h"

enum { JSON_DEPTH = 64, JSON_STEPS = 256 };

/* From a table to one of its members or elements: into the table that stands there, to a number, to one that
 * is an id, to a null. JSON_OUT leads back from a table that was entered. */
enum json_step_kind { JSON_INTO, JSON_OUT, JSON_NUMBER, JSON_ID, JSON_NULL };

struct json_step {
  const unsigned char *name; /* in the text that was given; NULL: an element of a list */
  uint32_t place;            /* how long the name is, or which element, from 1 */
  enum json_step_kind kind;
};

struct json_steps {
  bool untold; /* there were too many, or a name has escapes: every table has to be looked at */
  size_t count;
  struct json_step list[JSON_STEPS];
};

/* The text that is to be read: the given one, or what out holds. Lone surrogates are mended already
 * (json_scan.h). ids: names, separated by blanks, or NULL. */
struct bytes json_prepare(struct bytes text, const char *ids, struct buf *out, struct json_steps *steps);

#endif
