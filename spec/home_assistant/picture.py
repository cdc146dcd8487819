"""The picture of Home Assistant in the manual: the whole program with its pages, a Mosquitto, `fleet mqtt` and `fleet sim`.

picture.py FOLDER PNG: run by the Python of `make home-assistant` after `pip install home-assistant-frontend`; needs chromium.
"""

import asyncio
import base64
import contextlib
import json
import pathlib
import subprocess
import sys
import time
import urllib.request

import aiohttp
import check

FOLDER, TARGET = check.FOLDER, pathlib.Path(sys.argv[2]).absolute()
PORT, DEBUG_PORT = check.free_port(), check.free_port()
USER = "0123456789abcdef0123456789abcdef"

CONFIGURATION = f"""
homeassistant:
  name: Home
  latitude: 52.5
  longitude: 13.4
  time_zone: Europe/Berlin
  unit_system: metric
  auth_providers:
    - type: trusted_networks
      trusted_networks: [127.0.0.1]
      allow_bypass_login: true
http:
  server_host: 127.0.0.1
  server_port: {PORT}
frontend:
history:
lovelace:
  mode: yaml
"""

DASHBOARD = """
title: Home
views:
  - title: Car and house
    type: sections
    max_columns: 3
    sections:
      - type: grid
        cards:
          - {type: heading, heading: Commuter, icon: "mdi:car-electric"}
          - {type: tile, entity: sensor.commuter_battery, name: Battery}
          - {type: tile, entity: sensor.commuter_charging_state, name: Charging}
          - {type: tile, entity: lock.commuter_lock, name: Lock, features: [{type: lock-commands}]}
          - {type: tile, entity: cover.commuter_charge_port, name: Charge port, features: [{type: cover-open-close}]}
          - type: tile
            entity: number.commuter_charge_limit
            name: Charge limit
            features: [{type: numeric-input, style: slider}]
            grid_options: {columns: 12}
      - type: grid
        cards:
          - {type: heading, heading: Climate, icon: "mdi:thermostat"}
          - type: thermostat
            entity: climate.commuter_climate
            name: Climate
      - type: grid
        cards:
          - {type: heading, heading: Roof, icon: "mdi:solar-power"}
          - {type: gauge, entity: sensor.roof_charge, name: Battery, min: 0, max: 100, needle: false}
          - {type: tile, entity: sensor.roof_solar_power, name: Solar}
          - {type: tile, entity: sensor.roof_load, name: Home}
          - {type: tile, entity: sensor.roof_grid_power, name: Grid}
          - {type: tile, entity: sensor.roof_battery_power, name: Battery}
          - type: tile
            entity: select.roof_operation_mode
            name: Mode
            features: [{type: select-options}]
            grid_options: {columns: 12}
"""


def stored(name, data, version=1, minor=1):
    path = FOLDER / "config" / ".storage" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"version": version, "minor_version": minor, "key": name, "data": data}))


def write_config(broker):
    stored("onboarding", {"done": ["user", "core_config", "analytics", "integration"]}, 4)
    groups = [{"id": f"system-{name}", "name": name} for name in ("admin", "users", "read-only")]
    user = {"id": USER, "group_ids": ["system-admin"], "is_owner": True, "is_active": True, "name": "Owner",
            "system_generated": False, "local_only": False}
    credential = {"id": USER[::-1], "user_id": USER, "auth_provider_type": "trusted_networks", "auth_provider_id": None,
                  "data": {"user_id": USER}}
    stored("auth", {"users": [user], "groups": groups, "credentials": [credential], "refresh_tokens": []})
    entry = {"entry_id": "01JQ0000000000000000000000", "domain": "mqtt", "title": "broker", "source": "user", "version": 1,
             "minor_version": 2, "data": {"broker": "127.0.0.1", "port": broker.port}, "options": {}, "unique_id": None,
             "pref_disable_new_entities": False, "pref_disable_polling": False, "disabled_by": None, "discovery_keys": {},
             "created_at": "2026-01-01T00:00:00+00:00", "modified_at": "2026-01-01T00:00:00+00:00", "subentries": []}
    stored("core.config_entries", {"entries": [entry]}, 1, 5)
    (FOLDER / "config" / "configuration.yaml").write_text(CONFIGURATION)
    (FOLDER / "config" / "ui-lovelace.yaml").write_text(DASHBOARD)


def answers(path, seconds):
    for _ in range(seconds):
        try:
            return urllib.request.urlopen(f"http://127.0.0.1:{PORT}{path}").read()
        except OSError:
            time.sleep(1)
    raise SystemExit(f"{path} does not answer")


async def take_picture():
    """Opens the dashboard, which signs itself in, waits until its cards are drawn, and writes what the browser shows."""
    async with aiohttp.ClientSession() as session:
        for _ in range(30):
            with contextlib.suppress(aiohttp.ClientError, StopIteration):
                async with session.get(f"http://127.0.0.1:{DEBUG_PORT}/json") as pages:
                    address = next(page["webSocketDebuggerUrl"] for page in await pages.json() if page["type"] == "page")
                break
            await asyncio.sleep(1)
        async with session.ws_connect(address, max_msg_size=0) as page:
            await page.send_json({"id": 1, "method": "Page.navigate", "params": {"url": f"http://127.0.0.1:{PORT}/lovelace/0"}})
            await asyncio.sleep(20)  # it signs itself in
            await page.send_json({"id": 3, "method": "Runtime.evaluate", "params": {
                "expression": "localStorage.dockedSidebar = JSON.stringify('always_hidden'); location.reload()"}})
            await asyncio.sleep(20)
            await page.send_json({"id": 2, "method": "Page.captureScreenshot", "params": {
                "format": "png", "clip": {"x": 0, "y": 0, "width": 1500, "height": 590, "scale": 0.75}}})
            async for message in page:
                answer = message.json()
                if answer.get("id") == 2:
                    return TARGET.write_bytes(base64.b64decode(answer["result"]["data"]))


def main():
    FOLDER.mkdir(parents=True)
    (FOLDER / "garage.json").write_text(json.dumps(check.GARAGE))
    broker = check.Broker()
    simulator = check.Simulator()
    bridge = check.Bridge(simulator, broker)
    bridge.sign_in()
    bridge.start()
    write_config(broker)
    host = subprocess.Popen([str(pathlib.Path(sys.executable).parent / "hass"), "-c", str(FOLDER / "config"), "--skip-pip"],
                            stdout=open(FOLDER / "host.log", "w"), stderr=subprocess.STDOUT)
    try:
        answers("/manifest.json", 120)
        time.sleep(20)  # until the discovery of the bridge was taken
        browser = subprocess.Popen(["chromium", "--headless=new", "--no-sandbox", "--hide-scrollbars", "--window-size=1500,900",
                                    f"--remote-debugging-port={DEBUG_PORT}", f"--user-data-dir={FOLDER / 'browser'}", "about:blank"],
                                   stderr=subprocess.DEVNULL)
        asyncio.run(take_picture())
        browser.terminate()
    finally:
        for process in (host, bridge.process, simulator.process, broker.process):
            process.terminate()


main()
