# What is compiled into what: the core, and the optional parts, shared objects of their own.

# The folders of the optional parts; each is built where pkg-config finds its libraries.
LIBRARIES_server = libmicrohttpd gnutls
LIBRARIES_redis  = hiredis libssl libcrypto
LIBRARIES_mqtt   = libmosquitto libssl libcrypto
LIBRARIES_stream = libssl libcrypto libprotobuf-c
# A module that is Lua has its name already: its part goes by another.
NAME_mqtt = mosquitto
KNOWN_PARTS := $(sort $(patsubst LIBRARIES_%,%,$(filter LIBRARIES_%,$(.VARIABLES))))
PARTS := $(foreach p,$(KNOWN_PARTS),$(and $(wildcard $(ROOT)/src/$p),$(shell $(PKG) --exists $(LIBRARIES_$p) 2>/dev/null && echo $p)))
LEFT_OUT := $(foreach p,$(filter-out $(PARTS),$(KNOWN_PARTS)),$(and $(wildcard $(ROOT)/src/$p),$p))

# The core is every other C file; generated messages are compiled through all.c.
OTHER_POLLER = $(if $(filter poll,$(POLLER)),%_epoll.c,%_poll.c)
SOURCES = $(filter-out $(KNOWN_PARTS:%=src/%/%) %.pb-c.c $(OTHER_POLLER),$(patsubst $(ROOT)/%,%,$(shell find $(ROOT)/src -name '*.c' | sort)))
OBJECTS = $(SOURCES:src/%.c=$(B)/obj/%.o)
part_objects = $(patsubst src/%.c,$(B)/obj/%.o,$(filter-out $(OTHER_POLLER),$(wildcard src/$1/*.c))) $(ALSO_$1:%=$(B)/obj/%.o)
# What a part shares with the core.
SHARED_BINDING = $(patsubst %,$(B)/obj/%.o,bind/lua/bind bind/lua/errors bind/lua/members bind/lua/names bind/lua/versions base/buf base/err base/fork base/nearest \
                   base/sigpipe)

# What a part needs of the core besides.
ALSO_server = base/listener base/sockets base/poller_$(POLLER)
ALSO_redis  = base/sockets
ALSO_stream = tables/authorities base/listener base/sockets base/poller_$(POLLER) base/text base/utf8 base/wire crypto/digest tables/telemetry signing/wire/proto/all stream/proto/all

name_of = $(or $(NAME_$1),$1)
PART_NAMES = $(foreach p,$(PARTS),$(call name_of,$p))

build: $(B)/lib/fleet/core.so $(PART_NAMES:%=$(B)/lib/fleet/%.so)
	@$(foreach p,$(LEFT_OUT),echo "fleet.$p is left out: pkg-config does not find $(LIBRARIES_$p)" >&2;)

# Other flags or another compiler make every object anew. -Werror changes none.
FLAGS = $(CC) $(filter-out -Werror,$(ALL_CFLAGS) $(INCLUDES) $(SHARED))
$(B)/flags: always
	@mkdir -p $(@D)
	@echo '$(subst ','\'',$(FLAGS))' | cmp -s - $@ || echo '$(subst ','\'',$(FLAGS))' >$@
.PHONY: always

$(B)/obj/%.o: src/%.c $(B)/flags
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) $(INCLUDES) -c -o $@ $<

$(B)/lib/fleet/core.so: $(OBJECTS)
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) $(SHARED) -o $@ $^ $(LIBS)

# For hosts that carry the core inside their program (src/bind/lua/fleet.h).
.PHONY: archive
archive: $(B)/lib/libfleet.a
$(B)/lib/libfleet.a: $(OBJECTS)
	@mkdir -p $(@D)
	@rm -f $@
	$(AR) rcs $@ $^

define part
$(B)/lib/fleet/$(call name_of,$1).so: $(call part_objects,$1) $(SHARED_BINDING)
	@mkdir -p $$(@D)
	$(CC) $(ALL_CFLAGS) $(SHARED) -o $$@ $$^ $(shell $(PKG) --libs $(LIBRARIES_$1))
endef
$(foreach p,$(PARTS),$(eval $(call part,$p)))

-include $(OBJECTS:.o=.d) $(foreach p,$(PARTS),$(patsubst %.o,%.d,$(call part_objects,$p)))
