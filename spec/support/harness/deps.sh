#!/bin/sh
# deps.sh [--announce] PACKAGE …: installs the Debian packages that are missing, as root or with sudo; without apt-get it prints what
# is needed. Services that come with a package are neither started nor enabled, and the program `lua` stays the one it was.
# --announce only says what would be installed and how much of the disk it takes.
# With clang come its sanitizers and fuzzers: they are in a package with clang's number in its name, which clang does not pull in.
announce=
[ "$1" != --announce ] || { announce=yes && shift; }
missing=
for package in "$@"; do
  dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing="$missing $package"
done
runtime=
case " $* " in
  *" clang "*) [ -e "$(clang -print-file-name="libclang_rt.fuzzer-$(uname -m).a" 2>/dev/null)" ] || runtime="clang's sanitizers" ;;
esac
[ -n "$missing$runtime" ] || exit 0
if ! command -v apt-get >/dev/null; then
  echo "Please install the equivalents of:$missing $runtime"
  exit 1
fi
as=
if [ "$(id -u)" != 0 ]; then
  as=sudo
  if ! command -v sudo >/dev/null; then
    echo "These packages are missing. Install them as root:"
    echo "  apt-get install$missing"
    exit 1
  fi
fi
$as apt-get update -qq || exit 1
[ -z "$runtime" ] || missing="$missing $(apt-cache depends clang | sed -n 's/.*Depends: clang-\([0-9]*\)$/libclang-rt-\1-dev/p')"

if [ "$announce" ]; then
  echo "These packages will be installed, with what they depend on:"
  echo "$missing" | fold -s -w 100 | sed 's/^ */  /'
  $as apt-get install --no-install-recommends --assume-no $missing 2>/dev/null | grep -E '^(Need to get|After this operation)' | sed 's/^/  /'
  echo "Press Ctrl-C within ten seconds to stop."
  [ ! -t 1 ] || sleep 10
  exit 0
fi

echo "Installing:$missing"
policy=/usr/sbin/policy-rc.d
lua=$(readlink /etc/alternatives/lua-interpreter)
compiler=$(readlink /etc/alternatives/lua-compiler)
units() { find /etc/systemd/system/multi-user.target.wants /etc/systemd/system/redis.service -type l 2>/dev/null | sort; }
before=$(units)
own_policy=
if [ ! -e $policy ]; then
  own_policy=yes
  trap '$as rm -f $policy' EXIT INT TERM
  printf '#!/bin/sh\nexit 101\n' | $as tee $policy >/dev/null && $as chmod 755 $policy
fi
DEBIAN_FRONTEND=noninteractive $as apt-get install -y -qq --no-install-recommends $missing >/dev/null
status=$?
[ -z "$own_policy" ] || $as rm -f $policy
# A service that a package has enabled is disabled again.
for unit in $(units); do
  printf '%s\n' "$before" | grep -qxF "$unit" || $as rm -f "$unit"
done
[ -z "$lua" ] || [ "$(readlink /etc/alternatives/lua-interpreter)" = "$lua" ] || $as update-alternatives --quiet --set lua-interpreter "$lua"
[ -z "$compiler" ] || [ "$(readlink /etc/alternatives/lua-compiler)" = "$compiler" ] || $as update-alternatives --quiet --set lua-compiler "$compiler"
exit $status
