"""A real Home Assistant core with its MQTT integration, a Mosquitto, `fleet mqtt` and `fleet sim`: what the host shows and does.

check.py FOLDER [TABLE]: a folder for the run; TABLE: where the table of entities is written; it is printed, too.
check.py FOLDER --day FILE: only counts what the recorder writes of a day whose messages are in FILE (spec/home_assistant/idle_day.lua).
The last line is "N passed, N failed".
"""

import asyncio
import contextlib
import datetime
import json
import logging
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import time

import aiohttp
import sqlalchemy

from homeassistant import bootstrap, config_entries, core, loader
from homeassistant.auth import auth_manager_from_config
from homeassistant.components.energy import data as energy_data
from homeassistant.components.recorder import get_instance
from homeassistant.components.recorder.tasks import StatisticsTask
from homeassistant.const import EVENT_STATE_CHANGED, __version__
from homeassistant.helpers import device_registry, entity_registry, recorder
from homeassistant.setup import async_setup_component

FOLDER = pathlib.Path(sys.argv[1]).absolute()
CAR, SITE = "5YJSFLEE9KF000012", "2252147638651584"
RESULTS = []
GONE = ("unavailable", "unknown")


def note(text, good, more=""):
    RESULTS.append(good)
    print(("ok    " if good else "FAIL  ") + text + (f": {more}" if more and not good else ""), flush=True)


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


# ---- the programs around it ----


class Broker:
    def __init__(self):
        self.port, self.process = free_port(), None
        self.start()

    def start(self):
        path = FOLDER / "mosquitto.conf"
        path.write_text(f"user root\npersistence false\nallow_anonymous true\nlistener {self.port} 127.0.0.1\n")
        self.process = subprocess.Popen(["mosquitto", "-c", str(path)], stderr=subprocess.DEVNULL)
        for _ in range(200):
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port)):
                return
            time.sleep(0.05)
        raise SystemExit("the broker does not start")

    def stop(self):
        self.process.terminate()
        self.process.wait()


GARAGE = {
    "vehicles": [
        {
            "vin": CAR, "display_name": "Commuter", "vehicle_command_protocol_required": False, "sleep_after": 1000000000,
            "charge_state": {"battery_level": 61, "charge_limit_soc": 80, "conn_charge_cable": "IEC", "charging_state": "Stopped"},
            "drive_state": {"latitude": 52.5, "longitude": 13.4},
        }
    ],
    "energy_sites": [
        {"energy_site_id": int(SITE), "site_name": "Roof", "installation_time_zone": "Europe/Berlin", "battery_count": 1,
         "components": {"battery": True, "solar": True, "storm_mode_capable": True,
                        "off_grid_vehicle_charging_reserve_supported": True},
         "tariff_content_v2": {
             "version": 1, "utility": "Example Power", "code": "EX-1", "name": "Two prices", "currency": "EUR",
             "daily_charges": {}, "demand_charges": {"ALL": {"rates": {"ALL": 0}}},
             "energy_charges": {"ALL": {"rates": {"ALL": 0}}, "Year": {"rates": {"OFF_PEAK": 0.2, "ON_PEAK": 0.4}}},
             "seasons": {"Year": {"fromMonth": 1, "fromDay": 1, "toMonth": 12, "toDay": 31, "tou_periods": {
                 "OFF_PEAK": {"periods": [{"fromDayOfWeek": 0, "toDayOfWeek": 6, "fromHour": 0, "toHour": 12}]},
                 "ON_PEAK": {"periods": [{"fromDayOfWeek": 0, "toDayOfWeek": 6, "fromHour": 12, "toHour": 0}]}}}}}}
    ],
}


