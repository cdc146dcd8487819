# The manual as HTML in build/manual: static pages that need no server, made by pandoc from the Markdown. Their order is that of doc/manual.md.

PAGES    = $(patsubst doc/%,%,$(filter-out doc/packaging/%,$(wildcard doc/*.md doc/manual/*.md)))
PICTURES = $(patsubst doc/%,%,$(wildcard doc/*.svg doc/manual/pictures/*))
HTML     = build/manual
MAKER    = doc/generate/pages

.PHONY: pages
pages: $(PAGES:%.md=$(HTML)/%.html) $(HTML)/README.html $(HTML)/CHANGELOG.html $(PICTURES:%=$(HTML)/%) $(HTML)/manual.css $(HTML)/search.js $(HTML)/index.js

PANDOC = pandoc -f gfm -t html5 --template $(MAKER)/template.html --lua-filter $(MAKER)/page.lua --toc --toc-depth=3 -M pagetitle=fleet

$(HTML)/%.html: doc/%.md $(MAKER)/template.html $(MAKER)/page.lua doc/manual.md
	@mkdir -p $(@D)
	@$(PANDOC) -M page=$*.html -V root=$(if $(findstring /,$*),../) -o $@ $<

$(HTML)/README.html $(HTML)/CHANGELOG.html: $(HTML)/%.html: %.md $(MAKER)/template.html $(MAKER)/page.lua doc/manual.md
	@mkdir -p $(@D)
	@$(PANDOC) -M page=$*.html -o $@ $<

$(HTML)/manual.css $(HTML)/search.js: $(HTML)/%: $(MAKER)/%
	@mkdir -p $(@D)
	@cp $< $@

$(PICTURES:%=$(HTML)/%): $(HTML)/%: doc/%
	@mkdir -p $(@D)
	@cp $< $@

$(HTML)/index.js: $(PAGES:%=doc/%) $(MAKER)/index.lua
	@mkdir -p $(@D)
	@$(ENV) $(LUA) $(MAKER)/index.lua $(PAGES) >$@
