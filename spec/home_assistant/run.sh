#!/bin/sh
# A real Home Assistant with `fleet mqtt` and `fleet sim`: run.sh FOLDER. Its core comes from the Python registry, in a virtual environment
# below FOLDER. Where its Python, its packages or a Mosquitto are missing, one sentence says so, and nothing has failed.
set -u
folder=$1
skip() {
  echo "home-assistant: skipped: $1"
  echo "0 passed, 0 failed"
  exit 0
}

command -v mosquitto >/dev/null || skip "mosquitto is not installed"
# The newest first.
for python in python3.14 python3.13 python3.12 $(ls -d "$HOME"/.pyenv/versions/3.1[2-9]*/bin/python3 2>/dev/null | sort -rV); do
  "$python" -c 'import sys; sys.exit(sys.version_info < (3, 12))' 2>/dev/null && break
  python=
done
[ -n "$python" ] || skip "it needs Python 3.12 or newer"

mkdir -p "$folder"
if [ ! -e "$folder/venv/ready" ]; then
  rm -rf "$folder/venv"
  "$python" -m venv "$folder/venv" || skip "$python has no venv"
  echo "home-assistant: installs Home Assistant's core below $folder, about 500 MB"
  "$folder/venv/bin/pip" install -q homeassistant >"$folder/pip.log" 2>&1 || skip "its packages cannot be installed: $folder/pip.log"
  wanted=$("$folder/venv/bin/python" -c '
import json, pathlib, homeassistant
folder = pathlib.Path(homeassistant.__file__).parent / "components"
for name in ("mqtt", "hassio", "recorder"):
    print(*json.loads((folder / name / "manifest.json").read_text()).get("requirements", []))')
  # shellcheck disable=SC2086
  "$folder/venv/bin/pip" install -q $wanted >>"$folder/pip.log" 2>&1 || skip "its packages cannot be installed: $folder/pip.log"
  touch "$folder/venv/ready"
fi

rm -rf "$folder/run"
"$folder/venv/bin/python" spec/home_assistant/check.py "$folder/run" "$folder/entities.md"