class Simulator:
    def __init__(self):
        (FOLDER / "garage.json").write_text(json.dumps(GARAGE))
        self.process = subprocess.Popen(
            ["fleet", "sim", "--port", "0", "--garage", str(FOLDER / "garage.json"), "--log", str(FOLDER / "calls.log")],
            stdout=subprocess.PIPE, text=True)
        self.at = json.loads(self.process.stdout.readline())

    def control(self, command):
        import urllib.request

        request = urllib.request.Request(self.at["control_url"], json.dumps(command).encode(), {
            "Authorization": "Bearer " + self.at["control_token"], "Content-Type": "application/json"})
        return json.load(urllib.request.urlopen(request))

    def calls(self, name):
        """How often a command came here and was carried out."""
        calls = [json.loads(line) for line in (FOLDER / "calls.log").read_text().splitlines()]
        return sum(one.get("row") == name and one.get("status") == 200 for one in calls)

    def stop(self):
        self.process.terminate()
        self.process.wait()


class Bridge:
    def __init__(self, simulator, broker):
        self.simulator, self.broker, self.process, self.options = simulator, broker, None, {}
        at = simulator.at
        self.environment = dict(
            os.environ, FLEET_BASE_URL=at["base_url"], FLEET_AUTH_URL=at["auth_url"], FLEET_TOKEN_URL=at["token_url"],
            FLEET_CLIENT_ID="house", FLEET_CLIENT_SECRET="house-secret", FLEET_REDIRECT_URI="https://house.example.com/callback",
            FLEET_STORE=str(FOLDER / "store"), HOME=str(FOLDER))

    def sign_in(self):
        script = """
          local fleet = require "fleet"
          local client = assert(fleet.new {
            base_url = os.getenv "FLEET_BASE_URL", auth_url = os.getenv "FLEET_AUTH_URL", token_url = os.getenv "FLEET_TOKEN_URL",
            client_id = os.getenv "FLEET_CLIENT_ID", client_secret = os.getenv "FLEET_CLIENT_SECRET",
            redirect_uri = os.getenv "FLEET_REDIRECT_URI", store = fleet.store.file(os.getenv "FLEET_STORE"),
          })
          local scopes = { "openid", "offline_access", "vehicle_device_data", "vehicle_location", "vehicle_cmds",
            "vehicle_charging_cmds", "energy_device_data", "energy_cmds" }
          local url, state = client:authorize_url { scopes = scopes }
          assert(client:authorize(require("fleet.sim.test_browser").consent(url), state))
        """
        subprocess.run(["lua5.4", "-e", script], env=self.environment, check=True, cwd=os.environ["FLEET_ROOT"])

    def start(self, **options):
        self.options = options or self.options
        path = FOLDER / "options.json"
        path.write_text(json.dumps({
            "look_every": 2, "longest_look": 2, "live_every": 3, "idle_every": 3, "longest_idle": 3, "site_every": 3,
            "site_info_every": 3, "energy_every": 3, **self.options}))
        log = open(FOLDER / "bridge.log", "a")
        self.process = subprocess.Popen(
            ["fleet", "mqtt", "--broker", f"mqtt://localhost:{self.broker.port}", "--options", str(path)], env=self.environment,
            stdout=log, stderr=log)

    def stop(self, how=signal.SIGTERM):
        self.process.send_signal(how)
        self.process.wait()


# ---- Home Assistant ----


