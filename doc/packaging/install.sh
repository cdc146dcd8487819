#!/bin/sh
# install.sh install | uninstall | list: the files of an installation. make gives the folders (LUADIR LIBDIR BINDIR DATADIR DOCDIR PREFIX), DESTDIR, the
# Lua (LUA LUA_ABI), the folder of the build (B), its optional parts (PARTS) and the folder of the HTML manual (HTML, empty without pandoc).
# What install writes, uninstall removes.
set -eu
made=$B/install

# A line per file: mode, target, source. Only the last may hold spaces, so that paths with spaces stay whole below "|".
files() {
  (cd lua && find fleet -name '*.lua' | sort) | sed "s#.*#644|$LUADIR/&|lua/&#"
  for part in core $PARTS; do echo "755|$LIBDIR/fleet/$part.so|$B/lib/fleet/$part.so"; done
  if [ -n "$DATADIR" ]; then library_files; fi
  if [ "$1" = list ] || is_our_command "$1"; then echo "755|$BINDIR/fleet|$made/fleet"; fi
  if [ -n "$DATADIR" ] && { [ "$1" != uninstall ] || is_last; }; then shared_files "$1"; fi
}

# What a folder of LuaRocks has no place for: of this Lua, and of all.
library_files() {
  echo "644|$PREFIX/lib/fleet-lua$LUA_ABI.a|$B/lib/libfleet.a"
  echo "644|$DATADIR/pkgconfig/fleet-lua$LUA_ABI.pc|$made/fleet.pc"
}

shared_files() {
  echo "644|$PREFIX/include/fleet/fleet.h|src/bind/lua/fleet.h"
  echo "644|$DATADIR/man/man1/fleet.1|$made/fleet.1"
  echo "644|$DATADIR/bash-completion/completions/fleet|$made/fleet.bash"
  echo "644|$DATADIR/zsh/site-functions/_fleet|$made/fleet.zsh"
  echo "644|$DATADIR/fish/vendor_completions.d/fleet.fish|$made/fleet.fish"
  for unit in doc/packaging/systemd/*; do echo "644|$PREFIX/lib/systemd/user/${unit##*/}|$unit"; done
  if [ "$1" = uninstall ] || [ "${HTML:-}" ]; then html_manual "${HTML:-build/manual}"; fi
  if [ "$1" = uninstall ] || [ ! "${HTML:-}" ]; then markdown_manual; fi
}

html_manual() {
  for page in README.md CHANGELOG.md doc/*.md doc/manual/*.md; do
    page=${page#doc/}
    echo "644|$DOCDIR/${page%.md}.html|$1/${page%.md}.html"
  done
  for file in doc/*.svg doc/manual/pictures/* doc/manual.css doc/search.js doc/index.js; do
    echo "644|$DOCDIR/${file#doc/}|$1/${file#doc/}"
  done
}

markdown_manual() {
  for file in README.md CHANGELOG.md doc/*.md doc/*.svg doc/manual/*.md doc/manual/pictures/*; do echo "644|$DOCDIR/$file|$file"; done
}

# One prefix may hold fleet for several Luas. What serves all goes with the last of them.
is_last() {
  for found in "${DESTDIR:-}$DATADIR"/pkgconfig/fleet-lua*.pc; do
    [ ! -e "$found" ] || [ "${found##*/}" = "fleet-lua$LUA_ABI.pc" ] || return 1
  done
}

# The command is one: that of Lua 5.4 takes the place of another, and no other takes its place.
is_our_command() {
  [ -n "$DATADIR" ] || return 0
  present=$(sed -n '1s#.*[ /]##p' "${DESTDIR:-}$BINDIR/fleet" 2>/dev/null) || present=
  case $1 in
    install) [ "$LUA" = lua5.4 ] || [ "$present" != lua5.4 ] ;;
    uninstall) [ "$present" = "$LUA" ] || is_last ;;
  esac
}

# What is written for this Lua and these folders.
write_made() {
  mkdir -p "$made"
  sed -e "1s#lua5\.4#$LUA#" -e "s#/lua/5\.4#/lua/$LUA_ABI#g" lua/fleet/cli/fleet >"$made/fleet"
  chmod 755 "$made/fleet"
  [ -n "$DATADIR" ] || return 0
  sed -e "s#@PREFIX@#$PREFIX#" -e "s#@LUA_ABI@#$LUA_ABI#g" -e "s#@LUA@#$LUA#" -e "s#@VERSION@#$VERSION#" doc/packaging/fleet.pc.in >"$made/fleet.pc"
  $RUN doc/generate/manpage.lua >"$made/fleet.1"
  for shell in bash zsh fish; do $RUN lua/fleet/cli/fleet completion "$shell" >"$made/fleet.$shell"; done
}

# each ACTION FUNCTION
each() {
  files "$1" | while IFS='|' read -r mode target source; do "$2" "$mode" "${DESTDIR:-}$target" "$source"; done
}

put() {
  mkdir -p "${2%/*}"
  cp "$3" "$2"
  chmod "$1" "$2"
}

# Folders of our own go when they are empty; those of the system stay.
remove() {
  rm -f "$2"
  folder=${2%/*}
  while case ${folder#"${DESTDIR:-}"} in */fleet | */fleet/*) true ;; *) false ;; esac && rmdir "$folder" 2>/dev/null; do
    folder=${folder%/*}
  done
}

show() {
  echo "$2"
}

case "$1" in
  install)
    write_made && each install put
    echo "installed for Lua $LUA_ABI: $LUADIR/fleet, $LIBDIR/fleet, the command $BINDIR/fleet${DATADIR:+, the manual in $DOCDIR}"
    ;;
  uninstall) each uninstall remove ;;
  list) each list show ;;
esac
