#include "bind/signing/context.h"

#include "base/vin.h"
#include "bind/crypto/context.h"
#include "crypto/random.h"

#include <string.h>
#include <time.h>

static const char *const domain_names[] = {"vehicle_security", "infotainment"};

const char *domain_name(enum domain domain) {
  return domain_names[domain == DOMAIN_INFOTAINMENT];
}

enum domain check_domain(lua_State *L, int index) {
  if (lua_isinteger(L, index) && lua_tointeger(L, index) == DOMAIN_VCSEC) return DOMAIN_VCSEC;
  if (lua_isinteger(L, index) && lua_tointeger(L, index) == DOMAIN_INFOTAINMENT) return DOMAIN_INFOTAINMENT;
  int choice = choice_at(L, index, domain_names, 2);
  if (choice < 0) usage_error(L, "'domain' must be 'vehicle_security' or 'infotainment'");
  return choice == 1 ? DOMAIN_INFOTAINMENT : DOMAIN_VCSEC;
}

static void check_function(lua_State *L, int index, const char *name) {
  int type = lua_getfield(L, index, name);
  if (type != LUA_TNIL && type != LUA_TFUNCTION)
    usage_error(L, "option '%s' must be a function, got %s", name, lua_typename(L, type));
  lua_pop(L, 1);
}

void check_identity(lua_State *L, int index, const char *const *names, size_t count, struct identity *p) {
  luaL_checktype(L, index, LUA_TTABLE);
  check_options(L, index, names, count);
  if (lua_getfield(L, index, "key") != LUA_TUSERDATA)
    usage_error(L, "option 'key' must be a key: what fleet.key.load or fleet.key.generate gives");
  int key = lua_gettop(L);
  check_key(L, key);
  if (lua_getfield(L, index, "vin") != LUA_TSTRING || !is_vin(check_bytes(L, -1)))
    usage_error(L, "option 'vin' must be a VIN: " VIN_SPELLING);
  memcpy(p->vin, lua_tostring(L, -1), sizeof p->vin);
  lua_getfield(L, index, "domain");
  p->domain = check_domain(L, lua_gettop(L));
  lua_pop(L, 2);
  check_function(L, index, "random");
  check_function(L, index, "clock");
  p->key = check_key(L, key); /* a metatable of the options may have closed it */
  lua_pop(L, 1);
}

void keep_sources(lua_State *L, int options) {
  lua_getfield(L, options, "random");
  lua_setiuservalue(L, -2, OPTION_RANDOM);
  lua_getfield(L, options, "clock");
  lua_setiuservalue(L, -2, OPTION_CLOCK);
}

static double system_clock(clockid_t id) {
  struct timespec t;
  clock_gettime(id, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* The vehicle's clock runs while this machine sleeps: the clock here must count that time too. */
#ifdef CLOCK_BOOTTIME
#define SESSION_CLOCK CLOCK_BOOTTIME
#else
#define SESSION_CLOCK CLOCK_MONOTONIC
#endif

double system_wall_clock(void) {
  return system_clock(CLOCK_REALTIME);
}

static bool has_clock(lua_State *L, int box) {
  if (lua_getiuservalue(L, box, OPTION_CLOCK) != LUA_TNIL) return true; /* the function stays on the stack */
  lua_pop(L, 1);
  return false;
}

double read_mono(lua_State *L, int box) {
  if (!has_clock(L, box)) return system_clock(SESSION_CLOCK);
  lua_pop(L, 1);
  return read_clock(L, box).mono;
}

struct now read_clock(lua_State *L, int box) {
  if (!has_clock(L, box)) return (struct now){system_clock(SESSION_CLOCK), system_wall_clock()};
  lua_call(L, 0, 2);
  if (!lua_isnumber(L, -2)) luaL_error(L, "clock() must return seconds, got %s", luaL_typename(L, -2));
  double mono = lua_tonumber(L, -2), wall = lua_isnumber(L, -1) ? lua_tonumber(L, -1) : mono;
  lua_pop(L, 2);
  return (struct now){mono, wall};
}

bool fill_random(lua_State *L, int box, struct crypto *c, void *out, size_t size, struct err *e) {
  if (lua_getiuservalue(L, box, OPTION_RANDOM) == LUA_TNIL) {
    lua_pop(L, 1);
    return crypto_random(c, out, size, e);
  }
  lua_pushinteger(L, (lua_Integer)size);
  lua_call(L, 1, 1);
  if (lua_type(L, -1) != LUA_TSTRING || lua_rawlen(L, -1) != size)
    luaL_error(L, "random(%d) must return a string of %d bytes", (int)size, (int)size);
  memcpy(out, lua_tostring(L, -1), size);
  lua_pop(L, 1);
  return true;
}