class Host:
    """A core as it is after a start: registries from the folder, recorder, websocket, energy, and the MQTT integration."""

    def __init__(self, port, folder="config"):
        self.port, self.folder, self.hass, self.events, self.http_port = port, folder, None, [], free_port()

    async def start(self):
        folder = FOLDER / self.folder
        folder.mkdir(exist_ok=True)
        (folder / "configuration.yaml").write_text("")
        self.hass = hass = core.HomeAssistant(str(folder))
        loader.async_setup(hass)
        hass.config.skip_pip = True
        hass.config_entries = config_entries.ConfigEntries(hass, {})
        await hass.config.async_load()
        await bootstrap.async_load_base_functionality(hass)
        hass.auth = await auth_manager_from_config(hass, [], [])
        hass.bus.async_listen(EVENT_STATE_CHANGED, self.changed)
        recorder.async_initialize_recorder(hass)
        http = {"server_host": ["127.0.0.1"], "server_port": self.http_port}
        for name, options in (("homeassistant", {}), ("http", http), ("recorder", {"commit_interval": 0}), ("energy", {})):
            assert await async_setup_component(hass, name, {name: options}), name
        await hass.async_start()
        if not hass.config_entries.async_entries("mqtt"):
            entry = config_entries.ConfigEntry(
                domain="mqtt", title="broker", data={"broker": "127.0.0.1", "port": self.port}, options={}, version=1,
                minor_version=2, source="user", unique_id=None, discovery_keys={}, subentries_data=None)
            await hass.config_entries.async_add(entry)
        else:
            assert await async_setup_component(hass, "mqtt", {})
        await hass.async_block_till_done()

    @contextlib.asynccontextmanager
    async def websocket(self):
        """A function that asks over the websocket, as the pages do, and returns the result."""
        auth = self.hass.auth
        user = next((one for one in await auth.async_get_users() if one.name == "pages"), None)
        user = user or await auth.async_create_system_user("pages", group_ids=["system-admin"])
        token = auth.async_create_access_token(await auth.async_create_refresh_token(user))
        async with aiohttp.ClientSession() as session:
            async with session.ws_connect(f"http://127.0.0.1:{self.http_port}/api/websocket") as socket:
                await socket.receive_json()
                await socket.send_json({"type": "auth", "access_token": token})
                assert (await socket.receive_json())["type"] == "auth_ok"
                count = 0

                async def ask(**message):
                    nonlocal count
                    count += 1
                    await socket.send_json({"id": count, **message})
                    answer = await socket.receive_json()
                    assert answer["success"], answer
                    return answer["result"]

                yield ask

    async def recorded(self):
        """How many rows the recorder has of each entity."""
        instance = get_instance(self.hass)
        await instance.async_block_till_done()
        query = sqlalchemy.text("select m.entity_id, count(*) from states s join states_meta m using (metadata_id) group by 1")

        def read():
            with instance.get_session() as session:
                return {name: count for name, count in session.execute(query)}

        return await instance.async_add_executor_job(read)

    async def stop(self):
        await self.hass.async_stop(force=True)

    def changed(self, event):
        self.events.append(event)

    def entities(self, device=None):
        registry, devices = entity_registry.async_get(self.hass), device_registry.async_get(self.hass)
        found = {}
        for one in registry.entities.values():
            owner = devices.async_get(one.device_id) if one.device_id else None
            key = re.sub(r"^fleet_[^_]+_", "", one.unique_id) if device else one.unique_id
            if owner and (device is None or any(device in text for _, text in owner.identifiers)):
                found[key] = one
        return found

    def state(self, key, device=CAR):
        one = self.entities(device).get(key)
        state = one and self.hass.states.get(one.entity_id)
        return state.state if state else None

    def shown(self):
        list = {}
        for state in self.hass.states.async_all():
            list[state.entity_id] = state.state
        return list

    async def until(self, condition, seconds=30):
        for _ in range(seconds * 10):
            if condition():
                return True
            await asyncio.sleep(0.1)
        return False

    async def call(self, domain, service, key, device=CAR, **data):
        entity_id = self.entities(device)[key].entity_id
        await self.hass.services.async_call(domain, service, {"entity_id": entity_id, **data}, blocking=True)

    def event(self, device):
        """The attributes of the newest event of the commands of a device, and when it came."""
        state = self.hass.states.get(self.entities(device)["event"].entity_id)
        return state.attributes, state.state

    def devices(self):
        return {one.serial_number: one for one in self.registry() if one.serial_number}

    def registry(self):
        devices = device_registry.async_get(self.hass).devices
        entries = list(devices)
        return list(devices.values()) if entries and isinstance(entries[0], str) else entries  # a mapping in earlier versions


class Warnings(logging.Handler):
    def __init__(self):
        super().__init__(logging.WARNING)
        self.list = []

    def emit(self, record):
        self.list.append(record.getMessage())

    def of_entities(self):
        """What concerns the messages: not the broker that was stopped, nor how the integration sets itself up."""
        return [text for text in self.list if "async_forward_entry_setups" not in text and "connect" not in text.lower()]


def lost(before, after):
    """What was shown and is not any more."""
    return sorted(name for name, value in before.items() if value not in GONE and after.get(name, "unknown") in GONE)


