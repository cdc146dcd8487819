# What a release is made of: the source archive, the Debian package, the rock.

VERSION := $(shell sed -n 's/return "\(.*\)"/\1/p' $(ROOT)/lua/fleet/util/version.lua)
DIST     = build/dist

.PHONY: dist rock deb newcomer newcomer-bare autopkgtest

# The committed tree; the same commit gives the same bytes.
dist:
	@mkdir -p $(DIST)
	git archive --format=tar --prefix=fleet-$(VERSION)/ HEAD | gzip -n9 >$(DIST)/fleet-$(VERSION).tar.gz
	@echo "$(DIST)/fleet-$(VERSION).tar.gz"

# A source rock of the committed tree, to be installed elsewhere: luarocks install FILE. For a release: SOURCE_URL=https://…/fleet-VERSION.tar.gz
# (where the archive of make dist can be fetched), HOMEPAGE= and ISSUES= are written into the rockspec.
COMMA = ,
ROCK = $(DIST)/fleet-$(VERSION)-1
rock: dist
	@sed 's|file://build/dist/|file://$(abspath $(DIST))/|' fleet-$(VERSION)-1.rockspec >$(ROCK).rockspec
	@cd $(DIST) && luarocks pack fleet-$(VERSION)-1.rockspec >/dev/null
	@sed -i -e '$(if $(SOURCE_URL),s|url = "[^"]*"|url = "$(SOURCE_URL)"|)' \
	  -e '$(if $(HOMEPAGE),s|^description = {|&\n  homepage = "$(HOMEPAGE)"$(COMMA)|)' -e '$(if $(ISSUES),s|^description = {|&\n  issues_url = "$(ISSUES)"$(COMMA)|)' $(ROCK).rockspec
	@cd $(DIST) && luarocks lint fleet-$(VERSION)-1.rockspec && zip -q fleet-$(VERSION)-1.src.rock fleet-$(VERSION)-1.rockspec
	@echo "$(ROCK).src.rock"

# Whoever uploads the package puts an address of his own, and the number of the request that it answers.
NOT_OURS = bogus-mail-host,bogus-mail-host-in-debian-changelog,initial-upload-closes-no-bugs

# A Debian package of the committed tree, built in a copy.
deb: dist
	@$(MAKE) --no-print-directory deps DEPS="$(BUILD_DEPS) debhelper lintian fakeroot"
	@rm -rf build/deb && mkdir -p build/deb
	@cp $(DIST)/fleet-$(VERSION).tar.gz build/deb/fleet_$(VERSION).orig.tar.gz
	@tar -C build/deb -xzf $(DIST)/fleet-$(VERSION).tar.gz
	@cp -r build/deb/fleet-$(VERSION)/doc/packaging/debian build/deb/fleet-$(VERSION)/debian
	cd build/deb/fleet-$(VERSION) && dpkg-buildpackage -us -uc
	lintian --fail-on error,warning --profile debian --allow-root --suppress-tags $(NOT_OURS) build/deb/*.changes
	@ls build/deb/*.deb

# From a clone to a first command and back, in a fresh folder and with an empty environment.
newcomer:
	@$(MAKE) --no-print-directory deps
	@sh spec/packaging/newcomer.sh $(ROOT)/build/newcomer

# The same with `make test`, in Debian's smallest system with git and make, whose hosts file names ::1. It says so and passes where the
# system allows no such folder. --kill-child ends what the steps have started.
BARE = build/bare/system
IN_BARE = unshare --mount --pid --fork --kill-child --mount-proc=$(BARE)/proc

newcomer-bare:
	@$(MAKE) --no-print-directory deps DEPS="mmdebstrap git"
	@sh spec/packaging/bare_root.sh $(BARE) git make ca-certificates || { [ $$? = 3 ] && exit 0; exit 1; }; \
	git clone -q --bare . $(BARE)/source.git && cp spec/packaging/newcomer.sh $(BARE) && \
	$(IN_BARE) sh -c 'mount -t devpts devpts $(BARE)/dev/pts; exec "$$@"' - chroot $(BARE) env -i WITH_TESTS=1 PATH=/usr/sbin:/usr/bin:/sbin:/bin sh /newcomer.sh /root/newcomer /source.git

# The Debian package's own test: the demo with what is installed from it.
autopkgtest: deb
	@$(MAKE) --no-print-directory deps DEPS="mmdebstrap autopkgtest"
	@sh spec/packaging/bare_root.sh $(BARE) ca-certificates || { [ $$? = 3 ] && exit 0; exit 1; }; \
	unshare --mount sh -c 'mount -t proc proc $(BARE)/proc && exec "$$@"' - \
	  autopkgtest --apt-upgrade --no-built-binaries build/deb/*.deb build/deb/fleet-$(VERSION)/ -- chroot $(BARE)
