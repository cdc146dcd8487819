#!/bin/sh
# deps.sh PACKAGE …: installs the Debian packages that are missing, as root or with sudo; without apt-get it prints what is
# needed. Where clang is among them, what its sanitizers and fuzzers link with comes too: that package has clang's number in
# its name, and clang does not pull it in.
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
[ "$(id -u)" = 0 ] || as=sudo
echo "Installing:$missing $runtime"
$as apt-get update -qq || exit 1
[ -z "$runtime" ] || missing="$missing $(apt-cache depends clang | sed -n 's/.*Depends: clang-\([0-9]*\)$/libclang-rt-\1-dev/p')"
DEBIAN_FRONTEND=noninteractive $as apt-get install -y -qq --no-install-recommends $missing >/dev/null
