#!/bin/sh
# machine_root.sh MACHINE FOLDER PACKAGE …: Debian's packages for another machine (i386, armhf, arm64), unpacked into a folder:
# headers and libraries for a cross compiler, programs for qemu-user. Nothing is installed, nothing of the folder is run, and
# neither root nor chroot is needed. Ends with 3 where no mirror gives the packages.
set -eu
machine=$1 folder=$2
shift 2
[ ! -e "$folder/complete" ] || exit 0

codename=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)
mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Origin: Debian' "Codename: $codename" | head -n 1)
if [ -z "$mirror" ]; then
  echo "left out: apt knows no mirror of Debian $codename (try: apt-get update)"
  exit 3
fi
rm -rf "$folder"
mkdir -p "$folder/apt/lists/partial" "$folder/apt/cache/archives/partial" "$folder/system/usr"
folder=$(cd "$folder" && pwd)
keyring=/usr/share/keyrings/debian-archive-keyring.gpg
echo "deb [signed-by=$keyring] $mirror $codename main" >"$folder/apt/sources.list"
: >"$folder/apt/status"

apt_get() {
  apt-get -qq -o "APT::Architecture=$machine" -o "APT::Architectures::=$machine" -o "Dir::State=$folder/apt" \
    -o "Dir::State::status=$folder/apt/status" -o "Dir::Cache=$folder/apt/cache" -o Dir::Etc::SourceParts=/dev/null \
    -o "Dir::Etc::SourceList=$folder/apt/sources.list" -o APT::Install-Recommends=false -o APT::Sandbox::User=root "$@"
}

if ! apt_get update || ! apt_get --download-only install -y "$@" >/dev/null; then
  echo "left out: no mirror of Debian gives the packages for $machine"
  exit 3
fi
for place in bin sbin lib; do
  mkdir "$folder/system/usr/$place"
  ln -s "usr/$place" "$folder/system/$place"
done
for package in "$folder"/apt/cache/archives/*.deb; do dpkg-deb -x "$package" "$folder/system"; done
rm -rf "$folder/apt"
: >"$folder/complete"
