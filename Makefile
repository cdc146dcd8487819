# fleet: build, test and install. `make demo` and `make test` do their own set-up.
# VARIANT chooses flags and the folder below build/: plain, asan, tsan.

LUA_VERSION = 5.4
LUA      = lua$(LUA_VERSION)
VARIANT  = plain
B        = build/$(VARIANT)
PREFIX   = /usr/local
LUADIR   = $(PREFIX)/share/lua/$(LUA_VERSION)
LIBDIR   = $(PREFIX)/lib/lua/$(LUA_VERSION)
BINDIR   = $(PREFIX)/bin
ROOT    := $(patsubst %/,%,$(dir $(abspath $(lastword $(MAKEFILE_LIST)))))

PKG      = pkg-config
PACKAGES = lua$(LUA_VERSION) libcurl libcrypto libprotobuf-c
WARNINGS = -Wall -Wextra -Wshadow -Wconversion
CFLAGS   = -O2 -g
VARIANT_FLAGS_plain =
VARIANT_FLAGS_asan  = -O1 -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer
VARIANT_FLAGS_tsan  = -O1 -fsanitize=thread
VARIANT_FLAGS = $(VARIANT_FLAGS_$(VARIANT))
ALL_CFLAGS = -std=c11 -D_GNU_SOURCE -fPIC -fvisibility=hidden $(WARNINGS) $(CFLAGS) $(VARIANT_FLAGS) -Isrc -MMD -MP
INCLUDES  := $(shell $(PKG) --cflags $(PACKAGES) 2>/dev/null)
LIBS       = $(shell $(PKG) --libs libcurl libcrypto libprotobuf-c) -lm
SHARED     = -shared -Wl,-z,nodelete -Wl,-z,now

TABLES  = endpoints commands statuses reasons faults vendor options
BASE    = buf err reason civil file
HTTP    = poller http outcome
OAUTH   = oauth
SIGNING =
TARIFF  = zone
BIND    = fleet bind json rows params client reply resource loop zone

SOURCES = $(TABLES:%=src/tables/%.c) $(BASE:%=src/base/%.c) $(HTTP:%=src/http/%.c) $(OAUTH:%=src/oauth/%.c) \
          $(SIGNING:%=src/signing/%.c) $(TARIFF:%=src/tariff/%.c) $(BIND:%=src/bind/%.c)
OBJECTS = $(SOURCES:src/%.c=$(B)/obj/%.o)
SERVER_OBJECTS = $(B)/obj/server/server.o $(B)/obj/server/daemon.o $(B)/obj/server/listener.o \
                 $(B)/obj/bind/bind.o $(B)/obj/base/buf.o $(B)/obj/base/err.o
PROBES  = $(patsubst spec/support/%.c,$(B)/lib/%.so,$(wildcard spec/support/probe_*.c))

.PHONY: all deps build test demo bench lint asan tsan valgrind fuzz torture look doc proto install env clean specs
all: build
build: $(B)/lib/fleet/core.so $(B)/lib/fleet/server.so

$(B)/obj/%.o: src/%.c
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) $(INCLUDES) -c -o $@ $<

$(B)/lib/fleet/core.so: $(OBJECTS)
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) $(SHARED) -o $@ $^ $(LIBS)

$(B)/lib/fleet/server.so: $(SERVER_OBJECTS)
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) $(SHARED) -o $@ $^ -lmicrohttpd

# A probe lets a spec call C functions that no public call reaches; never installed.
$(B)/lib/probe_%.so: spec/support/probe_%.c $(OBJECTS)
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) $(INCLUDES) $(SHARED) -o $@ $^ $(LIBS)

-include $(OBJECTS:.o=.d) $(SERVER_OBJECTS:.o=.d) $(PROBES:.so=.d)

ENV = LUA_PATH="$(ROOT)/lua/?.lua;$(ROOT)/lua/?/init.lua;$(ROOT)/?.lua;;" LUA_CPATH="$(ROOT)/$(B)/lib/?.so;;" \
      FLEET_BUILD="$(ROOT)/$(B)"
BUSTED = $(LUA) /usr/bin/busted
SPECS  = spec

specs: build $(PROBES)
	$(ENV) $(BUSTED) $(SPECS)

clean:
	rm -rf build
