/* The vehicle commands: doc/protocol.md#commands.
 *
 * If the published proxy and the published page differ, the page and the meaning of the value count:
 * - set_cop_temp: its enum starts with Unspecified, so Low is 1 in the message and 0 in the body.
 * - remote_seat_cooler_request counts levels from 1 = off, remote_seat_heater_request from 0 = off.
 * - remote_steering_wheel_heat_level_request knows 0, 1 and 3.
 * - actuate_trunk takes a word only: the proxy opens the rear trunk for anything that is not text.
 * - set_temps wants both temperatures, because a missing one is taken for 0. Commands without a published
 *   message have none here: they are plain REST calls.
 */
#include "tables/rows.h"

#define END                                                                                                  \
  { .name = NULL }
#define VIN                                                                                                  \
  { "vin", IN_PATH, TYPE_VIN, REQUIRED, .doc = "the vehicle" }
#define PARAMS(...)                                                                                          \
  .params = (const struct param[]) {                                                                         \
    VIN, __VA_ARGS__, END                                                                                    \
  }
#define INFO(path) .domain = DOMAIN_INFOTAINMENT, .message = "vehicleAction." path
#define SECURITY(path) .domain = DOMAIN_VCSEC, .message = path

/* Every command is one POST; a row says what is special about it. */
#define COMMAND(word, flag, sentence, ...)                                                                   \
  {                                                                                                          \
    .name = word, .handle = "vehicle", .method = word, .verb = "POST",                                       \
    .path = "/api/1/vehicles/{vin}/command/" word, .tokens = {TOKEN_USER, TOKEN_BUSINESS},                   \
    .scope = "vehicle_cmds", .billing = BILLED_COMMAND, .flags = ROW_COMMAND | ROW_LIVE | (flag),            \
    .doc = sentence, __VA_ARGS__                                                                             \
  }
#define BARE .params = no_params, .example = ""

#define NUMBER(word, flag, ...)                                                                              \
  { word, IN_BODY, TYPE_NUMBER, flag, __VA_ARGS__ }
#define INTEGER(word, flag, ...)                                                                             \
  { word, IN_BODY, TYPE_INTEGER, flag, __VA_ARGS__ }
#define TEXT(word, flag, ...)                                                                                \
  { word, IN_BODY, TYPE_STRING, flag, __VA_ARGS__ }
#define FLAG(word, flag, ...)                                                                                \
  { word, IN_BODY, TYPE_BOOLEAN, flag, __VA_ARGS__ }
#define SCHEDULE_ID(flag, ...)                                                                               \
  { "id", IN_BODY, TYPE_ID, flag, .min = 1, .max = 9007199254740991.0, .field = "id", __VA_ARGS__ }
#define DAYS                                                                                                 \
  { "days_of_week", IN_BODY, TYPE_DAYS, REQUIRED, .field = "days_of_week", .doc = "on which days" }
#define LAT(flag, ...)                                                                                       \
  NUMBER("lat", flag, .min = -90, .max = 90, .unit = "degrees", .doc = "latitude", __VA_ARGS__)
#define LON(flag, ...)                                                                                       \
  NUMBER("lon", flag, .min = -180, .max = 180, .unit = "degrees", .doc = "longitude", __VA_ARGS__)
#define MINUTES(word, flag, ...)                                                                             \
  INTEGER(word, flag, .min = 0, .max = 1440, .unit = "minutes after midnight", __VA_ARGS__)
#define CELSIUS(word, ...) NUMBER(word, FROM_STATE, .min = 15, .max = 30, .unit = "°C", __VA_ARGS__)
#define ON FLAG("on", REQUIRED, .field = "on", .doc = "true switches it on")
#define STOP_ORDER(place)                                                                                    \
  INTEGER("order", 0, .fallback = "unspecified", .choices = stops, .field = place,                           \
          .doc = "where among several stops")
#define PIN_CODE(word, flag, ...) TEXT(word, PIN | SECRET | (flag), __VA_ARGS__)

static const struct param no_params[] = {VIN, END};

const struct choice day_choices[] = {{"sun", 1, "Sun", NULL},
                                     {"sunday", 1, "Sun", NULL},
                                     {"mon", 2, "Mon", NULL},
                                     {"monday", 2, "Mon", NULL},
                                     {"tue", 4, "Tues", NULL},
                                     {"tues", 4, "Tues", NULL},
                                     {"tuesday", 4, "Tues", NULL},
                                     {"wed", 8, "Wed", NULL},
                                     {"wednesday", 8, "Wed", NULL},
                                     {"thu", 16, "Thurs", NULL},
                                     {"thurs", 16, "Thurs", NULL},
                                     {"thursday", 16, "Thurs", NULL},
                                     {"fri", 32, "Fri", NULL},
                                     {"friday", 32, "Fri", NULL},
                                     {"sat", 64, "Sat", NULL},
                                     {"saturday", 64, "Sat", NULL},
                                     {"all", 127, "All", NULL},
                                     {"weekdays", 62, "Weekdays", NULL},
                                     END};

/* The message of the trunk has one member per lid. */
static const struct choice trunks[] = {{"front", 0, "front", "frontTrunk=CLOSURE_MOVE_TYPE_MOVE"},
                                       {"rear", 0, "rear", "rearTrunk=CLOSURE_MOVE_TYPE_MOVE"},
                                       END};

/* The same lids by the state they are to have, which is no toggle. */
static const struct choice opened_trunks[] = {{"front", 0, "front", "frontTrunk=CLOSURE_MOVE_TYPE_OPEN"},
                                              {"rear", 0, "rear", "rearTrunk=CLOSURE_MOVE_TYPE_OPEN"},
                                              END};
static const struct choice closed_trunks[] = {{"front", 0, "front", "frontTrunk=CLOSURE_MOVE_TYPE_CLOSE"},
                                              {"rear", 0, "rear", "rearTrunk=CLOSURE_MOVE_TYPE_CLOSE"},
                                              END};

