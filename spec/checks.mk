# Everything that builds and runs checks; the Makefile above it holds what a user needs. VARIANT chooses flags and the folder
# below build/: plain, asan, tsan, and fault, whose file steps can be made to kill the process.

TEST_DEPS = lua-busted lua-cjson lua-check lua5.1 lua-cqueues lua-luv nginx-light openssl systemd lua-socket binutils locales procps \
            clang clang-format llvm cppcheck valgrind protobuf-c-compiler luarocks chromium git zsh fish pandoc \
            libmosquitto-dev mosquitto libhiredis-dev redis-server \
            lua5.3 liblua5.3-dev liblua5.1-0-dev luajit2 libluajit2-5.1-dev \
            lua-copas lua-lgi neovim haproxy libnginx-mod-http-lua libglib2.0-dev
DEPS      = $(BUILD_DEPS) $(TEST_DEPS)

HARNESS   = spec/support/harness

# ---- specs ----

# A probe lets a spec call C functions that no public call reaches; never installed.
PROBES = $(patsubst spec/support/probes/%.c,$(B)/lib/probe_%.so,$(wildcard spec/support/probes/*.c))

$(B)/lib/probe_%.so: spec/support/probes/%.c $(OBJECTS)
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) $(INCLUDES) $(SHARED) -o $@ $< $(OBJECTS) $(LIBS)

-include $(PROBES:.so=.d)

ENV = LUA_PATH="$(ROOT)/lua/?.lua;$(ROOT)/lua/?/init.lua;$(ROOT)/?.lua;;" LUA_CPATH="$(ROOT)/$(B)/lib/?.so;;" \
      FLEET_BUILD="$(ROOT)/$(B)"
BUSTED = $(LUA) /usr/bin/busted
SPECS  = spec

# Each folder of the wanted files has a process of its own, so that all cores work, and each file of the folders in SPLIT. What
# waits for others longest begins, then what works longest: one process more than there are cores.
JOBS    = $(shell nproc)
SPLIT   = automation contract hosts packaging promise signing torture
LONGEST = torture.% hosts.% packaging.% mqtt promise.% automation.% contract.% cli oauth proxy store signing.% sim
FILES   := $(sort $(foreach s,$(SPECS),$(if $(filter %.lua,$s),$s,$(wildcard $s/*_spec.lua $s/*/*_spec.lua))))
FOLDERS := $(sort $(foreach f,$(FILES),$(word 2,$(subst /, ,$f))))
PARTED  := $(filter-out $(SPLIT),$(FOLDERS)) $(foreach s,$(SPLIT),$(patsubst spec/$s/%_spec.lua,$s.%,$(filter spec/$s/%,$(FILES))))
GROUPS  := $(foreach l,$(LONGEST),$(filter $l,$(PARTED))) $(filter-out $(LONGEST),$(PARTED))
files_of = $(if $(findstring .,$1),spec/$(subst .,/,$1)_spec.lua,$(filter spec/$1/%,$(FILES)))
IN_PARALLEL = $(MAKE) --no-print-directory -s -k -j$(shell expr $(JOBS) + 1) --output-sync=target
# What the specs print is searched for their secrets. RUNNER: what busted runs under.
OVERHEARD = $(ENV) sh spec/support/harness/overheard.sh $(B)/printed
RUNNER    =

.PHONY: probes specs test-all checked-specs present-specs run-specs killed killed-with-faults

# Everything, for contributors: names what it installs and how large that is, then runs all specs.
test-all:
	@sh $(HARNESS)/deps.sh --announce $(DEPS)
	@$(MAKE) --no-print-directory deps
	@$(MAKE) --no-print-directory checked-specs

# The specs of the module itself, then what the others wait for.
present-specs:
	@rm -rf $(B)/printed; status=0; $(IN_PARALLEL) run-specs || status=1; sh $(HARNESS)/total.sh $(B)/printed; exit $$status

checked-specs:
	@$(MAKE) --no-print-directory -s build probes
	luacheck -q lua spec examples doc/generate
	@$(MAKE) --no-print-directory -s build probes VARIANT=fault
	@$(IN_PARALLEL) killed-with-faults run-specs

specs: build probes
	@$(IN_PARALLEL) run-specs

run-specs: $(GROUPS:%=specs-of-%)
	@$(if $(strip $(GROUPS)),:,echo "SPECS=$(SPECS) names no spec" >&2; exit 1)

