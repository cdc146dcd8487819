#!/bin/sh
# machine_lua.sh MACHINE ROOT PROGRAM QEMU: writes PROGRAM, which runs the Lua of that machine: i386 on the processor itself where it
# is an amd64, anything else under qemu-user.
set -eu
machine=$1 root=$2 program=$3
run="qemu-$4 -L $root"
if [ "$machine $(uname -m)" = "i386 x86_64" ]; then
  run="$root/lib/ld-linux.so.2 --library-path $root/lib/i386-linux-gnu:$root/usr/lib/i386-linux-gnu"
fi
mkdir -p "${program%/*}"
printf '#!/bin/sh\nexec %s %s/usr/bin/lua5.4 "$@"\n' "$run" "$root" >"$program"
chmod 755 "$program"
"$program" -e 'assert(math.maxinteger == 9223372036854775807)'