/* What a key may do in the vehicle: doc/protocol.md#key-roles. */
static const struct choice key_roles[] = {
    {"driver", 0, "driver", "ROLE_DRIVER"},
    {"owner", 0, "owner", "ROLE_OWNER"},
    {"fleet_manager", 0, "fleet_manager", "ROLE_FM"},
    {"vehicle_monitor", 0, "vehicle_monitor", "ROLE_VEHICLE_MONITOR"},
    {"charging_manager", 0, "charging_manager", "ROLE_CHARGING_MANAGER"},
    {"guest", 0, "guest", "ROLE_GUEST"},
    END};

static const struct choice form_factors[] = {
    {"nfc_card", 0, "nfc_card", "KEY_FORM_FACTOR_NFC_CARD"},
    {"ios_device", 0, "ios_device", "KEY_FORM_FACTOR_IOS_DEVICE"},
    {"android_device", 0, "android_device", "KEY_FORM_FACTOR_ANDROID_DEVICE"},
    {"cloud_key", 0, "cloud_key", "KEY_FORM_FACTOR_CLOUD_KEY"},
    END};

static const struct choice window_moves[] = {
    {"vent", 0, "vent", "vent"}, {"close", 0, "close", "close"}, END};

static const struct choice sun_roof_states[] = {{"stop", .text = "stop"}, /* in plain form only */
                                                {"close", 0, "close", "close"},
                                                {"vent", 0, "vent", "vent"},
                                                {"open", 0, "open", "open"},
                                                END};

static const struct choice heater_seats[] = {{"front_left", 0, NULL, "CAR_SEAT_FRONT_LEFT"},
                                             {"front_right", 1, NULL, "CAR_SEAT_FRONT_RIGHT"},
                                             {"rear_left", 2, NULL, "CAR_SEAT_REAR_LEFT"},
                                             {"rear_left_back", 3, NULL, "CAR_SEAT_REAR_LEFT_BACK"},
                                             {"rear_center", 4, NULL, "CAR_SEAT_REAR_CENTER"},
                                             {"rear_right", 5, NULL, "CAR_SEAT_REAR_RIGHT"},
                                             {"rear_right_back", 6, NULL, "CAR_SEAT_REAR_RIGHT_BACK"},
                                             {"third_left", 7, NULL, "CAR_SEAT_THIRD_ROW_LEFT"},
                                             {"third_right", 8, NULL, "CAR_SEAT_THIRD_ROW_RIGHT"},
                                             END};

static const struct choice heater_levels[] = {{"off", 0, NULL, "SEAT_HEATER_OFF"},
                                              {"low", 1, NULL, "SEAT_HEATER_LOW"},
                                              {"medium", 2, NULL, "SEAT_HEATER_MED"},
                                              {"high", 3, NULL, "SEAT_HEATER_HIGH"},
                                              END};

static const struct choice cooler_levels[] = {
    {"off", .number = 1}, {"low", .number = 2}, {"medium", .number = 3}, {"high", .number = 4}, END};

static const struct choice front_seats[] = {{"front_left", .number = 1}, {"front_right", .number = 2}, END};

static const struct choice wheel_levels[] = {{"off", 0, NULL, "StwHeatLevel_Off"},
                                             {"low", 1, NULL, "StwHeatLevel_Low"},
                                             {"high", 3, NULL, "StwHeatLevel_High"},
                                             END};

/* vehicle_data calls the second one "on". */
static const struct choice keeper_modes[] = {{"off", .number = 0}, {"keep", .number = 1}, {"on", .number = 1},
                                             {"dog", .number = 2}, {"camp", .number = 3}, END};

static const struct choice cop_temps[] = {{"low", 0, NULL, "CopActivationTempLow"},
                                          {"medium", 1, NULL, "CopActivationTempMedium"},
                                          {"high", 2, NULL, "CopActivationTempHigh"},
                                          END};

static const struct choice parental_settings[] = {
    {"speed_limit", .text = "SpeedLimit"},         {"acceleration", .text = "Acceleration"},
    {"safety_features", .text = "SafetyFeatures"}, {"curfew", .text = "Curfew"},
    {"browser_blocked", .text = "BrowserBlocked"}, {"theater_blocked", .text = "TheaterBlocked"},
    {"arcade_blocked", .text = "ArcadeBlocked"},   END};

static const struct choice sounds[] = {{"random", .number = 0}, {"locate_ping", .number = 2000}, END};

static const struct choice stops[] = {{"unspecified", .number = 0},
                                      {"replace", .number = 1},
                                      {"prepend", .number = 2},
                                      {"append", .number = 3},
                                      END};

/* What both kinds of schedules show of what was asked for; a name is not compared, the vehicle may cut it. */
#define CHARGE_SCHEDULE "charge_schedule_data.charge_schedules[id=$id]"
#define PRECONDITION_SCHEDULE "preconditioning_schedule_data.precondition_schedules[id=$id]"
#define SCHEDULED(schedule)                                                                                  \
  schedule ".enabled = $enabled; " schedule ".days_of_week = $days_of_week; " schedule                       \
           ".one_time = $one_time; " schedule ".latitude ~ $lat; " schedule ".longitude ~ $lon"

#define MANUAL_OVERRIDE(flag)                                                                                \
  FLAG("manual_override", flag, .word = "socdoors", .field = "manual_override",                              \
       .doc =                                                                                                \
           "forces it although the battery is low, a door is open or Dog Mode is on; ask the user first. "   \
           "The plain form takes the text socdoors, too")

#define PUBLIC_KEY(place, sentence)                                                                          \
  { "public_key", IN_BODY, TYPE_PUBLIC_KEY, REQUIRED, .field = place, .doc = sentence }
#define SAMPLE_KEY                                                                                           \
  "public_key = "                                                                                            \
  "\"046b17d1f2e12c4247f8bce6e563a440f277037d812deb33a0f4a13945d898c2964fe342e2fe1a7f9b8ee7eb4a7c0f9e162b"   \
  "ce33576b315ececbb6406837bf51f5\""
/* Signed only, and no command of the published interface: the message is. */
#define SIGNED_ONLY ROW_NEEDS_PROTOCOL | ROW_UNPUBLISHED
#define LID(words)                                                                                           \
  "body_controller.closures.front_trunk in " words " when $which_trunk=front; "                              \
  "body_controller.closures.rear_trunk in " words " when $which_trunk=rear"