$(GROUPS:%=specs-of-%): specs-of-%:
	@mkdir -p $(B)/printed
	@$(OVERHEARD)/$* $(RUNNER) $(BUSTED) $(call files_of,$*) </dev/null

# Specs of hosts and of installations build for every Lua; two that build at once would read what the other writes.
$(patsubst %,specs-of-%,$(filter hosts% packaging%,$(GROUPS))): built-for-all
.PHONY: built-for-all
built-for-all:
	@for v in 5.4 $(VERSIONS); do ! $(PKG) --exists lua$$v || \
	  $(MAKE) --no-print-directory -s build archive VARIANT=plain LUA_VERSION=$$v || exit 1; done

probes: $(PROBES)

# kill -9 at every step of a write
killed:
	$(ENV) FLEET_FIGURES=1 $(BUSTED) spec/store/file_spec.lua spec/store/damage_spec.lua spec/oauth/tokens_process_spec.lua

killed-with-faults:
	@$(MAKE) --no-print-directory killed VARIANT=fault

# ---- the other versions of Lua: `make test-versions`, or test-jit and the like; doc/manual/versions.md ----

VERSIONS = 5.1 5.3 jit
.PHONY: test-versions portable-specs $(VERSIONS:%=test-%) $(VERSIONS:%=run-%)
VERSION_DEPS = lua5.1 liblua5.1-0-dev lua5.3 liblua5.3-dev luajit2 libluajit2-5.1-dev
# What is left out, and why: doc/manual/versions.md.
PORTABLE = $(addprefix spec/,async budget call chart client confirm crypto energy http registration resources server stream tables tariff time util \
  $(addprefix automation/,charge_by_spec.lua charge_schedule_spec.lua ensure_spec.lua house_spec.lua notices_spec.lua prices_spec.lua \
    restart_spec.lua runner_spec.lua surplus_charge_spec.lua sync_schedules_spec.lua tariff_sync_spec.lua together_spec.lua) \
  $(addprefix contract/,automations_spec.lua foreign_values_spec.lua interface_spec.lua stores_spec.lua versions_spec.lua) \
  $(addprefix metrics/,events_spec.lua registry_spec.lua) \
  $(addprefix mqtt/,bridge_spec.lua commands_spec.lua day_spec.lua discovery_spec.lua link_spec.lua) \
  $(addprefix oauth/,authorize_spec.lua both_expired_spec.lua form_spec.lua token_spec.lua tokens_network_spec.lua tokens_spec.lua) \
  $(addprefix promise/,at_most_once_spec.lua embedding_spec.lua memory_spec.lua secret_leaks_spec.lua signed_at_most_once_spec.lua \
    $(if $(filter 5.3,$(LUA_VERSION)),allocation_failure_spec.lua)) \
  $(addprefix proxy/,at_most_once_spec.lua audit_spec.lua callers_spec.lua forward_spec.lua hostile_spec.lua listening_spec.lua once_spec.lua queue_spec.lua recipes_spec.lua rows_spec.lua service_spec.lua) \
  $(addprefix signing/,codec_spec.lua command_spec.lua decisions_spec.lua jws_spec.lua message_spec.lua metadata_spec.lua processes_spec.lua receiver_spec.lua \
    session_api_spec.lua session_pool_spec.lua session_spec.lua transport_spec.lua) \
  $(addprefix sim/,commands_spec.lua energy_spec.lua faults_spec.lua garage_spec.lua matrix_spec.lua oauth_spec.lua pages_spec.lua physics_spec.lua \
    sample_spec.lua service_spec.lua sharing_spec.lua signed_data_spec.lua signed_forms_spec.lua signed_spec.lua sim_spec.lua states_spec.lua time_spec.lua walk_spec.lua) \
  $(addprefix store/,adapted_spec.lua damage_spec.lua disk_spec.lua file_spec.lua memory_spec.lua redis_spec.lua sealed_spec.lua) \
  $(addprefix telemetry/,attacked_redis_spec.lua attacked_spec.lua behind_spec.lua clock_spec.lua looks_spec.lua outputs_spec.lua \
    proxy_protocol_spec.lua teslamate_spec.lua view_spec.lua $(if $(filter-out 5.1,$(LUA_VERSION)),bad_day_spec.lua receiver_spec.lua)))

