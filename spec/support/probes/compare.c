/* Whether a comparison decides by what it compares: under valgrind, a jump that depends on bytes which were
 * declared undefined is an error of the program, and the errors are counted. */
#include "base/buf.h"
#include "bind/lua/versions.h"

#if __has_include(<valgrind/memcheck.h>)
#include <valgrind/memcheck.h>
#else /* without valgrind the probe says that it is not watched */
#define VALGRIND_MAKE_MEM_UNDEFINED(address, size) 0
#define VALGRIND_MAKE_MEM_DEFINED(address, size) 0
#define VALGRIND_COUNT_ERRORS 0
#define RUNNING_ON_VALGRIND 0
#endif

static struct bytes unknown_bytes(lua_State *L, int index, size_t *size) {
  const char *text = luaL_checklstring(L, index, size);
  void *copy = lua_newuserdatauv(L, *size + 1, 0);
  for (size_t i = 0; i < *size; i++) ((char *)copy)[i] = text[i];
  (void)VALGRIND_MAKE_MEM_UNDEFINED(copy, *size);
  return (struct bytes){copy, *size};
}

/* jumps(a, b, "secret"|"public") -> how many jumps depended on the bytes; whether they are equal */
static int l_jumps(lua_State *L) {
  static const char *const ways[] = {"secret", "public", NULL};
  size_t size_a, size_b;
  bool secret = luaL_checkoption(L, 3, NULL, ways) == 0;
  struct bytes a = unknown_bytes(L, 1, &size_a), b = unknown_bytes(L, 2, &size_b);
  unsigned before = (unsigned)VALGRIND_COUNT_ERRORS;
  bool equal = secret ? bytes_equal_secret(a, b) : bytes_equal(a, b);
  unsigned after = (unsigned)VALGRIND_COUNT_ERRORS;
  (void)VALGRIND_MAKE_MEM_DEFINED(&equal, sizeof equal);
  lua_pushinteger(L, after - before);
  lua_pushboolean(L, equal);
  return 2;
}

/* watched() -> whether valgrind runs this */
static int l_watched(lua_State *L) {
  lua_pushboolean(L, RUNNING_ON_VALGRIND != 0);
  return 1;
}

__attribute__((visibility("default"))) int luaopen_probe_compare(lua_State *L);

int luaopen_probe_compare(lua_State *L) {
  static const luaL_Reg functions[] = {{"jumps", l_jumps}, {"watched", l_watched}, {NULL, NULL}};
  luaL_newlib(L, functions);
  return 1;
}
