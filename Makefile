# fleet: build, test and install. `make demo` and `make test` do their own set-up.
# VARIANT chooses flags and the folder below build/: plain, asan, tsan, and fault, whose
# file steps can be made to kill the process.

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
VARIANT_FLAGS_fault = -O1 -DFLEET_FAULT_POINTS
VARIANT_FLAGS_tsan  = -O1 -fsanitize=thread
VARIANT_FLAGS = $(VARIANT_FLAGS_$(VARIANT))
ALL_CFLAGS = -std=c11 -D_GNU_SOURCE -fPIC -fvisibility=hidden $(WARNINGS) $(CFLAGS) $(VARIANT_FLAGS) -Isrc -MMD -MP
INCLUDES  := $(shell $(PKG) --cflags $(PACKAGES) 2>/dev/null)
LIBS       = $(shell $(PKG) --libs libcurl libcrypto libprotobuf-c) -lm
SHARED     = -shared -Wl,-z,nodelete -Wl,-z,now

TABLES  = endpoints commands statuses reasons faults vendor options telemetry
BASE    = buf err reason civil file sigpipe
HTTP    = poller http outcome
OAUTH   = oauth
SIGNING = key keyfile metadata window arena message session receiver fields codec members answer jws proto/all
TARIFF  = tariff seasons spans prices advice zone
BIND    = fleet bind json rows params client reply resource loop signals zone files oauth signing keys receiver commands tariffs tariff_reader tariff_report

SOURCES = $(TABLES:%=src/tables/%.c) $(BASE:%=src/base/%.c) $(HTTP:%=src/http/%.c) $(OAUTH:%=src/oauth/%.c) \
          $(SIGNING:%=src/signing/%.c) $(TARIFF:%=src/tariff/%.c) $(BIND:%=src/bind/%.c)
OBJECTS = $(SOURCES:src/%.c=$(B)/obj/%.o)
SERVER_OBJECTS = $(B)/obj/server/server.o $(B)/obj/server/daemon.o $(B)/obj/server/listener.o \
                 $(B)/obj/bind/bind.o $(B)/obj/base/buf.o $(B)/obj/base/err.o
PROBES  = $(patsubst spec/support/%.c,$(B)/lib/%.so,$(wildcard spec/support/probe_*.c))

.PHONY: all deps build probes specs sanitized-specs threads run-threads test demo bench lint asan tsan valgrind fuzz killed torture look doc proto install env clean
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
# What the specs print is searched for their secrets.
OVERHEARD = $(ENV) sh spec/support/overheard.sh $(B)/printed

# ---- set-up ----

BUILD_DEPS = gcc libc6-dev pkg-config lua5.4 liblua5.4-dev libcurl4-openssl-dev libssl-dev lua-cjson libprotobuf-c-dev \
             libmicrohttpd-dev ca-certificates tzdata
TEST_DEPS  = lua-busted lua-check lua5.1 lua-cqueues lua-luv nginx-light openssl curl binutils locales procps \
             clang clang-format llvm cppcheck valgrind protobuf-c-compiler luarocks chromium git
DEPS       = $(BUILD_DEPS) $(TEST_DEPS)

# What clang's sanitizers and fuzzers link with; the package has clang's number in its name.
RUNTIME_FILE = "$$(clang -print-file-name=libclang_rt.fuzzer-$$(uname -m).a 2>/dev/null)"
RUNTIME      = $$(apt-cache depends clang | sed -n 's/.*Depends: clang-\([0-9]*\)$$/libclang-rt-\1-dev/p')

# Installs what is missing, as root or with sudo; on a system without apt-get it prints what is needed.
deps:
	@missing=; for p in $(DEPS); do \
	  dpkg-query -W -f='$${Status}' $$p 2>/dev/null | grep -q 'ok installed' || missing="$$missing $$p"; done; \
	runtime=; case " $(DEPS) " in *" clang "*) [ -e $(RUNTIME_FILE) ] || runtime="clang's sanitizers";; esac; \
	if [ -z "$$missing$$runtime" ]; then exit 0; fi; \
	if ! command -v apt-get >/dev/null; then echo "Please install the equivalents of:$$missing $$runtime"; exit 1; fi; \
	as=; [ "$$(id -u)" = 0 ] || as=sudo; \
	echo "Installing:$$missing $$runtime"; \
	$$as apt-get update -qq && DEBIAN_FRONTEND=noninteractive $$as apt-get install -y -qq --no-install-recommends \
	  $$missing $${runtime:+$(RUNTIME)} >/dev/null

