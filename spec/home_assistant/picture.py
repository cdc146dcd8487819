"""The pictures of Home Assistant in the manual: the whole program with its pages, a Mosquitto, `fleet mqtt` and `fleet sim`.

picture.py FOLDER DASHBOARD.png ENERGY.png: run by the Python of `make home-assistant` after `pip install home-assistant-frontend`;
needs chromium. The energy dashboard shows today: the hours before the program started come from the simulated site's own history.
"""

import asyncio
import base64
import contextlib
import datetime
import json
import os
import pathlib
import subprocess
import sys
import time
import urllib.request
import zoneinfo

import aiohttp
import check

FOLDER, DASHBOARD_PICTURE, ENERGY_PICTURE = check.FOLDER, *(pathlib.Path(path).absolute() for path in sys.argv[2:4])
ZONE = zoneinfo.ZoneInfo("Europe/Berlin")
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
energy:
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


# ---- the energy dashboard ----

SUMS = {
    "sensor.roof_solar_energy": ["total_solar_generation"],
    "sensor.roof_energy_from_the_grid": ["grid_energy_imported"],
    "sensor.roof_energy_to_the_grid": ["total_grid_energy_exported"],
    "sensor.roof_energy_into_the_battery": ["total_battery_charge"],
    "sensor.roof_energy_from_the_battery": ["total_battery_discharge"],
}
NAMES = {"energy_solar": "solar_energy", "energy_from_grid": "energy_from_the_grid", "energy_to_grid": "energy_to_the_grid",
         "energy_battery_in": "energy_into_the_battery", "energy_battery_out": "energy_from_the_battery"}


def hours_of_today(bridge):
    """What the site's history says of today: { entity: [(hour, kWh)] } up to the last hour that is over."""
    now = datetime.datetime.now(ZONE)
    text = subprocess.run(["fleet", "energy_history", check.SITE, "period=day", f"day={now:%Y-%m-%d}", "--json"], env=bridge.environment,
                          check=True, capture_output=True, text=True).stdout
    found = {name: {} for name in SUMS}
    for entry in json.loads(text)["time_series"]:
        hour = datetime.datetime.fromisoformat(entry["timestamp"]).astimezone(ZONE).replace(minute=0, second=0)
        if hour < now.replace(minute=0, second=0, microsecond=0):
            for name, members in SUMS.items():
                found[name][hour] = found[name].get(hour, 0) + sum(entry.get(one) or 0 for one in members) / 1000
    return found


async def token(session):
    address, client = f"http://127.0.0.1:{PORT}", f"http://127.0.0.1:{PORT}/"
    form = {"client_id": client, "handler": ["trusted_networks", None], "redirect_uri": client}
    async with session.post(f"{address}/auth/login_flow", json=form) as answer:
        code = (await answer.json())["result"]
    form = {"grant_type": "authorization_code", "code": code, "client_id": client}
    async with session.post(f"{address}/auth/token", data=form) as answer:
        return (await answer.json())["access_token"]


async def set_up_energy(bridge):
    async with aiohttp.ClientSession() as session:
        access = await token(session)
        async with session.ws_connect(f"http://127.0.0.1:{PORT}/api/websocket") as socket:
            await socket.receive_json()
            await socket.send_json({"type": "auth", "access_token": access})
            assert (await socket.receive_json())["type"] == "auth_ok"
            messages = [{"type": "energy/save_prefs",
                         "energy_sources": check.energy_sources(lambda name: NAMES.get(name) and "sensor.roof_" + NAMES[name], False)}]
            for name, hours in hours_of_today(bridge).items():
                total, stats = 0, []
                for hour, energy in sorted(hours.items()):
                    total += energy
                    stats.append({"start": hour.isoformat(), "state": total, "sum": total})
                messages.append({"type": "recorder/import_statistics", "stats": stats, "metadata": {
                    "has_mean": False, "has_sum": True, "name": None, "source": "recorder", "statistic_id": name,
                    "unit_of_measurement": "kWh"}})
            for count, message in enumerate(messages, 1):
                await socket.send_json({"id": count, **message})
                answer = await socket.receive_json()
                assert answer["success"], answer


# ---- the browser ----


async def take_pictures():
    """Opens each page, which signs itself in, waits until it is drawn, and writes what the browser shows."""
    async with aiohttp.ClientSession() as session:
        for _ in range(30):
            with contextlib.suppress(aiohttp.ClientError, StopIteration):
                async with session.get(f"http://127.0.0.1:{DEBUG_PORT}/json") as pages:
                    address = next(page["webSocketDebuggerUrl"] for page in await pages.json() if page["type"] == "page")
                break
            await asyncio.sleep(1)
        async with session.ws_connect(address, max_msg_size=0) as page:
            count = 0

            async def ask(method, **params):
                nonlocal count
                count += 1
                await page.send_json({"id": count, "method": method, "params": params})
                async for message in page:
                    answer = message.json()
                    if answer.get("id") == count:
                        return answer.get("result")

            for path, height, target in (("/lovelace/0", 590, DASHBOARD_PICTURE), ("/energy", 930, ENERGY_PICTURE)):
                await ask("Page.navigate", url=f"http://127.0.0.1:{PORT}{path}")
                await asyncio.sleep(20)  # it signs itself in
                await ask("Runtime.evaluate", expression="localStorage.dockedSidebar = JSON.stringify('always_hidden'); location.reload()")
                await asyncio.sleep(20)
                shot = await ask("Page.captureScreenshot", format="png",
                                 clip={"x": 0, "y": 0, "width": 1500, "height": height, "scale": 0.75})
                target.write_bytes(base64.b64decode(shot["data"]))


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
        asyncio.run(set_up_energy(bridge))
        browser = subprocess.Popen(["chromium", "--headless=new", "--no-sandbox", "--hide-scrollbars", "--window-size=1500,1100",
                                    f"--remote-debugging-port={DEBUG_PORT}", f"--user-data-dir={FOLDER / 'browser'}", "about:blank"],
                                   stderr=subprocess.DEVNULL, env=dict(os.environ, TZ=ZONE.key))
        asyncio.run(take_pictures())
        browser.terminate()
    finally:
        for process in (host, bridge.process, simulator.process, broker.process):
            process.terminate()


main()
