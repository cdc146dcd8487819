/* What the bindings of the signing pillar share: the state's algorithms, keys as arguments, time and random
 * bytes. */
#ifndef FLEET_BIND_SIGNING_H
#define FLEET_BIND_SIGNING_H

#include "bind/crypto/context.h"
#include "bind/lua/bind.h"
#include "crypto/key.h"
#include "signing/metadata.h"

/* fleet.key */
void open_keys(lua_State *L);
void open_commands(lua_State *L);
void open_receiver(lua_State *L);
struct key *check_key(lua_State *L, int index);

/* Raises for an option that is not among names. */
void check_options(lua_State *L, int index, const char *const *names, size_t count);

/* The signed form of a command with the parameters in the table at an index (0: none). Raises for the
 * caller's mistakes. */
bool command_payload(lua_State *L, const struct row *row, int params, struct buf *payload, struct err *e);

const char *domain_name(enum domain domain);
enum domain check_domain(lua_State *L, int index); /* "vehicle_security", "infotainment", or its number */

/* Sessions and receivers are made from one table of options; it is checked whole before anything is made. */
enum { OPTION_RANDOM = 1, OPTION_CLOCK = 2 }; /* user values of the box: functions, or nil */

struct party {
  struct key *key;
  char vin[VIN_SIZE + 1];
  enum domain domain;
};
/* Raises for a missing or unknown option; names lists those that are taken. */
void check_party(lua_State *L, int index, const char *const *names, size_t count, struct party *p);
/* Moves random and clock of the options into the user values of the box on top of the stack. */
void keep_sources(lua_State *L, int options);

struct now {
  double mono, wall; /* s */
};
struct now read_clock(lua_State *L,
                      int box); /* the box's clock(), else the system's, which counts while suspended */
double read_mono(lua_State *L, int box);
double system_wall_clock(void);
/* Fills out from the box's random(n), else from the system. False with e filled; raises when random gives
 * something else. */
bool draw(lua_State *L, int box, struct crypto *c, void *out, size_t size, struct err *e);

#endif
