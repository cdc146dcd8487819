# fleet: build, test and install. `make demo` and `make test` install what they need. The other checks are in spec/checks.mk.

# 5.1 to 5.5, or jit. Each has a folder of its own below build/: plain, lua5.1, luajit; with a variant asan, lua5.1-asan. Where a
# folder is given that names a version, as LuaRocks does with LUADIR, it is that one.
LUA_VERSION = $(or $(if $(filter command,$(origin LUADIR)),$(FOLDER_VERSION)),5.4)
LUA      = $(if $(filter jit,$(LUA_VERSION)),luajit,lua$(LUA_VERSION))
LUA_ABI  = $(LUA_VERSION:jit=5.1)
VARIANT  = plain
# What the loop waits with: epoll, timerfd and signalfd, or poll(2), a pipe and a thread for systems without them: build/plain-poll.
SYSTEM  := $(shell uname -s)
POLLER   = $(if $(filter Linux,$(SYSTEM)),epoll,poll)
BUILD    = $(if $(filter 5.4,$(LUA_VERSION)),$(VARIANT),$(LUA)$(patsubst %,-%,$(filter-out plain,$(VARIANT))))$(if $(filter poll,$(POLLER)),-poll)
$(if $(filter epoll poll,$(POLLER)),,$(error POLLER is epoll or poll, not '$(POLLER)'))
B        = build/$(BUILD)
PREFIX   = /usr/local
LUADIR   = $(PREFIX)/share/lua/$(LUA_ABI)
LIBDIR   = $(PREFIX)/lib/lua/$(LUA_ABI)
BINDIR   = $(PREFIX)/bin
DATADIR  = $(PREFIX)/share
DOCDIR   = $(DATADIR)/doc/fleet
ROOT    := $(patsubst %/,%,$(dir $(abspath $(lastword $(MAKEFILE_LIST)))))

# A folder of another Lua is refused: what is built here would not load there.
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
VARIANT_FLAGS_walks = -O0 -finstrument-functions
# On 32 bits: files of file systems with large numbers, and clocks after 2038. No time of the C library crosses into another's.
LARGE = -D_FILE_OFFSET_BITS=64 -D_TIME_BITS=64
ALL_CFLAGS = -std=c11 -D_GNU_SOURCE $(LARGE) -fPIC -fno-plt -pthread -fvisibility=hidden $(WARNINGS) $(CFLAGS) $(VARIANT_FLAGS_$(VARIANT)) -Isrc -MMD -MP
INCLUDES  := $(shell $(PKG) --cflags $(PACKAGES) 2>/dev/null)
LIBS       = $(shell $(PKG) --libs libcurl libcrypto libprotobuf-c) -lm
SHARED     = $(if $(filter Darwin,$(SYSTEM)),-bundle -undefined dynamic_lookup,-shared -Wl,-z,nodelete -Wl,-z,now) $(LDFLAGS)

.PHONY: all deps build demo test install uninstall env clean
all: build
include $(ROOT)/src/parts.mk
include $(ROOT)/spec/checks.mk
include $(ROOT)/spec/packaging/machines.mk
include $(ROOT)/doc/packaging/packaging.mk
include $(ROOT)/doc/generate/pages/pages.mk

demo:
	@$(MAKE) --no-print-directory deps DEPS="$(BUILD_DEPS)"
	@$(MAKE) --no-print-directory -s build
	@$(ENV) $(LUA) examples/demo.lua

# The specs of the module itself. Specs that need further programs wait, and are named at the end; `make test-all` installs those.
test:
	@$(MAKE) --no-print-directory deps DEPS="$(BUILD_DEPS) lua-busted lua-cqueues lua-cjson"
	@$(MAKE) --no-print-directory -s build probes
	@$(MAKE) --no-print-directory present-specs

BUILD_DEPS = gcc libc6-dev pkg-config lua5.4 liblua5.4-dev libcurl4-openssl-dev libssl-dev libprotobuf-c-dev \
             libmicrohttpd-dev ca-certificates tzdata curl

# Installs what is missing, as root or with sudo; on a system without apt-get it prints what is needed.
deps:
	@sh spec/support/harness/deps.sh $(DEPS)

# The files of an installation: doc/packaging/install.sh. LuaRocks has no DATADIR. The manual is HTML where pandoc is installed, else Markdown.
INSTALL = DESTDIR="$(DESTDIR)" PREFIX="$(PREFIX)" LUADIR="$(LUADIR)" LIBDIR="$(LIBDIR)" BINDIR="$(BINDIR)" DATADIR="$(DATADIR)" \
  DOCDIR="$(DOCDIR)" \
  LUA="$(LUA)" LUA_ABI=$(LUA_ABI) VERSION=$(VERSION) B="$(B)" PARTS="$(PART_NAMES)" sh doc/packaging/install.sh

install: build $(B)/lib/libfleet.a
	@if [ "$(DATADIR)" ] && command -v pandoc >/dev/null; then $(MAKE) --no-print-directory -s pages; fi
	@$(ENV) RUN="$(LUA)" HTML="$$(command -v pandoc >/dev/null && echo build/manual)" $(INSTALL) install

uninstall:
	@$(INSTALL) uninstall

# eval "$$(make -s env)": require "fleet" and the command of this tree then work from any directory.
env: build
	@echo 'export LUA_PATH="$(ROOT)/lua/?.lua;$(ROOT)/lua/?/init.lua;'"$${LUA_PATH:-;;}"'"'
	@echo 'export LUA_CPATH="$(ROOT)/$(B)/lib/?.so;'"$${LUA_CPATH:-;;}"'"'
	@echo 'export PATH="$(ROOT)/lua/fleet/cli:'"$$PATH"'"'

clean:
	rm -rf build