# ---- trying and testing ----

demo:
	@$(MAKE) --no-print-directory deps DEPS="$(BUILD_DEPS)"
	@$(MAKE) --no-print-directory -s build
	@$(ENV) $(LUA) examples/demo.lua

test:
	@$(MAKE) --no-print-directory deps
	@$(MAKE) --no-print-directory -s build probes
	luacheck -q lua spec examples
	@$(MAKE) --no-print-directory -s build probes VARIANT=fault
	@$(MAKE) --no-print-directory killed VARIANT=fault
	@$(OVERHEARD) $(BUSTED) $(SPECS)

specs: build probes
	@$(OVERHEARD) $(BUSTED) $(SPECS)

probes: $(PROBES)

# ---- sanitizers: the same suite, built with them ----

SANITIZE = ASAN_OPTIONS=detect_leaks=1:abort_on_error=1:symbolize=1 LSAN_OPTIONS=suppressions=$(ROOT)/spec/support/lsan.supp:print_suppressions=0 \
           UBSAN_OPTIONS=print_stacktrace=1 LD_PRELOAD="$(shell $(CC) -print-file-name=libasan.so) $(shell $(CC) -print-file-name=libubsan.so)"

asan:
	@$(MAKE) --no-print-directory deps
	@$(MAKE) --no-print-directory -s build probes VARIANT=asan
	@$(MAKE) --no-print-directory sanitized-specs VARIANT=asan

sanitized-specs:
	$(SANITIZE) $(ENV) $(BUSTED) $(SPECS)

tsan:
	@$(MAKE) --no-print-directory deps
	@$(MAKE) --no-print-directory -s build threads VARIANT=tsan
	@$(MAKE) --no-print-directory run-threads VARIANT=tsan

threads: $(B)/threads
run-threads:
	TSAN_OPTIONS=suppressions=$(ROOT)/spec/support/tsan.supp:halt_on_error=1 $(ENV) $(B)/threads

# Two states in two threads, and thousands of openings and closings: a host in C.
$(B)/threads: spec/support/threads.c
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) $(INCLUDES) -o $@ $< $(shell $(PKG) --libs lua$(LUA_VERSION)) -lpthread

valgrind:
	@$(MAKE) --no-print-directory deps
	@$(MAKE) --no-print-directory -s build probes
	$(ENV) VALGRIND=1 valgrind -q --error-exitcode=99 --suppressions=spec/support/valgrind.supp --child-silent-after-fork=yes \
	  $(BUSTED) $(SPECS)

# ---- the long forms: REQUESTS to the server and the simulator, STEPS in random order, kill -9 at every step of a write ----

REQUESTS = 1000000
STEPS    = 30000

torture:
	@$(MAKE) --no-print-directory deps
	@$(MAKE) --no-print-directory -s build probes
	$(ENV) $(LUA) spec/torture/server.lua $(REQUESTS)
	$(ENV) $(LUA) spec/torture/sim.lua $(REQUESTS)
	$(ENV) FLEET_STEPS=$(STEPS) $(BUSTED) spec/sim_property_spec.lua
	@$(MAKE) --no-print-directory -s build probes VARIANT=fault
	@$(MAKE) --no-print-directory killed VARIANT=fault

killed:
	$(ENV) FLEET_FIGURES=1 $(BUSTED) spec/store_file_spec.lua spec/tokens_process_spec.lua

# ---- fuzzing: RUNS executions of every target, with the address sanitizer ----

RUNS    = 200000
FUZZERS = $(patsubst spec/fuzz/fuzz_%.c,%,$(wildcard spec/fuzz/fuzz_*.c))
FUZZ_OBJECTS = $(SOURCES:src/%.c=build/fuzz-obj/%.o)
FUZZ_FLAGS   = -std=c11 -D_GNU_SOURCE -g -O1 -fsanitize=address,undefined -fno-sanitize-recover=undefined -Isrc -MMD -MP

