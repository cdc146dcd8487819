/* Records whose writing was put off. They stand in a table of the box of the records, so that a collection
 * sees them, by key: { value, generation, end in seconds, whether they may wait while their lease is let go
 * }.
 */
#ifndef FLEET_BIND_STORE_HELD_H
#define FLEET_BIND_STORE_HELD_H

#include "bind/lua/bind.h"
#include "store/store.h"

struct records {
  struct store store;
  size_t held; /* how many */
};

enum { RECORDS = 1, KEY = 2, USER_WARN = 1, USER_HELD = 2, USER_VALUES = 2 }; /* places */

struct held {
  struct bytes value;
  uint64_t generation;
  double ends; /* UTC seconds; 0: never */
  bool may_wait;
};

/* The record of the key on the stack at KEY. True leaves one value on the stack, which keeps h. */
bool held_find(lua_State *L, struct held *h);
/* Of the value on the stack at this index. */
void held_keep(lua_State *L, struct records *r, int value, const struct held *h);
void held_drop(lua_State *L, struct records *r);
/* Pushes a list of the keys, at most so many, and returns how many. */
size_t held_push_keys(lua_State *L, double most);

uint64_t milliseconds_of(double seconds); /* 0 for what is no time */
/* Writes the record of the key at KEY: STORE_DONE also where none is held back. What somebody else wrote
 * since its generation was drawn is newer and stays. */
enum store_result held_write(lua_State *L, struct records *r, double wall, struct err *e);

#endif