#define MANAGERS "fleet manager or owner"
#define CHARGES ROW_CHARGING_SCOPE
#define SETS ROW_IDEMPOTENT
#define CLIMATE_ON " Needs preconditioning or climate keeper on."

const struct row command_rows[] = {
    /* ---- doors, trunks, windows ---- */
    COMMAND("door_lock", SETS, "Locks the doors.", BARE, SECURITY("RKEAction=RKE_ACTION_LOCK"),
            .settle = "vehicle_state.locked = true"),
    COMMAND("door_unlock", 0, "Unlocks the doors.", BARE, SECURITY("RKEAction=RKE_ACTION_UNLOCK"),
            .settle = "vehicle_state.locked = false"),
    COMMAND("actuate_trunk", 0, "Opens the front trunk, or opens or closes the rear one.",
            PARAMS(TEXT("which_trunk", REQUIRED, .choices = trunks, .field = ".", .doc = "which of the two")),
            SECURITY("closureMoveRequest"), .example = "{ which_trunk = \"rear\" }"),
    /* Never repeated by itself: a repeat would open again what a person closed meanwhile. */
    COMMAND("open_trunk", SIGNED_ONLY, "Opens a trunk. A trunk that is open stays open.",
            PARAMS(TEXT("which_trunk", REQUIRED, .choices = opened_trunks, .field = ".",
                        .doc = "which of the two")),
            SECURITY("closureMoveRequest"), .settle = LID("open|opening|ajar"),
            .example = "{ which_trunk = \"rear\" }"),
    COMMAND("close_trunk", SETS | SIGNED_ONLY,
            "Closes a trunk that has a motor; few front ones have one. A trunk that is closed stays closed.",
            PARAMS(TEXT("which_trunk", REQUIRED, .choices = closed_trunks, .field = ".",
                        .doc = "which of the two")),
            SECURITY("closureMoveRequest"), .settle = LID("closed|closing"),
            .example = "{ which_trunk = \"rear\" }"),
    COMMAND("open_tonneau", 0, "Opens the tonneau cover.", BARE,
            SECURITY("closureMoveRequest; tonneau=CLOSURE_MOVE_TYPE_OPEN")),
    COMMAND("close_tonneau", 0, "Closes the tonneau cover.", BARE,
            SECURITY("closureMoveRequest; tonneau=CLOSURE_MOVE_TYPE_CLOSE")),
    COMMAND("stop_tonneau", 0, "Stops the tonneau cover.", BARE,
            SECURITY("closureMoveRequest; tonneau=CLOSURE_MOVE_TYPE_STOP")),
    COMMAND("window_control", 0,
            "Vents or closes the windows; the plain form closes them only with a position near the vehicle, "
            "except on "
            "the Model 3 platform.",
            PARAMS(TEXT("command", REQUIRED, .choices = window_moves, .field = ".", .doc = "what to do"),
                   LAT(0), LON(0)),
            INFO("vehicleControlWindowAction"), .example = "{ command = \"vent\" }"),
    COMMAND("sun_roof_control", ROW_EITHER_FORM, "Moves the sun roof.",
            PARAMS(TEXT("state", REQUIRED, .choices = sun_roof_states, .field = ".",
                        .doc = "what to do; stop has no signed form, open no published plain one")),
            INFO("vehicleControlSunroofOpenCloseAction"), .example = "{ state = \"vent\" }"),
    COMMAND("remote_start_drive", 0,
            "Allows driving without a key for two minutes. Needs keyless driving enabled.", BARE,
            SECURITY("RKEAction=RKE_ACTION_REMOTE_DRIVE"), .settle = "vehicle_state.remote_start = true"),
    COMMAND("trigger_homelink", 0, "Opens or closes what HomeLink is taught to, such as a garage door.",
            PARAMS(LAT(REQUIRED, .field = "location.latitude"), LON(REQUIRED, .field = "location.longitude"),
                   TEXT("token", SECRET, .doc = "taken by the plain form")),
            INFO("vehicleControlTriggerHomelinkAction"), .example = "{ lat = 52.52, lon = 13.405 }"),

    /* ---- attention ---- */
    COMMAND("flash_lights", 0, "Flashes the lights. Needs park.", BARE,
            INFO("vehicleControlFlashLightsAction")),
    COMMAND("honk_horn", 0, "Sounds the horn twice. Needs park.", BARE, INFO("vehicleControlHonkHornAction")),
    COMMAND("remote_boombox", ROW_EITHER_FORM, "Plays a sound on the external speaker.",
            PARAMS(INTEGER("sound", REQUIRED, .choices = sounds, .field = "sound", .doc = "which sound")),
            INFO("boomboxAction"), .example = "{ sound = \"locate_ping\" }"),

    /* ---- charging ---- */
    COMMAND("charge_start", SETS | CHARGES, "Starts charging.", BARE, INFO("chargingStartStopAction; start"),
            .settle = "charge_state.charging_state in Starting|Charging|Complete"),
    COMMAND("charge_stop", SETS | CHARGES, "Stops charging.", BARE, INFO("chargingStartStopAction; stop"),
            .settle = "charge_state.charging_state in Stopped|Complete|Disconnected|NoPower"),
    COMMAND("charge_standard", SETS | CHARGES, "Sets the charge limit to the standard.", BARE,
            INFO("chargingStartStopAction; start_standard"),
            .settle = "charge_state.charge_limit_soc = @charge_state.charge_limit_soc_std"),
    COMMAND("charge_max_range", SETS | CHARGES, "Sets the charge limit to the maximum.", BARE,
            INFO("chargingStartStopAction; start_max_range"),
            .settle = "charge_state.charge_limit_soc = @charge_state.charge_limit_soc_max"),
    COMMAND("charge_port_door_open", CHARGES, "Opens the charge port door or releases the cable.", BARE,
            INFO("chargePortDoorOpen"), .settle = "charge_state.charge_port_door_open = true"),
    COMMAND("charge_port_door_close", CHARGES, "Closes the charge port door.", BARE,
            INFO("chargePortDoorClose"), .settle = "charge_state.charge_port_door_open = false"),
    COMMAND(
        "set_charge_limit", SETS | CHARGES, "Sets the charge limit.",
        PARAMS(INTEGER("percent", REQUIRED, .min = 50, .max = 100, .unit = "percent", .field = "percent",
                       .doc = "of the battery; the vehicle's own bounds are charge_limit_soc_min and _max")),
        INFO("chargingSetLimitAction"), .settle = "charge_state.charge_limit_soc = $percent",
        .example = "{ percent = 80 }"),
    COMMAND(
        "set_charging_amps", SETS | CHARGES, "Sets the charging current.",
        PARAMS(INTEGER("charging_amps", REQUIRED, .min = 0, .max = 80, .unit = "A", .field = "charging_amps",
                       .doc = "the vehicle's own bound is charge_current_request_max")),
        INFO("setChargingAmpsAction"), .settle = "charge_state.charge_current_request = $charging_amps",
        .example = "{ charging_amps = 16 }"),
    COMMAND("set_scheduled_charging", CHARGES | ROW_DEPRECATED,
            "Starts charging at a time of day; newer firmware adds a schedule with every call.",
            PARAMS(FLAG("enable", REQUIRED, .field = "enabled", .doc = "true uses the time"),
                   MINUTES("time", 0, .required_with = "enable", .field = "charging_time",
                           .doc = "when to start, vehicle's local time")),
            INFO("scheduledChargingAction"), .until = "2024.26", .replacement = "add_charge_schedule",
            .example = "{ enable = true, time = 120 }"),
    COMMAND(
        "set_scheduled_departure", CHARGES | ROW_DEPRECATED,
        "Has the vehicle charged and conditioned at a time of day; newer firmware adds a schedule with every "
        "call.",
        PARAMS(FLAG("enable", REQUIRED | SWITCH, .field = "enabled", .doc = "false clears everything"),
               MINUTES("departure_time", 0, .required_with = "enable", .field = "departure_time",
                       .doc = "when to be ready, local time"),
               FLAG("preconditioning_enabled", 0, .field = "preconditioning_times.all_week",
                    .doc = "condition the cabin"),
               FLAG("preconditioning_weekdays_only", 0, .field = "preconditioning_times.weekdays",
                    .doc = "on weekdays only; wins over preconditioning_enabled"),
               FLAG("off_peak_charging_enabled", 0, .field = "off_peak_charging_times.all_week",
                    .doc = "charge at off-peak hours"),
               FLAG("off_peak_charging_weekdays_only", 0, .field = "off_peak_charging_times.weekdays",
                    .doc = "on weekdays only; wins over off_peak_charging_enabled"),
               MINUTES("end_off_peak_time", 0,
                       .required_with = "off_peak_charging_enabled off_peak_charging_weekdays_only",
                       .field = "off_peak_hours_end_time", .doc = "when off-peak hours end, local time")),
        INFO("scheduledDepartureAction"), .until = "2024.26", .replacement = "add_precondition_schedule",
        .example = "{ enable = true, departure_time = 450, preconditioning_enabled = true }"),
    COMMAND(
        "add_charge_schedule", CHARGES | ROW_IDEMPOTENT_WITH_ID,
        "Adds a charging schedule with a start, an end or both, or replaces the one with this id.",
        PARAMS(DAYS,
               FLAG("enabled", REQUIRED, .one_true = "start_enabled end_enabled", .field = "enabled",
                    .doc = "the schedule is in use"),
               LAT(REQUIRED, .field = "latitude"), LON(REQUIRED, .field = "longitude"),
               FLAG("start_enabled", REQUIRED, .field = "start_enabled", .doc = "start_time counts"),
               MINUTES("start_time", 0, .required_with = "start_enabled", .field = "start_time",
                       .doc = "when to start, local time"),
               FLAG("end_enabled", REQUIRED, .field = "end_enabled", .doc = "end_time counts"),
               MINUTES("end_time", 0, .required_with = "end_enabled", .field = "end_time",
                       .doc = "when to end, local time"),
               FLAG("one_time", 0, .field = "one_time", .doc = "once, then it is done"),
               SCHEDULE_ID(
                   FRESH_ID,
                   .doc = "your number for it; without one every call adds a schedule with a fresh number"),
               TEXT("name", 0, .field = "name", .doc = "a name for people")),
        INFO("addChargeScheduleAction"),
        .settle = SCHEDULED(
            CHARGE_SCHEDULE) "; " CHARGE_SCHEDULE ".start_enabled = $start_enabled; " CHARGE_SCHEDULE
                             ".start_time = $start_time when $start_enabled=true; " CHARGE_SCHEDULE
                             ".end_enabled = $end_enabled; " CHARGE_SCHEDULE
                             ".end_time = $end_time when $end_enabled=true",
        .since = "2024.26",
        .example = "{ id = 1, days_of_week = { \"mon\", \"tue\" }, enabled = true, start_enabled = true, "
                   "start_time = 120, end_enabled = false, lat = 52.52, lon = 13.405 }"),
    COMMAND("remove_charge_schedule", SETS | CHARGES, "Removes a charging schedule.",
            PARAMS(SCHEDULE_ID(REQUIRED, .doc = "the schedule")), INFO("removeChargeScheduleAction"),
            .settle = CHARGE_SCHEDULE " = false", .since = "2024.26", .example = "{ id = 1 }"),
    COMMAND("batch_remove_charge_schedules", SETS | CHARGES, "Removes the charging schedules of places.",
            PARAMS(FLAG("home", 0, .field = "home", .doc = "those at home"),
                   FLAG("work", 0, .field = "work", .doc = "those at work"),
                   FLAG("other", 0, .field = "other", .doc = "those elsewhere")),
            INFO("batchRemoveChargeSchedulesAction"), .since = "2024.26", .example = "{ home = true }"),
    COMMAND(
        "set_managed_charge_current_request", CHARGES | ROW_BODY_AS_GIVEN,
        "Managed charging of fleets: the current in amperes. The body is not published and sent as given.",
        .params = no_params, .example = "{ charging_amps = 16 }"),
    COMMAND("set_managed_charger_location", CHARGES | ROW_BODY_AS_GIVEN,
            "Managed charging of fleets: where it applies. The body is not published and sent as given.",
            .params = no_params, .example = "{ location = { lat = 52.52, lon = 13.405 } }"),
    COMMAND("set_managed_scheduled_charging_time", CHARGES | ROW_BODY_AS_GIVEN,
            "Managed charging of fleets: when it starts. The body is not published and sent as given.",
            .params = no_params, .example = "{ time = 120 }"),

    /* ---- climate ---- */
    COMMAND("auto_conditioning_start", SETS, "Starts conditioning the cabin.", PARAMS(MANUAL_OVERRIDE(0)),
            .example = "", INFO("hvacAutoAction; power_on=true"),
            .settle = "climate_state.is_climate_on = true"),
    COMMAND("auto_conditioning_stop", SETS, "Stops conditioning the cabin.", BARE, INFO("hvacAutoAction"),
            .settle = "climate_state.is_climate_on = false"),
    COMMAND(
        "set_temps", SETS,
        "Sets the cabin temperatures. Of one alone the other is read first and sent as it is, because a "
        "missing one counts as the lowest.",
        PARAMS(
            CELSIUS("driver_temp", .field = "driver_temp_celsius",
                    .doc = "driver's side; the vehicle's own bounds are min_avail_temp and max_avail_temp"),
            CELSIUS("passenger_temp", .field = "passenger_temp_celsius", .doc = "passenger's side")),
        INFO("hvacTemperatureAdjustmentAction; level.TEMP_MAX"),
        .settle = "climate_state.driver_temp_setting ~ $driver_temp; "
                  "climate_state.passenger_temp_setting ~ $passenger_temp",
        .example = "{ driver_temp = 21.5, passenger_temp = 20 }"),
    COMMAND("set_preconditioning_max", SETS, "Defrosts with everything at the maximum.",
            PARAMS(ON, MANUAL_OVERRIDE(0)), INFO("hvacSetPreconditioningMaxAction"),
            .settle =
                "climate_state.defrost_mode = 2 when $on=true; climate_state.defrost_mode = 0 when $on=false",
            .example = "{ on = true }"),
    COMMAND("set_climate_keeper_mode", SETS, "Keeps the climate while the vehicle is parked.",
            PARAMS(INTEGER("climate_keeper_mode", REQUIRED, .choices = keeper_modes,
                           .field = "ClimateKeeperAction", .doc = "what for"),
                   MANUAL_OVERRIDE(0)),
            INFO("hvacClimateKeeperAction"),
            .settle = "climate_state.climate_keeper_mode = $climate_keeper_mode",
            .example = "{ climate_keeper_mode = \"dog\" }"),
    COMMAND("set_bioweapon_mode", SETS, "Switches the strongest air filtering.",
            PARAMS(ON, MANUAL_OVERRIDE(REQUIRED)), INFO("hvacBioweaponModeAction"),
            .settle = "climate_state.bioweapon_mode = $on",
            .example = "{ on = true, manual_override = false }"),
    COMMAND("set_cabin_overheat_protection", SETS, "Keeps the parked cabin from overheating.",
            PARAMS(ON, FLAG("fan_only", 0, .field = "fan_only", .doc = "with the fan only, without cooling")),
            INFO("setCabinOverheatProtectionAction"),
            .settle = "climate_state.cabin_overheat_protection = Off when $on=false; "
                      "climate_state.cabin_overheat_protection in On|FanOnly when $on=true; "
                      "climate_state.cabin_overheat_protection = On when $on=true $fan_only=false; "
                      "climate_state.cabin_overheat_protection = FanOnly when $on=true $fan_only=true",
            .example = "{ on = true, fan_only = false }"),
    COMMAND("set_cop_temp", SETS, "Sets when overheat protection acts; does not switch it on.",
            PARAMS(INTEGER("cop_temp", REQUIRED, .choices = cop_temps, .field = "copActivationTemp",
                           .doc = "low 30 °C (90 °F), medium 35 °C (95 °F), high 40 °C (100 °F)")),
            INFO("setCopTempAction"), .settle = "climate_state.cop_activation_temperature = $cop_temp",
            .example = "{ cop_temp = \"medium\" }"),
    COMMAND("remote_seat_heater_request", SETS, "Heats a seat." CLIMATE_ON,
            PARAMS(INTEGER("seat_position", REQUIRED, .former = "heater", .choices = heater_seats,
                           .field = "hvacSeatHeaterAction",
                           .doc = "which seat; numbers differ from the other seat commands"),
                   INTEGER("level", REQUIRED, .choices = heater_levels, .field = "hvacSeatHeaterAction",
                           .doc = "how much; 0 is off")),
            INFO("hvacSeatHeaterActions"),
            .settle = "climate_state.seat_heater_left = $level when $seat_position=front_left; "
                      "climate_state.seat_heater_right = $level when $seat_position=front_right; "
                      "climate_state.seat_heater_rear_left = $level when $seat_position=rear_left; "
                      "climate_state.seat_heater_rear_center = $level when $seat_position=rear_center; "
                      "climate_state.seat_heater_rear_right = $level when $seat_position=rear_right",
            .example = "{ seat_position = \"front_left\", level = \"high\" }"),
    COMMAND("remote_seat_cooler_request", SETS, "Cools a seat." CLIMATE_ON,
            PARAMS(INTEGER("seat_position", REQUIRED, .choices = front_seats,
                           .field = "hvacSeatCoolerAction.seat_position", .doc = "which seat"),
                   INTEGER("seat_cooler_level", REQUIRED, .choices = cooler_levels,
                           .field = "hvacSeatCoolerAction.seat_cooler_level", .doc = "how much; 1 is off")),
            INFO("hvacSeatCoolerActions"),
            .example = "{ seat_position = \"front_left\", seat_cooler_level = \"low\" }"),
    COMMAND(
        "remote_auto_seat_climate_request", SETS, "Lets a seat heat and cool by itself." CLIMATE_ON,
        PARAMS(INTEGER("auto_seat_position", REQUIRED, .choices = front_seats,
                       .field = "carseat.seat_position", .doc = "which seat"),
               FLAG("auto_climate_on", REQUIRED, .field = "carseat.on", .doc = "true switches it on")),
        INFO("autoSeatClimateAction"),
        .settle =
            "climate_state.auto_seat_climate_left = $auto_climate_on when $auto_seat_position=front_left; "
            "climate_state.auto_seat_climate_right = $auto_climate_on when "
            "$auto_seat_position=front_right",
        .example = "{ auto_seat_position = \"front_left\", auto_climate_on = true }"),
    COMMAND("remote_steering_wheel_heater_request", SETS,
            "Heats the steering wheel of vehicles that do not heat it by themselves." CLIMATE_ON,
            PARAMS(FLAG("on", REQUIRED, .field = "power_on", .doc = "true switches it on")),
            INFO("hvacSteeringWheelHeaterAction"), .settle = "climate_state.steering_wheel_heater = $on",
            .example = "{ on = true }"),
    COMMAND("remote_steering_wheel_heat_level_request", SETS | ROW_EITHER_FORM,
            "Sets how much the steering wheel is heated." CLIMATE_ON,
            PARAMS(INTEGER("level", REQUIRED, .choices = wheel_levels, .field = "stw_heat_level",
                           .doc = "how much; there is no level 2: it is refused")),
            INFO("stwHeatLevelAction"), .settle = "climate_state.steering_wheel_heat_level = $level",
            .example = "{ level = \"high\" }"),
    COMMAND("remote_auto_steering_wheel_heat_climate_request", SETS | ROW_EITHER_FORM,
            "Lets the steering wheel heat by itself." CLIMATE_ON, PARAMS(ON), INFO("autoStwHeatAction"),
            .settle = "climate_state.auto_steering_wheel_heat = $on", .example = "{ on = true }"),
    COMMAND(
        "add_precondition_schedule", ROW_IDEMPOTENT_WITH_ID,
        "Adds a preconditioning schedule, or replaces the one with this id.",
        PARAMS(DAYS, FLAG("enabled", REQUIRED, .field = "enabled", .doc = "the schedule is in use"),
               LAT(REQUIRED, .field = "latitude"), LON(REQUIRED, .field = "longitude"),
               MINUTES("precondition_time", REQUIRED, .field = "precondition_time",
                       .doc = "when to be ready, local time"),
               FLAG("one_time", 0, .field = "one_time", .doc = "once, then it is done"),
               SCHEDULE_ID(
                   FRESH_ID,
                   .doc = "your number for it; without one every call adds a schedule with a fresh number"),
               TEXT("name", 0, .field = "name", .doc = "a name for people")),
        INFO("addPreconditionScheduleAction"),
        .settle = SCHEDULED(PRECONDITION_SCHEDULE) "; " PRECONDITION_SCHEDULE
                                                   ".precondition_time = $precondition_time",
        .since = "2024.26",
        .example =
            "{ id = 2, days_of_week = \"weekdays\", enabled = true, precondition_time = 450, lat = 52.52, "
            "lon = 13.405 }"),
    COMMAND("remove_precondition_schedule", SETS, "Removes a preconditioning schedule.",
            PARAMS(SCHEDULE_ID(REQUIRED, .doc = "the schedule")), INFO("removePreconditionScheduleAction"),
            .settle = PRECONDITION_SCHEDULE " = false", .since = "2024.26", .example = "{ id = 2 }"),
    COMMAND("batch_remove_precondition_schedules", SETS, "Removes the preconditioning schedules of places.",
            PARAMS(FLAG("home", 0, .field = "home", .doc = "those at home"),
                   FLAG("work", 0, .field = "work", .doc = "those at work"),
                   FLAG("other", 0, .field = "other", .doc = "those elsewhere")),
            INFO("batchRemovePreconditionSchedulesAction"), .since = "2024.26", .example = "{ home = true }"),

    /* ---- media ---- */
    COMMAND(
        "adjust_volume", SETS, "Sets the volume. Needs a user in the vehicle and mobile access enabled.",
        PARAMS(
            NUMBER("volume", REQUIRED, .min = 0, .max = 11, .signed_max = 10,
                   .field = "volume_absolute_float",
                   .doc = "the vehicle's own bound is audio_volume_max; a signed command takes 10 at most")),
        INFO("mediaUpdateVolume"), .settle = "vehicle_state.media_info.audio_volume ~ $volume",
        .example = "{ volume = 4 }"),
    COMMAND("media_volume_up", 0, "One step louder.", BARE, INFO("mediaUpdateVolume; volume_delta=1")),
    COMMAND("media_volume_down", 0, "One step quieter.", BARE, INFO("mediaUpdateVolume; volume_delta=-1")),
    COMMAND("media_toggle_playback", 0, "Plays or pauses.", BARE, INFO("mediaPlayAction")),
    COMMAND("media_next_track", 0, "Skips to the next track.", BARE, INFO("mediaNextTrack")),
    COMMAND("media_prev_track", 0, "Goes back a track.", BARE, INFO("mediaPreviousTrack")),
    COMMAND("media_next_fav", 0, "Skips to the next favourite.", BARE, INFO("mediaNextFavorite")),
    COMMAND("media_prev_fav", 0, "Goes back a favourite.", BARE, INFO("mediaPreviousFavorite")),

    /* ---- navigation and calendar ---- */
    COMMAND(
        "navigation_request", ROW_EITHER_FORM | ROW_PLAIN_FIRST,
        "Sends a place to the navigation, as the share dialogue of a phone does.",
        PARAMS(TEXT("type", 0, .fallback = "share_ext_content_raw", .doc = "the one value that is published"),
               {"value", IN_BODY, TYPE_OBJECT, REQUIRED, .field = "destination",
                .member = "android.intent.extra.TEXT",
                .doc = "the address; or the shared content, a table with android.intent.extra.TEXT"},
               TEXT("locale", 0, .fallback = "en-US", .doc = "language of the address"),
               TEXT("timestamp_ms", NUMBER_AS_TEXT | NOW, .unit = "ms", .doc = "now, as Unix time")),
        INFO("navigationRequest"), .example = "{ value = \"Alexanderplatz 1, Berlin\" }"),
    COMMAND("navigation_gps_request", ROW_EITHER_FORM, "Navigates to coordinates.",
            PARAMS(LAT(REQUIRED, .field = "lat"), LON(REQUIRED, .field = "lon"), STOP_ORDER("order")),
            INFO("navigationGpsRequest"), .example = "{ lat = 52.52, lon = 13.405, order = \"replace\" }"),
    COMMAND("navigation_sc_request", ROW_EITHER_FORM, "Navigates to a charging site.",
            PARAMS({"id", IN_BODY, TYPE_ID, REQUIRED, .min = 0, .max = 9007199254740991.0, .field = "id",
                    .doc = "the site, as in nearby_charging_sites"},
                   STOP_ORDER("remote_nav_trip_order")),
            INFO("navigationSuperchargerRequest"), .example = "{ id = 190, order = \"replace\" }"),
    COMMAND("navigation_waypoints_request", ROW_EITHER_FORM, "Sends a list of waypoints to the navigation.",
            PARAMS(TEXT("waypoints", REQUIRED | FILLED | JOINED, .field = "waypoints",
                        .doc = "refId:<place id>, a list of them or one text joined by commas")),
            INFO("navigationWaypointsRequest"),
            .example = "{ waypoints = \"refId:ChIJAVkDPzdOqEcRcDteW0YgIQQ\" }"),
    COMMAND(
        "upcoming_calendar_entries", ROW_EITHER_FORM, "Stores calendar entries in the vehicle.",
        PARAMS(TEXT("calendar_data", REQUIRED | OBJECT_TOO, .field = "calendar_data",
                    .doc = "the entries. Their form is not published; clients send JSON text or an object")),
        INFO("uiSetUpcomingCalendarEntries"), .example = "{ calendar_data = \"[]\" }"),
    COMMAND("take_drivenote", 0, "Records a note for the vehicle's maker.",
            PARAMS(TEXT("note", REQUIRED | FILLED, .doc = "the service cuts it at 80 characters")),
            .example = "{ note = \"rattle at the front left\" }"),

    /* ---- software and power ---- */
    COMMAND("schedule_software_update", 0, "Installs a waiting update later.",
            PARAMS(INTEGER("offset_sec", REQUIRED, .min = 0, .max = 2147483647, .unit = "s",
                           .field = "offset_sec", .doc = "from now")),
            INFO("vehicleControlScheduleSoftwareUpdateAction"),
            .settle = "vehicle_state.software_update.status in scheduled|installing",
            .example = "{ offset_sec = 7200 }"),
    COMMAND("cancel_software_update", 0, "Cancels an update whose installation has not begun.", BARE,
            INFO("vehicleControlCancelSoftwareUpdateAction"),
            .settle = "vehicle_state.software_update.status = available"),
    COMMAND("set_low_power_mode", SETS | ROW_NEEDS_PROTOCOL, "Saves energy while parked.",
            PARAMS(FLAG("enable", REQUIRED, .field = "low_power_mode", .doc = "true switches it on")),
            INFO("setLowPowerModeAction"), .example = "{ enable = true }"),
    COMMAND(
        "keep_accessory_power_mode", SETS | ROW_NEEDS_PROTOCOL, "Keeps the accessory power on while parked.",
        PARAMS(FLAG("enable", REQUIRED, .field = "keep_accessory_power_mode", .doc = "true switches it on")),
        INFO("setKeepAccessoryPowerModeAction"), .example = "{ enable = true }"),

    /* ---- access, PINs, modes ---- */
    COMMAND("set_sentry_mode", SETS, "Switches Sentry Mode.", PARAMS(ON),
            INFO("vehicleControlSetSentryModeAction"), .settle = "vehicle_state.sentry_mode = $on",
            .example = "{ on = true }"),
    COMMAND("set_valet_mode", SETS, "Switches Valet Mode; the PIN switches it off in the vehicle.",
            PARAMS(FLAG("on", REQUIRED | SWITCH, .field = "on", .doc = "true switches it on"),
                   PIN_CODE("password", 0, .required_with = "on", .field = "password",
                            .doc = "the PIN to switch it on; the plain form takes it to switch it off, too; "
                                   "signed, no PIN is sent then and none is checked")),
            INFO("vehicleControlSetValetModeAction"), .settle = "vehicle_state.valet_mode = $on",
            .example = "{ on = true, password = \"1234\" }"),
    COMMAND("reset_valet_pin", 0, "Forgets the PIN of Valet Mode, which must be off.", BARE,
            INFO("vehicleControlResetValetPinAction")),
    COMMAND("set_pin_to_drive", SETS | ROW_NEEDS_PROTOCOL,
            "Switches PIN to Drive; a PIN that is stored already stays as it is.",
            PARAMS(ON, PIN_CODE("password", 0, .field = "password",
                                .doc = "the PIN; taken only when none is stored")),
            INFO("vehicleControlSetPinToDriveAction"), .who = MANAGERS,
            .example = "{ on = true, password = \"1234\" }"),
    COMMAND("reset_pin_to_drive_pin", ROW_NEEDS_PROTOCOL,
            "Forgets the PIN of PIN to Drive, which must not be active.", BARE,
            INFO("vehicleControlResetPinToDriveAction"), .who = MANAGERS),
    COMMAND("clear_pin_to_drive_admin", 0, "Switches PIN to Drive off and forgets its PIN.", BARE,
            INFO("vehicleControlResetPinToDriveAdminAction"), .since = "2023.44", .who = MANAGERS),
    COMMAND("speed_limit_activate", SETS, "Switches Speed Limit Mode on.",
            PARAMS(PIN_CODE("pin", REQUIRED, .field = "pin", .doc = "four digits")),
            INFO("drivingSpeedLimitAction; activate=true"),
            .settle = "vehicle_state.speed_limit_mode.active = true", .example = "{ pin = \"1234\" }"),
    COMMAND("speed_limit_deactivate", SETS, "Switches Speed Limit Mode off.",
            PARAMS(PIN_CODE("pin", REQUIRED, .field = "pin", .doc = "the PIN that switched it on")),
            INFO("drivingSpeedLimitAction"), .settle = "vehicle_state.speed_limit_mode.active = false",
            .example = "{ pin = \"1234\" }"),
    COMMAND("speed_limit_set_limit", SETS, "Sets the limit of Speed Limit Mode.",
            PARAMS(NUMBER("limit_mph", REQUIRED, .min = 50, .max = 120, .unit = "mph", .field = "limit_mph",
                          .doc = "the vehicle's own bounds are min_limit_mph and max_limit_mph")),
            INFO("drivingSetSpeedLimitAction"),
            .settle = "vehicle_state.speed_limit_mode.current_limit_mph ~ $limit_mph",
            .example = "{ limit_mph = 70 }"),
    COMMAND("speed_limit_clear_pin", 0, "Switches Speed Limit Mode off and forgets its PIN.",
            PARAMS(PIN_CODE("pin", REQUIRED, .field = "pin", .doc = "the PIN that switched it on")),
            INFO("drivingClearSpeedLimitPinAction"),
            .settle = "vehicle_state.speed_limit_mode.pin_code_set = false", .example = "{ pin = \"1234\" }"),
    COMMAND("speed_limit_clear_pin_admin", 0,
            "Switches Speed Limit Mode off and forgets its PIN, without knowing it.", BARE,
            INFO("drivingClearSpeedLimitPinAdminAction"), .since = "2023.38", .who = MANAGERS,
            .settle = "vehicle_state.speed_limit_mode.pin_code_set = false"),
    COMMAND("parental_controls_activate", SETS, "Switches Parental Controls on.",
            PARAMS(PIN_CODE("pin", REQUIRED, .field = "pin", .doc = "four digits")),
            INFO("parentalControlsAction; activate=true"), .example = "{ pin = \"1234\" }"),
    COMMAND("parental_controls_deactivate", SETS, "Switches Parental Controls off.",
            PARAMS(PIN_CODE("pin", REQUIRED, .field = "pin", .doc = "the PIN that switched it on")),
            INFO("parentalControlsAction"), .example = "{ pin = \"1234\" }"),
    COMMAND("parental_controls_clear_pin", ROW_UNPUBLISHED,
            "Switches Parental Controls off and forgets their PIN.",
            PARAMS(PIN_CODE("pin", REQUIRED, .field = "pin", .doc = "the PIN that switched them on")),
            INFO("parentalControlsClearPinAction"), .example = "{ pin = \"1234\" }"),
    COMMAND("parental_controls_clear_pin_admin", 0,
            "Forgets the PIN of Parental Controls, without knowing it.", BARE,
            INFO("parentalControlsClearPinAdminAction"), .who = MANAGERS),
    COMMAND("parental_controls_enable_setting", SETS,
            "Chooses what Parental Controls restrict, only while they are not active.",
            PARAMS(TEXT("setting", REQUIRED, .choices = parental_settings, .field = "setting", .doc = "what"),
                   FLAG("enable", REQUIRED, .field = "enable", .doc = "true restricts it")),
            INFO("parentalControlsEnableSettingsAction"),
            .example = "{ setting = \"curfew\", enable = true }"),
    COMMAND("parental_controls_set_speed_limit", SETS,
            "Sets the speed limit of Parental Controls, only while they are not active; needs the setting "
            "SpeedLimit.",
            PARAMS(NUMBER("limit_mph", REQUIRED, .min = 1, .max = 200, .unit = "mph", .field = "limit_mph",
                          .doc = "the limit")),
            INFO("parentalControlsSetSpeedLimitAction"), .example = "{ limit_mph = 65 }"),
    COMMAND("guest_mode", SETS, "Switches Guest Mode, which restricts what can be set in the vehicle.",
            PARAMS(FLAG("enable", REQUIRED, .field = "GuestModeActive", .doc = "true switches it on")),
            INFO("guestModeAction"), .example = "{ enable = true }"),
    COMMAND("erase_user_data", 0, "Erases the user's data in the vehicle. Needs park and Guest Mode.", BARE,
            INFO("eraseUserDataAction")),
    COMMAND("add_key", SIGNED_ONLY | ROW_BY_NAME_ONLY,
            "Gives a key access to the vehicle; needs an owner's key.",
            PARAMS(PUBLIC_KEY("addKeyToWhitelistAndAddPermissions.key.PublicKeyRaw",
                              "the key that is to open the vehicle: PEM text, 130 hex digits or 65 bytes"),
                   TEXT("role", REQUIRED, .choices = key_roles,
                        .field = "addKeyToWhitelistAndAddPermissions.keyRole",
                        .doc = "what it may do; owner and fleet_manager with force = true only"),
                   TEXT("form_factor", 0, .choices = form_factors, .field = "metadataForKey.keyFormFactor",
                        .doc = "what holds it, as the vehicle shows it")),
            SECURITY("WhitelistOperation"), .settle = "keys.list[public_key=$public_key].role = $role",
            .who = "owner", .example = "{ " SAMPLE_KEY ", role = \"driver\" }"),
    COMMAND(
        "remove_key", SETS | SIGNED_ONLY | ROW_BY_NAME_ONLY,
        "Takes a key's access away; needs an owner's key. The client's own key goes with force = true only.",
        PARAMS(PUBLIC_KEY("removePublicKeyFromWhitelist.PublicKeyRaw", "the key, as car:keys() shows it")),
        SECURITY("WhitelistOperation"), .settle = "keys.list[public_key=$public_key] = false", .who = "owner",
        .example = "{ " SAMPLE_KEY " }"),
    COMMAND("set_vehicle_name", SETS | ROW_NEEDS_PROTOCOL, "Names the vehicle; not in Guest Mode.",
            PARAMS(TEXT("vehicle_name", REQUIRED | FILLED, .field = "vehicleName", .doc = "the name")),
            INFO("setVehicleNameAction"), .settle = "vehicle_state.vehicle_name = $vehicle_name",
            .example = "{ vehicle_name = \"Blue\" }"),
    END};

const size_t command_count = sizeof command_rows / sizeof *command_rows - 1;