# What a person does at each entity: the service, its data, what the entity shows then, the command that carries it out. A pair is an
# attribute and its value. The car of the check takes plain commands, so that its trunks have a toggle only.
COMMANDS = {
    CAR: {
        "climate": [("set_hvac_mode", {"hvac_mode": "auto"}, "auto", "auto_conditioning_start"),
                    ("set_temperature", {"temperature": 22.5}, ("temperature", 22.5), "set_temps"),
                    ("set_preset_mode", {"preset_mode": "dog"}, ("preset_mode", "dog"), "set_climate_keeper_mode"),
                    ("set_preset_mode", {"preset_mode": "none"}, ("preset_mode", "none"), "set_climate_keeper_mode")],
        **{f"seat_heater_{seat}": [("select_option", {"option": level}, level, "remote_seat_heater_request") for level in ("high", "off")]
           for seat in ("left", "right", "rear_left", "rear_center", "rear_right")},
        "wheel_heater": [("select_option", {"option": level}, level, "remote_steering_wheel_heat_level_request")
                         for level in ("low", "high")],
        "overheat_protection": [("select_option", {"option": mode}, mode, "set_cabin_overheat_protection")
                                for mode in ("on", "fan_only", "off")],
        **{f"auto_seat_{side}": [("turn_on", {}, "on", "remote_auto_seat_climate_request"),
                                 ("turn_off", {}, "off", "remote_auto_seat_climate_request")] for side in ("left", "right")},
        "auto_wheel_heater": [("turn_on", {}, "on", "remote_auto_steering_wheel_heat_climate_request"),
                              ("turn_off", {}, "off", "remote_auto_steering_wheel_heat_climate_request")],
        "defrost": [("turn_on", {}, "on", "set_preconditioning_max"), ("turn_off", {}, "off", "set_preconditioning_max")],
        "charge_limit": [("set_value", {"value": 70}, "70", "set_charge_limit"), ("set_value", {"value": 75}, "75", "set_charge_limit")],
        "charging_amps": [("set_value", {"value": 8}, "8", "set_charging_amps"), ("set_value", {"value": 16}, "16", "set_charging_amps")],
        "charging": [("turn_on", {}, "on", "charge_start"), ("turn_off", {}, "off", "charge_stop")],
        "charge_port": [("open_cover", {}, "open", "charge_port_door_open")],
        "lock": [("unlock", {}, "unlocked", "door_unlock"), ("lock", {}, "locked", "door_lock")],
        "windows": [("open_cover", {}, "open", "window_control"), ("close_cover", {}, "closed", "window_control")],
        "trunk": [("open_cover", {}, "open", "actuate_trunk"), ("close_cover", {}, "closed", "actuate_trunk")],
        "frunk": [("open_cover", {}, "open", "actuate_trunk")],
        "sentry": [("turn_on", {}, "on", "set_sentry_mode"), ("turn_off", {}, "off", "set_sentry_mode")],
        "wake": [("press", {}, None, "wake_up")],
        "horn": [("press", {}, None, "honk_horn")],
        "lights": [("press", {}, None, "flash_lights")],
        "update": [("install", {}, None, "schedule_software_update")],
    },
    SITE: {
        "reserve": [("set_value", {"value": 35}, "35", "backup"), ("set_value", {"value": 40}, "40", "backup")],
        "off_grid_reserve": [("set_value", {"value": value}, str(value), "off_grid_vehicle_charging_reserve") for value in (45, 50)],
        "mode": [("select_option", {"option": mode}, mode, "operation") for mode in ("autonomous", "backup", "self_consumption")],
        "export_rule": [("select_option", {"option": rule}, rule, "grid_import_export") for rule in ("never", "pv_only", "battery_ok")],
        "grid_charging": [("turn_on", {}, "on", "grid_import_export"), ("turn_off", {}, "off", "grid_import_export")],
        "storm": [("turn_off", {}, "off", "storm_mode"), ("turn_on", {}, "on", "storm_mode")],
    },
}
COMMANDED = ("button", "climate", "cover", "lock", "number", "select", "switch", "update")