fuzz:
	@$(MAKE) --no-print-directory deps
	@$(MAKE) --no-print-directory $(FUZZERS:%=fuzz-%)

.PRECIOUS: build/fuzz/%
fuzz-%: build/fuzz/%
	@mkdir -p build/corpus/$*
	$< -runs=$(RUNS) -max_total_time=600 -verbosity=0 -print_final_stats=1 build/corpus/$* $(wildcard spec/fuzz/corpus/$*)

build/fuzz-obj/%.o: src/%.c
	@mkdir -p $(@D)
	clang $(FUZZ_FLAGS) -fsanitize=fuzzer-no-link $(INCLUDES) -c -o $@ $<

build/fuzz/%: spec/fuzz/fuzz_%.c $(FUZZ_OBJECTS)
	@mkdir -p $(@D)
	clang $(FUZZ_FLAGS) -fsanitize=fuzzer $(INCLUDES) -o $@ $(filter %.c %.o,$^) $(LIBS) $(shell $(PKG) --libs lua$(LUA_VERSION))

-include $(FUZZ_OBJECTS:.o=.d)

# ---- checks that need no run ----

LINT_SOURCES = $(filter-out src/signing/proto/%,$(wildcard src/*/*.c spec/support/*.c spec/fuzz/*.c spec/bench/*.c))
LINT_HEADERS = $(filter-out src/signing/proto/%,$(wildcard src/*/*.h))

lint:
	@$(MAKE) --no-print-directory deps
	for f in $(LINT_SOURCES); do for c in gcc clang; do \
	  $$c -std=c11 -D_GNU_SOURCE -O2 $(WARNINGS) -Werror -Isrc $(INCLUDES) -c -o /dev/null $$f || exit 1; done; done
	clang-format --dry-run -Werror $(LINT_SOURCES) $(LINT_HEADERS)
	cppcheck -q --std=c11 --enable=warning,portability --inline-suppr --error-exitcode=1 --suppress=missingIncludeSystem \
	  -Isrc -j2 $(filter src/%,$(LINT_SOURCES))
	luacheck -q lua spec examples
	for f in $$(find lua -name '*.lua'); do luac5.1 -p $$f || exit 1; done

# ---- measuring, documents, generated files ----

# A yardstick in C beside the Lua that compares with it.
$(B)/bench/sign: spec/bench/sign.c $(filter-out $(B)/obj/bind/%,$(OBJECTS))
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) $(INCLUDES) -o $@ $^ $(LIBS)

$(B)/bench/request: spec/bench/request.c
	@mkdir -p $(@D)
	$(CC) -std=c11 -D_GNU_SOURCE $(WARNINGS) $(CFLAGS) $(INCLUDES) -o $@ $< -lcurl

bench:
	@$(MAKE) --no-print-directory deps
	@$(MAKE) --no-print-directory -s build probes $(B)/bench/sign $(B)/bench/request
	@$(ENV) $(LUA) spec/bench/run.lua

# Pictures for the eye: every one that the module draws and every page of the simulator, for light and for dark.
look: build
	@mkdir -p build/look
	@$(ENV) $(LUA) spec/look/pictures.lua build/look
	@$(ENV) $(LUA) spec/look/pages.lua build/look
	@$(ENV) $(LUA) spec/look/automations.lua build/look
	@if command -v rsvg-convert >/dev/null; then for f in build/look/*.svg; do rsvg-convert -o $${f%.svg}.png $$f || exit 1; done; fi
	@ls build/look

doc: build
	$(ENV) $(LUA) -e 'io.write(require("fleet.cli.reference").markdown())' >$(B)/reference.md
	$(ENV) $(LUA) -e 'io.write(require("fleet.cli.typedefs").definitions())' >$(B)/types.lua
	mv $(B)/reference.md doc/reference.md
	mv $(B)/types.lua lua/fleet/types.lua

# ---- installing ----

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
# Our message definitions to C; the result is committed, so that a user needs no generator.
proto:
	cd src/signing/proto && protoc-c --c_out=. *.proto

clean:
	rm -rf build