test-versions:
	@$(MAKE) --no-print-directory deps DEPS="$(DEPS) $(VERSION_DEPS)"
	@$(IN_PARALLEL) $(VERSIONS:%=run-%) run-poll

# The portable part on 5.4 with the poller for systems without epoll.
.PHONY: test-poll run-poll
test-poll:
	@$(MAKE) --no-print-directory deps
	@$(MAKE) --no-print-directory run-poll

run-poll:
	@$(MAKE) --no-print-directory -s build probes POLLER=poll CFLAGS="$(CFLAGS) -Werror"
	@$(MAKE) --no-print-directory -s -k portable-specs POLLER=poll

$(VERSIONS:%=test-%): test-%:
	@$(MAKE) --no-print-directory deps DEPS="$(DEPS) $(VERSION_DEPS)"
	@$(IN_PARALLEL) run-$*

$(VERSIONS:%=run-%): run-%:
	@$(MAKE) --no-print-directory -s build probes LUA_VERSION=$* CFLAGS="$(CFLAGS) -Werror"
	@$(MAKE) --no-print-directory -s -k portable-specs LUA_VERSION=$*

# SPECS= names others, those that failed for one.
portable-specs:
	@$(MAKE) --no-print-directory -s -k run-specs SPECS="$(if $(filter-out spec,$(SPECS)),$(SPECS),$(PORTABLE))"

# ---- sanitizers: the same suite, built with them ----

.PHONY: asan sanitized-specs tsan threads run-threads valgrind examined-specs

SANITIZE = ASAN_OPTIONS=detect_leaks=1:abort_on_error=1:symbolize=1 LSAN_OPTIONS=suppressions=$(ROOT)/$(HARNESS)/lsan.supp:print_suppressions=0 \
           UBSAN_OPTIONS=print_stacktrace=1 LD_PRELOAD="$(shell $(CC) -print-file-name=libasan.so) $(shell $(CC) -print-file-name=libubsan.so)"

asan:
	@$(MAKE) --no-print-directory deps
	@$(MAKE) --no-print-directory -s build probes VARIANT=asan
	@$(IN_PARALLEL) sanitized-specs VARIANT=asan

sanitized-specs: RUNNER = env $(SANITIZE)
sanitized-specs: run-specs

tsan:
	@$(MAKE) --no-print-directory deps
	@$(MAKE) --no-print-directory -s build threads VARIANT=tsan
	@$(MAKE) --no-print-directory run-threads VARIANT=tsan

threads: $(B)/threads
run-threads:
	TSAN_OPTIONS=suppressions=$(ROOT)/$(HARNESS)/tsan.supp:halt_on_error=1 $(ENV) $(B)/threads

# Two states in two threads, and thousands of openings and closings: a host in C.
$(B)/threads: $(HARNESS)/threads.c
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) $(INCLUDES) -o $@ $< $(shell $(PKG) --libs lua$(LUA_VERSION)) -lpthread

valgrind:
	@$(MAKE) --no-print-directory deps
	@$(MAKE) --no-print-directory -s build probes
	@VALGRIND=1 $(IN_PARALLEL) examined-specs

examined-specs: RUNNER = valgrind -q --error-exitcode=99 --suppressions=$(HARNESS)/valgrind.supp --child-silent-after-fork=yes
examined-specs: run-specs

# ---- the long forms: REQUESTS to the server and the simulator, SECONDS of workers on a Redis, a thousand cars on a broker,
# CARS that stream for ten minutes and others whose receiver and Redis are killed, two proxies for SECONDS, STEPS in random order, every pair of faults, 2,000 openings in threads, KILLS of a proxy, kill -9 at
# every step of a write ----

.PHONY: torture
REQUESTS = 1000000
STEPS    = 30000
WORLDS   = 2000
PROCESSES = $(shell nproc)
SECONDS  = 900
KILLS    = 40
CARS     = 10000