def same(state, wanted):
    if state == wanted:
        return True
    with contextlib.suppress(TypeError, ValueError):
        return float(state) == float(wanted)
    return False


def energy_sources(name_of, unified):
    """The energy dashboard's own configuration. name_of: the entity of a name; unified: as newer versions keep the grid."""
    price, buy, sell = name_of("price_buy"), name_of("energy_from_grid"), name_of("energy_to_grid")
    if unified:
        grid = {"stat_energy_from": buy, "stat_energy_to": sell, "stat_cost": None, "entity_energy_price": price,
                "number_energy_price": None, "stat_compensation": None, "entity_energy_price_export": None,
                "number_energy_price_export": None}
    else:
        grid = {"flow_from": [{"stat_energy_from": buy, "stat_cost": None, "entity_energy_price": price, "number_energy_price": None}],
                "flow_to": [{"stat_energy_to": sell, "stat_compensation": None, "entity_energy_price": None,
                             "number_energy_price": None}]}
    return [
        {"type": "grid", "cost_adjustment_day": 0, **grid},
        {"type": "solar", "stat_energy_from": name_of("energy_solar"), "config_entry_solar_forecast": None},
        {"type": "battery", "stat_energy_from": name_of("energy_battery_out"), "stat_energy_to": name_of("energy_battery_in")},
    ]


