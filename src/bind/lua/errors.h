/* Errors of bindings: failures of the service are returned, mistakes of the caller are raised.
 *
 * A raised error has the line of the caller's code: of the first Lua function on the stack that does not
 * belong to this library.
 */
#ifndef FLEET_BIND_ERRORS_H
#define FLEET_BIND_ERRORS_H

#include "base/buf.h"
#include "base/err.h"
#include "base/nearest.h"

#include "bind/lua/versions.h"

/* nil, err, kind: the only way out of a binding for what the world refuses. */
int push_failure(lua_State *L, const struct err *e);
/* Pushes the err table alone: a table with the metatable fleet.err. */
void push_err(lua_State *L, const struct err *e);

/* Raises "file:line: …" with the line of the caller's own code. */
int usage_error(lua_State *L, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Raises "what expected, got …" unless the argument is of this type; a number is text, too. For functions
 * that users call by another name than Lua would find for them. */
void expect_type(lua_State *L, int index, int type, const char *what);

/* Raises unknown_sentence. */
int raise_unknown(lua_State *L, const char *what, const char *name, const char *const *names, size_t count);
/* The place among names of the text at index; -1 for any other text or type. A name may be NULL. */
int choice_at(lua_State *L, int index, const char *const *names, size_t count);

#endif
