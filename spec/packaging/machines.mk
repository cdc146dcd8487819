# The module for machines of 32 bits and for ARM, built and run on this one: clang compiles for the machine against Debian's
# packages for it, which are unpacked below build/machines and never installed. `make test-32` runs vectors, sessions, stores,
# tariffs, tokens, transfers and loop on i386;
# `make test-arm` runs vectors, stores and loop on armhf under qemu-user; `make test-arm MACHINE=arm64` likewise.

MACHINE      = armhf
MACHINE_DEPS = clang lld qemu-user pkg-config
MACHINE_PACKAGES = libc6-dev libgcc-$(shell gcc -dumpversion)-dev lua5.4 liblua5.4-dev libcurl4-openssl-dev libssl-dev lua-cjson libprotobuf-c-dev \
                   libmicrohttpd-dev libhiredis-dev libmosquitto-dev valgrind lua-cqueues lua-luv lua-busted tzdata ca-certificates

# The names that Debian, clang and qemu give to a machine.
MULTIARCH_i386  = i386-linux-gnu
MULTIARCH_armhf = arm-linux-gnueabihf
MULTIARCH_arm64 = aarch64-linux-gnu
TARGET_i386 = i686-linux-gnu
QEMU_i386   = i386
QEMU_armhf  = arm
QEMU_arm64  = aarch64
MULTIARCH = $(MULTIARCH_$(MACHINE))
AT        = $(ROOT)/build/machines/$(MACHINE)/system

MACHINE_CC  = clang --target=$(or $(TARGET_$(MACHINE)),$(MULTIARCH)) --sysroot=$(AT) -fuse-ld=lld -Wno-unused-command-line-argument
MACHINE_PKG = env PKG_CONFIG_SYSROOT_DIR=$(AT) PKG_CONFIG_LIBDIR=$(AT)/usr/lib/$(MULTIARCH)/pkgconfig:$(AT)/usr/share/pkgconfig pkg-config
MACHINE_LUA = $(ROOT)/build/machines/$(MACHINE)/bin/lua5.4
MACHINE_ENV = LUA_PATH="$(ROOT)/lua/?.lua;$(ROOT)/lua/?/init.lua;$(ROOT)/?.lua;$(AT)/usr/share/lua/5.4/?.lua;$(AT)/usr/share/lua/5.4/?/init.lua" \
              LUA_CPATH="$(ROOT)/build/$(MACHINE)/lib/?.so;$(AT)/usr/lib/$(MULTIARCH)/lua/5.4/?.so" \
              FLEET_BUILD="$(ROOT)/build/$(MACHINE)" PATH="$(dir $(MACHINE_LUA)):$$PATH"
ON_32 = $(addprefix spec/,async crypto http tables tariff time util) $(filter spec/signing/% spec/store/% spec/oauth/%,$(PORTABLE)) \
        spec/contract/foreign_values_spec.lua spec/contract/stores_spec.lua
# valgrind runs no program of another machine.
NOT_THERE = --filter-out="are compared without a decision"
# qemu-user takes tens of times as long: what depends on the machine's width, its chars and its alignment.
ON_ARM = $(addprefix spec/,$(addprefix signing/,codec_spec.lua message_spec.lua jws_spec.lua metadata_spec.lua receiver_spec.lua) \
           crypto/key_spec.lua time store/file_spec.lua store/memory_spec.lua store/sealed_spec.lua async)

.PHONY: test-32 test-arm machine-specs run-machine-specs
test-32:
	@$(MAKE) --no-print-directory machine-specs MACHINE=i386 SPECS="$(ON_32)"

test-arm:
	@$(MAKE) --no-print-directory machine-specs SPECS="$(ON_ARM)"

machine-specs:
	@$(MAKE) --no-print-directory deps DEPS="$(DEPS) $(MACHINE_DEPS)"
	@sh spec/packaging/machine_root.sh $(MACHINE) build/machines/$(MACHINE) $(MACHINE_PACKAGES) || { [ $$? = 3 ] && exit 0; exit 1; }; \
	$(MAKE) --no-print-directory run-machine-specs

run-machine-specs:
	@sh spec/packaging/machine_lua.sh $(MACHINE) $(AT) $(MACHINE_LUA) $(QEMU_$(MACHINE))
	@$(MAKE) --no-print-directory -s build probes BUILD=$(MACHINE) CC="$(MACHINE_CC)" PKG="$(MACHINE_PKG)"
	@$(MACHINE_ENV) $(MACHINE_LUA) $(AT)/usr/bin/busted $(NOT_THERE) $(SPECS)
