# fleet: build, test and install. `make demo` and `make test` do their own set-up. The checks stand in spec/checks.mk.

# 5.1 to 5.5, or jit. Each has a folder of its own below build/: plain, lua5.1, luajit; with a variant asan, lua5.1-asan.
LUA_VERSION = 5.4
LUA      = $(if $(filter jit,$(LUA_VERSION)),luajit,lua$(LUA_VERSION))
LUA_ABI  = $(LUA_VERSION:jit=5.1)
VARIANT  = plain
BUILD    = $(if $(filter 5.4,$(LUA_VERSION)),$(VARIANT),$(LUA)$(patsubst %,-%,$(filter-out plain,$(VARIANT))))
B        = build/$(BUILD)
PREFIX   = /usr/local
LUADIR   = $(PREFIX)/share/lua/$(LUA_ABI)
LIBDIR   = $(PREFIX)/lib/lua/$(LUA_ABI)
BINDIR   = $(PREFIX)/bin
ROOT    := $(patsubst %/,%,$(dir $(abspath $(lastword $(MAKEFILE_LIST)))))

# A folder of another Lua is refused: what is built here would not load there (luarocks passes LUADIR).
FOLDER_VERSION = $(lastword $(filter 5.%,$(patsubst rocks-%,%,$(subst /, ,$(LUADIR)))))
$(if $(filter-out $(LUA_ABI),$(FOLDER_VERSION)),$(error fleet is built for Lua $(LUA_VERSION), and $(LUADIR) belongs to \
  Lua $(FOLDER_VERSION): use make LUA_VERSION=$(FOLDER_VERSION), or luarocks --lua-version $(LUA_ABI)))

PKG      = pkg-config
PACKAGES = $(LUA) libcurl libcrypto libprotobuf-c
WARNINGS = -Wall -Wextra -Wshadow -Wconversion
CFLAGS   = -O2 -g
VARIANT_FLAGS_asan  = -O1 -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer
VARIANT_FLAGS_fault = -O1 -DFLEET_FAULT_POINTS
VARIANT_FLAGS_tsan  = -O1 -fsanitize=thread
ALL_CFLAGS = -std=c11 -D_GNU_SOURCE -fPIC -fvisibility=hidden $(WARNINGS) $(CFLAGS) $(VARIANT_FLAGS_$(VARIANT)) -Isrc -MMD -MP
INCLUDES  := $(shell $(PKG) --cflags $(PACKAGES) 2>/dev/null)
LIBS       = $(shell $(PKG) --libs libcurl libcrypto libprotobuf-c) -lm
SHARED     = -shared -Wl,-z,nodelete -Wl,-z,now

# The core is every C file but the parts that are shared objects of their own; generated messages are compiled through all.c.
SOURCES = $(filter-out src/server/% src/redis/% %.pb-c.c,$(patsubst $(ROOT)/%,%,$(shell find $(ROOT)/src -name '*.c' | sort)))
OBJECTS = $(SOURCES:src/%.c=$(B)/obj/%.o)
SHARED_BINDING = $(patsubst %,$(B)/obj/%.o,bind/lua/bind bind/lua/errors bind/lua/names bind/lua/versions base/buf base/err base/fork)
SERVER_OBJECTS = $(patsubst src/%.c,$(B)/obj/%.o,$(wildcard src/server/*.c)) $(SHARED_BINDING)

.PHONY: all deps build demo test install env clean
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
	$(CC) $(ALL_CFLAGS) $(SHARED) -o $@ $^ -lmicrohttpd -lgnutls

-include $(OBJECTS:.o=.d) $(SERVER_OBJECTS:.o=.d)
include $(ROOT)/spec/checks.mk

demo:
	@$(MAKE) --no-print-directory deps DEPS="$(BUILD_DEPS)"
	@$(MAKE) --no-print-directory -s build
	@$(ENV) $(LUA) examples/demo.lua

test:
	@$(MAKE) --no-print-directory deps
	@$(MAKE) --no-print-directory checked-specs

BUILD_DEPS = gcc libc6-dev pkg-config lua5.4 liblua5.4-dev libcurl4-openssl-dev libssl-dev lua-cjson libprotobuf-c-dev \
             libmicrohttpd-dev ca-certificates tzdata

# Installs what is missing, as root or with sudo; on a system without apt-get it prints what is needed.
deps:
	@sh spec/support/harness/deps.sh $(DEPS)

LUA_FILES = $(shell cd $(ROOT)/lua && find fleet -name '*.lua' | sort)

install: build
	for f in $(LUA_FILES); do install -D -m 644 lua/$$f "$(DESTDIR)$(LUADIR)/$$f" || exit 1; done
	install -D -m 755 $(B)/lib/fleet/core.so "$(DESTDIR)$(LIBDIR)/fleet/core.so"
	install -D -m 755 $(B)/lib/fleet/server.so "$(DESTDIR)$(LIBDIR)/fleet/server.so"
	install -D -m 755 lua/fleet/cli/fleet "$(DESTDIR)$(BINDIR)/fleet"

# eval "$$(make -s env)": require "fleet" and the command of this tree then work from any directory.
env: build
	@echo 'export LUA_PATH="$(ROOT)/lua/?.lua;$(ROOT)/lua/?/init.lua;'"$${LUA_PATH:-;;}"'"'
	@echo 'export LUA_CPATH="$(ROOT)/$(B)/lib/?.so;'"$${LUA_CPATH:-;;}"'"'
	@echo 'export PATH="$(ROOT)/lua/fleet/cli:'"$$PATH"'"'

clean:
	rm -rf build