async def check_energy(host):
    """The energy dashboard takes the sensors of the site: its configuration, its own validation, its statistics."""
    def name_of(key):
        return host.entities(SITE)[key].entity_id

    names = [name_of(f"energy_{one}") for one in ("from_grid", "to_grid", "solar", "battery_in", "battery_out", "home")]
    now = datetime.datetime.now(datetime.timezone.utc)
    period = now.replace(minute=now.minute // 5 * 5, second=0, microsecond=0)
    instance = get_instance(host.hass)
    instance.queue_task(StatisticsTask(period, False))  # the recorder does so by itself every five minutes
    await instance.async_block_till_done()
    async with host.websocket() as ask:
        await ask(type="energy/save_prefs", energy_sources=energy_sources(name_of, hasattr(energy_data, "LegacyGridSourceType")))
        await host.until(lambda: host.hass.states.get(name_of("energy_from_grid") + "_cost"), 10)
        instance.queue_task(StatisticsTask(period + datetime.timedelta(minutes=5), False))
        await instance.async_block_till_done()
        found = await ask(type="energy/validate")
        problems = [problem for list in found["energy_sources"] for problem in list]
        note("the energy dashboard validates the site's sensors without a complaint", len(found["energy_sources"]) >= 3 and not problems,
             json.dumps(problems))
        kept = await ask(type="recorder/statistics_during_period", start_time=period.isoformat(), statistic_ids=names, period="5minute",
                         types=["sum", "state"])
        without = [name for name in names if not (kept.get(name) and kept[name][-1]["sum"] is not None)]
        note("the recorder keeps statistics of each energy sensor", not without, " ".join(without))
        wrong = await ask(type="recorder/validate_statistics")
        note("and finds nothing wrong with them", not any(name.startswith("sensor.roof") for name in wrong), json.dumps(wrong))


async def outcome(host, device, action):
    """The event that tells what became of an action."""
    before = host.event(device)[1]
    await action
    await host.until(lambda: host.event(device)[1] != before, 15)
    return dict(host.event(device)[0]) if host.event(device)[1] != before else {}


def shows(host, device, key, wanted):
    if isinstance(wanted, tuple):
        return host.hass.states.get(host.entities(device)[key].entity_id).attributes.get(wanted[0]) == wanted[1]
    return wanted is None or same(host.state(key, device), wanted)


async def check_accepted(host, simulator, device, key, step, row):
    """The command reaches the service once, is reported as done, and the entity shows what it sets."""
    service, data, wanted, command = step
    one = host.entities(device)[key]
    arrived = simulator.calls(command)
    event = await outcome(host, device, host.call(one.domain, service, key, device, **data))
    reached = await host.until(lambda: shows(host, device, key, wanted), 10)
    good = reached and event.get("event_type") == "done" and event.get("command") == command
    good = good and simulator.calls(command) == arrived + 1
    asked = " ".join([service, *map(str, data.values())])
    note(f"{one.entity_id} {asked}", good, f"{event} {host.state(key, device)}")
    row["command"] = row.get("command", []) + [f"{asked}: {'done' if good else 'FAILED'}"]


async def check_refused(host, simulator, device, key, step, row):
    """What the service refuses is reported with its reason, and the entity shows what it showed before."""
    service, data, _, command = step
    one = host.entities(device)[key]

    def shown():
        state = host.hass.states.get(one.entity_id)
        return one.domain != "button" and (state.state, state.attributes.get("temperature"))

    before = shown()
    simulator.control({"fault": "unregistered", "row": command})
    event = await outcome(host, device, host.call(one.domain, service, key, device, **data))
    simulator.control({"clear": True})
    kept = await host.until(lambda: shown() == before, 2)
    told = (host.state("last_command", device) or "").startswith(f"{command}: refused")
    good = event.get("event_type") == "refused" and event.get("command") == command and bool(event.get("message"))
    note(f"{one.entity_id} {service} refused", good and kept and told, f"{event} {before} {shown()}")
    row["refusal"] = f"{event.get('event_type')}: {event.get('reason')}" + ("" if kept else ", NOT TAKEN BACK")


async def check_commands(host, simulator, table):
    """Each entity that takes commands: what a person does there arrives, and what the service refuses is seen."""
    simulator.control({"event": "software_available", "vin": CAR, "version": "2026.44.1"})
    for device, entities in COMMANDS.items():
        missing = sorted(one.entity_id for key, one in host.entities(device).items()
                         if one.domain in COMMANDED and not one.disabled and key not in entities)
        note(f"each entity that takes commands is tried: {device}", not missing, " ".join(missing))
        for key, steps in entities.items():
            if key not in host.entities(device):
                note(f"there is {key}", False)
                continue
            one = host.entities(device)[key]
            row = table[one.entity_id]
            if key == "update":
                await host.until(lambda: host.state("update") == "on", 20)
            if len(steps) > 1:
                for step in steps:
                    await check_accepted(host, simulator, device, key, step, row)
                await check_refused(host, simulator, device, key, steps[0], row)
            else:
                await check_refused(host, simulator, device, key, steps[0], row)
                if one.domain in ("cover", "update"):
                    await asyncio.sleep(11)  # what such an entity sends has no id: the same again at once is taken for a copy
                await check_accepted(host, simulator, device, key, steps[0], row)
    await host.call("cover", "close_cover", "charge_port")  # the cable is in
    refused = await host.until(lambda: "charge_port_door_close: refused" in (host.state("last_command") or ""), 10)
    note("what the car itself refuses is the last command", refused, host.state("last_command"))
    note("and an event with its reason", host.event(CAR)[0].get("event_type") == "refused" and bool(host.event(CAR)[0].get("reason")),
         str(host.event(CAR)))
    note("and the entity shows the truth again", await host.until(lambda: host.state("charge_port") == "open", 10))


async def check(simulator, broker, bridge, warnings):
    table = {}
    host = Host(broker.port)
    bridge.start(location=True)
    await host.start()
    ready = await host.until(lambda: host.state("battery") == "61" and host.state("energy_home", SITE) not in (None, *GONE), 30)
    note("the car and the site appear", ready, f"{host.state('battery')} {host.state('energy_home', SITE)}")
    if not ready:
        raise SystemExit("nothing can be checked: " + " | ".join(warnings.list[:5]))
    await asyncio.sleep(15)
    entries = host.entities()
    note("more than 70 entities", len(entries) > 70, str(len(entries)))
    waiting = [one.entity_id for one in entries.values()
               if not one.disabled and host.shown().get(one.entity_id) == "unavailable"]
    note("none is unavailable", not waiting, " ".join(waiting))
    note("no warning in the log", not warnings.of_entities(), " | ".join(warnings.of_entities()[:5]))
    for key, one in sorted(entries.items()):
        table[one.entity_id] = {"appears": host.shown().get(one.entity_id, "disabled"), "key": key}

    car = host.devices()[CAR]
    note("the car's device has manufacturer, model and version", (car.manufacturer, car.model) == ("Tesla", "Model S")
         and bool(car.sw_version), f"{car.manufacturer} {car.model} {car.sw_version}")
    for name in ("solar", "from_grid", "to_grid", "battery_in", "battery_out", "home"):
        state = host.hass.states.get(host.entities(SITE)[f"energy_{name}"].entity_id)
        facts = [state.attributes.get(one) for one in ("device_class", "state_class", "unit_of_measurement")]
        note(f"energy_{name} suits the energy dashboard", facts == ["energy", "total_increasing", "kWh"]
             and float(state.state) >= 0, f"{facts} {state.state}")

    await check_energy(host)
    await check_commands(host, simulator, table)

    # quiet
    simulator.control({"set": {CAR: {"climate_state": {"is_climate_on": False}}}})
    await asyncio.sleep(40)
    host.events.clear()
    await asyncio.sleep(20)
    idle = {}
    for one in host.events:
        idle[one.data["entity_id"]] = idle.get(one.data["entity_id"], 0) + 1
    moving = re.compile(r"seen|software|power|load|energy|charge$|temperature|grid|climate|account|cost")
    noisy = {name: count for name, count in idle.items() if not moving.search(name)}
    note("looks that change nothing write only when they were made", not noisy, str(noisy))
    print(f"      state_changed in 20 s with looks every 3 s: {sum(idle.values())} {idle}")

    # restarts, awake and asleep
    for state in ("online", "asleep"):
        if state == "asleep":
            simulator.control({"event": "sleep", "vin": CAR})
            await host.until(lambda: host.state("state") == "asleep", 20)
        before = host.shown()

        def still(what, before=before):
            gone = [one for one in lost(before, host.shown()) if "event" not in one]
            note(f"{state}: whatever was shown is shown after a restart of {what}", not gone, " ".join(gone))
            for name in table:
                if name in before and before[name] not in GONE:
                    table[name]["restart"] = "lost" if name in gone else table[name].get("restart", "kept")

        async def settled(before=before):
            await host.until(lambda: not [one for one in lost(before, host.shown()) if "event" not in one], 40)
            await asyncio.sleep(13)

        bridge.stop()
        await host.until(lambda: host.state("battery") == "unavailable", 10)
        bridge.start()
        await settled()
        still("the bridge")
        bridge.stop(signal.SIGKILL)
        bridge.start()
        await settled()
        still("the bridge, killed")
        broker.stop()
        broker.start()
        await settled()
        still("the broker")
        await host.stop()
        host = Host(broker.port)
        await host.start()
        await settled()
        still("Home Assistant")
        await host.stop()
        bridge.stop()
        broker.stop()
        broker.start()
        bridge.start()
        host = Host(broker.port)
        await host.start()
        await settled()
        still("all three")

    # another version and another name: nothing becomes unavailable
    simulator.control({"event": "online", "vin": CAR})
    await host.until(lambda: host.state("state") == "online", 20)
    await asyncio.sleep(5)
    before = host.shown()
    simulator.control({"set": {CAR: {"vehicle_state": {"car_version": "2026.30.1 x"}}}})

    def version():
        return host.devices()[CAR].sw_version

    note("a new firmware reaches the device", await host.until(lambda: version() == "2026.30.1", 20), version())
    await asyncio.sleep(2)
    note("and nothing becomes unavailable by it", not lost(before, host.shown()), " ".join(lost(before, host.shown())))

    # what is not offered any more goes
    bridge.stop()
    bridge.start(location=False, commands=False)
    kinds = ("lock", "button", "cover", "device_tracker", "number", "select", "switch")

    def left():
        return [one.entity_id for one in host.entities().values() if one.domain in kinds]

    note("read-only and without places: nothing of them is left", await host.until(lambda: not left(), 30), " ".join(left()))
    await asyncio.sleep(8)
    note("what is only shown has a value", host.state("lock") == "LOCKED" and host.state("export_rule", SITE) == "battery_ok",
         f"{host.state('lock')} {host.state('export_rule', SITE)}")
    note("no warning came by all this", not warnings.of_entities(), " | ".join(warnings.of_entities()[:8]))
    await host.stop()
    return table


async def check_day(broker, messages):
    """The rows that the recorder writes of a day: the bridge's messages of a simulated day at rest, one after the other."""
    import paho.mqtt.client

    host = Host(broker.port, "day")
    await host.start()
    client = paho.mqtt.client.Client(paho.mqtt.client.CallbackAPIVersion.VERSION2)
    client.connect("127.0.0.1", broker.port)
    client.loop_start()
    first = {one["topic"]: one for one in reversed(messages)}
    first.update({one["topic"]: one for one in messages if one["topic"].startswith("homeassistant/")})  # the whole of them
    for one in first.values():  # as at the start of the bridge: every entity is there and has its first state
        client.publish(one["topic"], one["payload"], qos=1, retain=True).wait_for_publish()
        if one["topic"].startswith("homeassistant/"):
            await asyncio.sleep(0.5)
    await asyncio.sleep(12)
    before, seen, sent = await host.recorded(), set(), 0
    for one in messages:
        if id(one) == id(first[one["topic"]]) or one["topic"].startswith("homeassistant/"):
            continue
        client.publish(one["topic"], one["payload"], qos=1, retain=True).wait_for_publish()
        sent += 1
        await asyncio.sleep(0.001)
    await asyncio.sleep(5)
    after = await host.recorded()
    rows = {name: count - before.get(name, 0) for name, count in after.items() if count > before.get(name, 0)}
    print(f"      rows of the states table for a day at rest, one sleeping car and one site: {sum(rows.values())} of {sent} messages")
    for name, count in sorted(rows.items(), key=lambda pair: -pair[1]):
        print(f"      {count:6} {name}")
    client.loop_stop()
    await host.stop()
    return rows, sent


def day_messages(path=None):
    if path:
        return [json.loads(line) for line in pathlib.Path(path).read_text().splitlines()]
    environment = dict(os.environ, LUA_PATH="./?.lua;" + os.environ.get("LUA_PATH", ";"))
    text = subprocess.run(["lua5.4", "spec/home_assistant/idle_day.lua"], env=environment, check=True, cwd=os.environ["FLEET_ROOT"],
                          capture_output=True, text=True).stdout
    return [json.loads(line) for line in text.splitlines()]


def write_table(table, path):
    lines = [f"Home Assistant {__version__}", "", "| Entity | Appears | After restarts | Command | Refusal |", "|---|---|---|---|---|"]
    for name, one in sorted(table.items()):
        command = ", ".join(one.get("command", []))
        lines.append(f"| {name} | {one['appears']} | {one.get('restart', '')} | {command} | {one.get('refusal', '')} |")
    pathlib.Path(path).write_text("\n".join(lines) + "\n")
    print("\n".join(lines[2:]))


def main():
    warnings = Warnings()
    logging.getLogger("homeassistant").addHandler(warnings)
    FOLDER.mkdir(parents=True, exist_ok=True)
    logging.basicConfig(filename=FOLDER / "host.log", level=logging.INFO)
    print(f"Home Assistant {__version__}")
    if sys.argv[2:3] == ["--day"]:
        broker = Broker()
        asyncio.run(check_day(broker, day_messages(sys.argv[3])))
        return broker.stop()
    broker, simulator = Broker(), Simulator()
    bridge = Bridge(simulator, broker)
    try:
        bridge.sign_in()
        table = asyncio.run(check(simulator, broker, bridge, warnings))
        if len(sys.argv) > 2:
            write_table(table, sys.argv[2])
        bridge.stop()
        broker.stop()
        broker.start()
        rows, sent = asyncio.run(check_day(broker, day_messages()))
        note("a day at rest writes no more rows than messages, and none of the sleeping car",
             0 < sum(rows.values()) <= sent and not any("rehearsal" in name for name in rows), str(rows))
    finally:
        for one in (bridge, simulator, broker):
            with contextlib.suppress(Exception):
                one.stop()
    failed = RESULTS.count(False)
    print(f"{len(RESULTS) - failed} passed, {failed} failed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