torture:
	@$(MAKE) --no-print-directory deps
	@$(MAKE) --no-print-directory -s build probes
	$(ENV) $(LUA) spec/torture/server.lua $(REQUESTS)
	$(ENV) $(LUA) spec/torture/sim.lua $(REQUESTS)
	$(ENV) $(LUA) spec/torture/redis.lua $(SECONDS)
	$(ENV) $(LUA) spec/torture/proxy.lua $(SECONDS)
	$(ENV) $(LUA) spec/torture/mqtt.lua 1000
	$(ENV) $(LUA) spec/torture/stream.lua 4000 200
	$(ENV) $(LUA) spec/torture/stream_many.lua $(CARS) 600
	$(ENV) $(LUA) spec/torture/stream_killed.lua 600 50
	$(ENV) FLEET_STEPS=$(STEPS) $(BUSTED) spec/sim/property_spec.lua
	$(ENV) FLEET_ALL=1 $(BUSTED) spec/promise/signed_at_most_once_spec.lua spec/promise/memory_spec.lua spec/signing/session_spec.lua
	@$(MAKE) --no-print-directory -s threads
	$(ENV) $(B)/threads $(HARNESS)/threads.lua 8 250
	@$(MAKE) --no-print-directory worlds
	$(ENV) FLEET_FIGURES=1 FLEET_KILLS=$(KILLS) FLEET_KEYS=200 $(BUSTED) spec/proxy/killed_spec.lua
	@$(MAKE) --no-print-directory -s build probes VARIANT=fault
	@$(MAKE) --no-print-directory killed VARIANT=fault

# Every automation over a month of WORLDS random worlds, shared by as many processes as there are processors.
.PHONY: worlds
worlds: build
	@seq 1 $(PROCESSES) | xargs -P $(PROCESSES) -I{} env $(ENV) $(LUA) spec/torture/worlds.lua $(WORLDS) {}/$(PROCESSES)

# ---- fuzzing: RUNS executions of every target, with the address sanitizer ----

.PHONY: fuzz
RUNS    = 200000
FUZZERS = $(patsubst spec/fuzz/fuzz_%.c,%,$(wildcard spec/fuzz/fuzz_*.c))
FUZZ_OBJECTS = $(SOURCES:src/%.c=build/fuzz-obj/%.o)
FUZZ_FLAGS   = -std=c11 -D_GNU_SOURCE -g -O1 -fsanitize=address,undefined -fno-sanitize-recover=undefined -Isrc -MMD -MP

fuzz:
	@$(MAKE) --no-print-directory deps
	@$(IN_PARALLEL) $(FUZZERS:%=fuzz-%)

.PRECIOUS: build/fuzz/%
.SECONDARY: $(FUZZ_OBJECTS)
fuzz-%: build/fuzz/%
	@mkdir -p build/corpus/$*
	$< -runs=$(RUNS) -max_total_time=600 -verbosity=0 -print_final_stats=1 build/corpus/$* $(wildcard spec/fuzz/corpus/$*)

build/fuzz-obj/%.o: src/%.c
	@mkdir -p $(@D)
	clang $(FUZZ_FLAGS) -fsanitize=fuzzer-no-link $(INCLUDES) -c -o $@ $<

# What a target needs that is no part of the core.
FUZZ_LIBS_redis = $(shell $(PKG) --libs hiredis)
build/fuzz/redis: build/fuzz-obj/redis/replies.o build/fuzz-obj/redis/push.o
build/fuzz/envelope: build/fuzz-obj/stream/envelope.o
build/fuzz/frames: build/fuzz-obj/stream/frames.o
build/fuzz/upgrade: build/fuzz-obj/stream/upgrade.o
build/fuzz/proxy: build/fuzz-obj/stream/proxy.o
build/fuzz/payload: build/fuzz-obj/stream/push.o build/fuzz-obj/stream/payload.o build/fuzz-obj/stream/published.o build/fuzz-obj/stream/proto/all.o

build/fuzz/%: spec/fuzz/fuzz_%.c $(FUZZ_OBJECTS)
	@mkdir -p $(@D)
	clang $(FUZZ_FLAGS) -fsanitize=fuzzer $(INCLUDES) -o $@ $(filter %.c %.o,$^) $(LIBS) $(FUZZ_LIBS_$*) $(shell $(PKG) --libs lua$(LUA_VERSION))

