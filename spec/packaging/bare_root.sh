#!/bin/sh
# bare_root.sh FOLDER [PACKAGE …]: Debian's smallest system and these packages in a folder, to change into as root. Where the
# system allows no such folder (no root, no mounts, no mirror), it says so and ends with 3.
set -eu
folder=$1
shift
codename=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)
mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Origin: Debian' "Codename: $codename" | head -n 1)
not_here() { echo "left out: $1"; exit 3; }

[ "$(id -u)" = 0 ] || not_here "a root folder needs root"
[ -n "$mirror" ] || not_here "apt knows no mirror of Debian $codename (try: apt-get update)"
unshare --mount --pid --fork true 2>/dev/null || not_here "this system allows no mounts of one's own (unshare)"
rm -rf "$folder"
mkdir -p "${folder%/*}"
packages=$(IFS=,; echo "$*")
mmdebstrap --quiet --variant=minbase --include="$packages" --dpkgopt=force-unsafe-io \
  --aptopt='APT::Install-Recommends "false"' "$codename" "$folder" "$mirror" >"$folder.log" 2>&1 \
  || not_here "no root folder could be made: $(tail -n 1 "$folder.log") ($folder.log)"
cp -L /etc/resolv.conf "$folder/etc"
# As Debian's installer writes it: localhost has two addresses, and most servers listen at the second only.
printf '127.0.0.1 localhost\n::1 localhost ip6-localhost ip6-loopback\n' >"$folder/etc/hosts"
