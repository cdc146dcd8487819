/* What every binding file shares: boxes for C objects, one checker per type, one way out for failures.
 *
 * A box is created first, marked closed, and the resource is acquired into it afterwards, so that a raise in
 * between leaks nothing. close(), __close and __gc are the same idempotent release. Only this folder knows
 * Lua.
 */
#ifndef FLEET_BIND_BIND_H
#define FLEET_BIND_BIND_H

#include "base/buf.h"
#include "base/err.h"
#include "bind/lua/errors.h"
#include "bind/lua/members.h"
#include "bind/lua/versions.h"

struct box_type {
  const char *name;              /* "fleet.key": __name, and what errors call it */
  void (*release)(void *object); /* called once; the object's memory belongs to Lua */
  const luaL_Reg *methods;       /* becomes __index; may be NULL */
  const luaL_Reg *metamethods;   /* beside __gc, __close, __name, __tostring; may be NULL */
};

/* Creates the metatable; call once per state in the opener. Leaves it on the stack. */
void box_define(lua_State *L, const struct box_type *type);
/* A zeroed object of so many bytes, marked closed; box_open marks it live once it holds its resource. */
void *box_new(lua_State *L, const struct box_type *type, size_t size, int user_values);
void box_open(lua_State *L, int index);
void *box_check(lua_State *L, int index,
                const struct box_type *type); /* raises for another type or a closed one */
void *box_test(lua_State *L, int index,
               const struct box_type *type); /* NULL for another type; closed ones too */
void *box_any(lua_State *L, int index, const struct box_type *type); /* as box_check, but closed ones pass */
const struct box_type *box_type_at(lua_State *L, int index); /* NULL for what is no box of this state */
bool box_is_open(lua_State *L, int index);
void box_close(lua_State *L, int index); /* idempotent */

struct bytes check_bytes(lua_State *L,
                         int index); /* a string argument as a view; valid while it is on the stack */
/* Raises for an option in the table at index that is not among names. */
void check_options(lua_State *L, int index, const char *const *names, size_t count);
/* A buffer in a to-be-collected box: wiped and freed even when Lua raises. Leaves the box on the stack. A
 * text of another box goes through one before it is pushed: Lua before 5.3 runs finalisers between taking a
 * text and copying it, and they may change or free the other box. */
struct buf *push_scratch(lua_State *L);

long live_objects(lua_State *L); /* boxes that are open in this state: specs require zero at the end */

/* Openers of the files of this folder: each adds its functions to the table on top of the stack. */
void open_errors(lua_State *L);
void open_names(lua_State *L);
void open_redact(lua_State *L);
void open_hostname(lua_State *L);
void open_text(lua_State *L);
void open_json(lua_State *L);
void open_secret(lua_State *L);
void open_plan(lua_State *L);
void open_forward(lua_State *L);
void open_request(lua_State *L);
void open_reply(lua_State *L);
void open_result(lua_State *L);
void open_rows(lua_State *L);
void open_handle(lua_State *L);
void open_loop(lua_State *L);
void open_signals(lua_State *L);
void open_keys(lua_State *L);
void open_commands(lua_State *L);
void open_messages(lua_State *L);
void open_decisions(lua_State *L);
void open_sessions(lua_State *L);
void open_receiver(lua_State *L);
void open_tariffs(lua_State *L);
void open_files(lua_State *L);
void open_records(lua_State *L);
void open_counters(lua_State *L);
void open_seals(lua_State *L);
void open_crypto(lua_State *L);
void open_authorize(lua_State *L);
void open_grant(lua_State *L);
void open_token(lua_State *L);
void open_region(lua_State *L);
void open_token_need(lua_State *L);
void open_zone(lua_State *L);

#endif
