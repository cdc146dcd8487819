/* What sessions and receivers have in common in Lua: who they are, their clock and their source of random
 * bytes. */
#ifndef FLEET_BIND_SIGNING_CONTEXT_H
#define FLEET_BIND_SIGNING_CONTEXT_H

#include "bind/lua/bind.h"
#include "crypto/key.h"
#include "signing/metadata.h"

struct key *check_key(lua_State *L, int index); /* keys.c */
const char *domain_name(enum domain domain);
enum domain check_domain(lua_State *L, int index); /* "vehicle_security", "infotainment", or its number */

/* Sessions and receivers are made from one table of options; it is checked whole before anything is made. */
enum { OPTION_RANDOM = 1, OPTION_CLOCK = 2 }; /* user values of the box: functions, or nil */

struct identity {
  struct key *key;
  char vin[VIN_SIZE + 1];
  enum domain domain;
};
/* Raises for a missing or unknown option; names lists those that are taken. Comes last before the key is
 * used: what is made behind it may run a finaliser of the host's, which may close the key. */
void check_identity(lua_State *L, int index, const char *const *names, size_t count, struct identity *p);
/* Moves random and clock of the options into the user values of the box on top of the stack. */
void keep_sources(lua_State *L, int options);

struct now {
  double mono, wall; /* s */
};
/* The box's clock(), else the system's, which counts while suspended. */
struct now read_clock(lua_State *L, int box);
double read_mono(lua_State *L, int box);
double system_wall_clock(void);
/* Fills out from the box's random(n), else from the system. False with e filled; raises when random gives
 * something else. */
bool fill_random(lua_State *L, int box, struct crypto *c, void *out, size_t size, struct err *e);

#endif
