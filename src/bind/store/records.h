/* fleet.records in Lua, and what its files share: its box and its answers (records_box.c), reading and
 * writing (records.c), and what a writer holds beside a record: the lease by which it writes alone, the
 * ticket by which its write finds room (leases.c). What is put off is held.h's. */
#ifndef FLEET_BIND_STORE_RECORDS_H
#define FLEET_BIND_STORE_RECORDS_H

#include "bind/store/held.h"

extern const struct box_type records_type, lease_type, ticket_type;

/* Again behind whatever makes something: that may run a finaliser of the host's, which may close the store,
 * or read another record, which stands where this one stood. */
struct records *check_records(lua_State *L);
/* What the store has to say goes to the host's function, in the box at this index. */
void give_notice(lua_State *L, struct records *r, int box);
/* false: somebody else writes at this moment; call again. */
int push_result(lua_State *L, enum store_result result, const struct err *e);

/* What was opened before a fork belongs to the parent: true with e filled in the child. */
bool lease_is_childs(const struct lease *lease, struct err *e);
bool ticket_is_childs(const struct file_draft *draft, struct err *e);

/* Methods of records. */
int records_l_lease(lua_State *L);
int records_l_release(lua_State *L);
int records_l_reserve(lua_State *L);

#endif