-include $(FUZZ_OBJECTS:.o=.d) $(wildcard build/fuzz-obj/redis/*.d build/fuzz-obj/stream/*.d)

# ---- checks that need no run ----

.PHONY: lint
LINT_SOURCES = $(filter-out src/signing/wire/proto/% src/stream/proto/%,$(shell find src spec/support/probes spec/fuzz spec/bench $(HARNESS) -name '*.c' | sort))
# What knows Lua, for clang with the headers of the other versions; gcc compiles it in test-versions.
LINT_BINDINGS = $(shell grep -l lua_State $(filter src/%,$(LINT_SOURCES)))
LINT_HEADERS = $(filter-out src/signing/wire/proto/% src/stream/proto/%,$(shell find src -name '*.h' | sort))

lint:
	@$(MAKE) --no-print-directory deps
	@echo 'gcc, clang'; for c in gcc clang; do printf '%s\n' $(LINT_SOURCES) | xargs -P$(JOBS) -I{} \
	  $$c -std=c11 -D_GNU_SOURCE -O2 $(WARNINGS) -Werror -Isrc $(INCLUDES) -c -o /dev/null {} || exit 1; done
	@echo 'clang, with the headers of the other versions of Lua'; for v in lua5.1 lua5.3 luajit; do flags=$$($(PKG) --cflags $$v) || exit 1; printf '%s\n' $(LINT_BINDINGS) | xargs -P$(JOBS) -I{} \
	  clang -std=c11 -D_GNU_SOURCE $(WARNINGS) -Werror -Isrc $$flags $(filter-out %/lua$(LUA_VERSION),$(INCLUDES)) -fsyntax-only {} || exit 1; \
	  done
	@echo clang-format; clang-format --dry-run -Werror $(LINT_SOURCES) $(LINT_HEADERS)
	@echo cppcheck; cppcheck -q --std=c11 --enable=warning,portability --inline-suppr --error-exitcode=1 --suppress=missingIncludeSystem \
	  -Isrc -j$(JOBS) $(filter src/%,$(LINT_SOURCES))
	luacheck -q lua spec examples doc/generate
	@for f in $$(find lua -name '*.lua'); do luac5.1 -p $$f || exit 1; done

# ---- small mistakes that the specs must notice ----

.PHONY: mutants
MUTANTS =

mutants:
	@$(MAKE) --no-print-directory deps
	@$(LUA) spec/mutants/run.lua build/mutants $(MUTANTS)

# ---- measuring, pictures, generated files ----

.PHONY: bench look doc proto mqtt-day streamed-months

# The day that spec/mqtt/day_spec.lua compares with, after a change that is meant.
mqtt-day: build
	$(ENV) $(LUA) -e 'require("spec.support.fixtures.mqtt_day").write "spec/mqtt/day.tsv"'

# The table of doc/manual/rehearsal.md: a month of each automation by looks and by the stream.
streamed-months: build
	$(ENV) $(LUA) -e 'require("spec.support.fixtures.streamed_months").write "doc/manual/rehearsal.md"'

# What a real Home Assistant shows of the bridge and commands through it; skipped with a sentence where its Python is not.
.PHONY: home-assistant
home-assistant: build
	@eval "$$($(MAKE) -s env)" && FLEET_ROOT="$(CURDIR)" sh spec/home_assistant/run.sh build/home-assistant

# The pictures of Home Assistant in the manual, taken in Chromium from the running program after make home-assistant.
HA_PYTHON = build/home-assistant/venv/bin/python
.PHONY: home-assistant-picture
home-assistant-picture: build
	@$(HA_PYTHON) -m pip install -q "$$(grep -rh '^home-assistant-frontend==' build/home-assistant/venv/lib/*/site-packages/homeassistant/package_constraints.txt)"
	@rm -rf build/home-assistant/picture; eval "$$($(MAKE) -s env)" && FLEET_ROOT="$(CURDIR)" $(HA_PYTHON) spec/home_assistant/picture.py \
	  build/home-assistant/picture doc/manual/pictures/home-assistant.png doc/manual/pictures/home-assistant-energy.png

# A yardstick in C beside the Lua that compares with it.
$(B)/bench/sign: spec/bench/sign.c $(filter-out $(B)/obj/bind/%,$(OBJECTS))
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) $(INCLUDES) -o $@ $^ $(LIBS)

$(B)/bench/proxy: spec/bench/proxy.c $(filter-out $(B)/obj/bind/%,$(OBJECTS))
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) $(INCLUDES) -o $@ $^ $(LIBS) -lmicrohttpd

$(B)/bench/stream: spec/bench/stream.c $(B)/obj/stream/envelope.o $(B)/obj/base/buf.o $(B)/obj/base/err.o $(B)/obj/base/text.o
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) $(INCLUDES) -o $@ $^ -lssl -lcrypto -lm

$(B)/bench/request: spec/bench/request.c
	@mkdir -p $(@D)
	$(CC) -std=c11 -D_GNU_SOURCE $(WARNINGS) $(CFLAGS) $(INCLUDES) $(LUA_CFLAGS) -o $@ $< -lcurl $(shell pkg-config --libs lua5.4)

$(B)/bench/reads: spec/bench/reads.c
	@mkdir -p $(@D)
	$(CC) -std=c11 -D_GNU_SOURCE $(WARNINGS) $(CFLAGS) -o $@ $<

# PEERS=1 compares with other libraries, too: none of them is needed for anything else.
PEER_DEPS = lua-http lua-curl lua-socket python3-requests

bench:
	@$(MAKE) --no-print-directory deps DEPS="$(DEPS) $(if $(PEERS),$(PEER_DEPS))"
	@$(MAKE) --no-print-directory -s build probes $(addprefix $(B)/bench/,sign request proxy reads stream)
	@$(ENV) $(LUA) spec/bench/run.lua
	@$(if $(PEERS),$(ENV) $(LUA) spec/bench/peers.lua,:)

# Instruction counts of the hot paths: written, and compared with what is written.
.PHONY: bench-counts check-counts
bench-counts check-counts:
	@$(MAKE) --no-print-directory deps
	@$(MAKE) --no-print-directory -s build
	@$(ENV) $(LUA) spec/bench/counts.lua $(if $(filter check-counts,$@),check,write)

# For a reviewer: lines by room, and the functions, files and moves of four calls. LIST=read prints those of the read in order.
.PHONY: walks print-walks
walks:
	@$(MAKE) --no-print-directory -s build VARIANT=walks
	@$(MAKE) --no-print-directory -s print-walks VARIANT=walks

print-walks: $(B)/lib/walk_entered.so
	@$(ENV) LD_PRELOAD=$(ROOT)/$< $(LUA) spec/walks/walks.lua

$(B)/lib/walk_entered.so: spec/walks/entered.c
	@mkdir -p $(@D)
	$(CC) -std=c11 $(WARNINGS) $(INCLUDES) -g -fPIC -shared -o $@ $<

# Pictures for the eye: every one that the module draws and every page of the simulator, for light and for dark.
look: build
	@mkdir -p build/look
	@$(ENV) $(LUA) spec/look/pictures.lua build/look
	@$(ENV) $(LUA) spec/look/pages.lua build/look
	@$(ENV) $(LUA) spec/look/automations.lua build/look
	@if command -v rsvg-convert >/dev/null; then for f in build/look/*.svg; do rsvg-convert -o $${f%.svg}.png $$f || exit 1; done; fi
	@ls build/look

doc: build
	$(ENV) $(LUA) -e 'require("doc.generate.automations").write()'
	$(ENV) $(LUA) -e 'io.write(require("doc.generate.reference").markdown())' >$(B)/reference.md
	$(ENV) $(LUA) -e 'io.write(require("doc.generate.types").definitions())' >$(B)/types.lua
	$(ENV) $(LUA) -e 'io.write(require("doc.generate.drawing").svg())' >$(B)/architecture.svg
	$(ENV) $(LUA) -e 'require("doc.generate.mqtt").write()'
	$(ENV) $(LUA) -e 'require("doc.generate.telemetry").write()'
	$(ENV) $(LUA) -e 'io.write(require("doc.generate.troubleshooting").markdown())' >$(B)/troubleshooting.md
	mv $(B)/troubleshooting.md doc/manual/troubleshooting.md
	mv $(B)/architecture.svg doc/architecture.svg
	$(ENV) $(LUA) -e 'io.write(require("fleet.sim.schema").text())' >$(B)/garage.schema.json
	mv $(B)/garage.schema.json doc/garage.schema.json
	mv $(B)/reference.md doc/reference.md
	mv $(B)/types.lua lua/fleet/types.lua
	$(ENV) $(LUA) -e 'io.write(require("doc.generate.api").markdown())' >$(B)/api.md
	mv $(B)/api.md doc/api.md
	@if command -v pandoc >/dev/null; then $(MAKE) --no-print-directory -s pages; else echo "no HTML: install pandoc" >&2; fi

# Our message definitions to C; the result is committed, so that a user needs no generator.
proto:
	cd src/signing/wire/proto && protoc-c --c_out=. *.proto
	cd src && protoc-c --c_out=. stream/proto/*.proto
