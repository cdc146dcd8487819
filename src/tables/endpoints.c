/* The endpoints: doc/protocol.md#the-service.
 *
 * Billing: the service prices data, commands, wakes and specs and gives sign-in and energy away
 * (doc/protocol.md#prices). A read about a vehicle is counted as data; what fits none of these classes is
 * counted as free. Scopes: doc/protocol.md#scopes. Tokens: doc/protocol.md#token-kinds.
 */
#include "tables/rows.h"

#define END                                                                                                  \
  { .name = NULL }
#define PARAMS(...)                                                                                          \
  (const struct param[]) {                                                                                   \
    __VA_ARGS__, END                                                                                         \
  }
#define VIN                                                                                                  \
  { "vin", IN_PATH, TYPE_VIN, REQUIRED, .doc = "the vehicle: its VIN or its numeric id" }
#define VIN_QUERY                                                                                            \
  { "vin", IN_QUERY, TYPE_VIN, REQUIRED, .doc = "the vehicle: its VIN" }
#define SITE                                                                                                 \
  {                                                                                                          \
    "energy_site_id", IN_PATH, TYPE_ID, REQUIRED, .min = 1, .max = 18446744073709551615.0,                   \
                                                  .doc = "the energy site, as in products"                   \
  }
#define PERCENT .min = 0, .max = 100, .unit = "percent"

/* Pages count from 1, offsets from 0. Where no largest page is published, above a million is a slip. */
#define PAGE(number, size, first, largest)                                                                   \
  {number, IN_QUERY, TYPE_INTEGER, .min = first, .max = 1e9, .doc = "where the walk starts"},                \
      {size, IN_QUERY, TYPE_INTEGER, .min = 1, .max = largest, .doc = "records per request"}, {              \
    "page_size", IN_LOCAL, TYPE_INTEGER, .min = 1, .max = largest, .doc = "another word for " size           \
  }

#define USER_OR_BUSINESS .tokens = {TOKEN_USER, TOKEN_BUSINESS}
#define PARTNER .tokens = {TOKEN_PARTNER}
#define USER .tokens = {TOKEN_USER}

#define CLIENT .handle = "client"
#define VEHICLE .handle = "vehicle", USER_OR_BUSINESS
#define VEHICLE_READ                                                                                         \
  VEHICLE, .verb = "GET", .scope = "vehicle_device_data", .billing = BILLED_DATA, .params = PARAMS(VIN)
#define ENERGY .handle = "site", USER_OR_BUSINESS, .billing = BILLED_FREE
#define ENERGY_READ ENERGY, .verb = "GET", .scope = "energy_device_data"
#define ENERGY_SETTING(more)                                                                                 \
  ENERGY, .verb = "POST", .scope = "energy_cmds", .value = VALUE_OBJECT | VALUE_TEXT | VALUE_BOOLEAN,        \
          .flags = ROW_SETTING | ROW_IDEMPOTENT | (more)
#define PARTNER_ACCOUNT .handle = "partner", PARTNER, .billing = BILLED_FREE
#define USERS                                                                                                \
  .handle = "user", USER, .verb = "GET", .scope = "user_data", .billing = BILLED_FREE,                       \
  .flags = ROW_NO_BUSINESS
#define CHARGING .handle = "charging", .verb = "GET", .scope = "vehicle_charging_cmds", .billing = BILLED_FREE

#define RECORD_IDS "id vehicle_id user_id"
#define INVITATION_IDS "id owner_id share_user_id share_user_sso_id product_id borrowing_device_id key_id"

static const struct choice sections[] = {
    {"charge_state", .text = "charge_state"},
    {"climate_state", .text = "climate_state"},
    {"closures_state", .text = "closures_state"},
    {"drive_state", .text = "drive_state"},
    {"gui_settings", .text = "gui_settings"},
    {"location_data", .text = "location_data"},
    {"charge_schedule_data", .text = "charge_schedule_data"},
    {"preconditioning_schedule_data", .text = "preconditioning_schedule_data"},
    {"vehicle_config", .text = "vehicle_config"},
    {"vehicle_state", .text = "vehicle_state"},
    {"vehicle_data_combo", .text = "vehicle_data_combo"},
    END};

static const struct choice audiences[] = {{"fleet", .text = "fleet"}, {"vehicle", .text = "vehicle"}, END};

static const struct choice periods[] = {{"day", .text = "day"},           {"week", .text = "week"},
                                        {"month", .text = "month"},       {"year", .text = "year"},
                                        {"lifetime", .text = "lifetime"}, END};

static const struct choice modes[] = {
    {"autonomous", .text = "autonomous"}, {"self_consumption", .text = "self_consumption"}, END};
static const struct choice backup_mode = {"backup", .text = "backup"};

static const struct choice export_rules[] = {
    {"battery_ok", .text = "battery_ok"}, {"pv_only", .text = "pv_only"}, {"never", .text = "never"}, END};

static const struct choice orders[] = {{"asc", .text = "ASC"}, {"desc", .text = "DESC"}, END};

#define START_DATE                                                                                           \
  { "start_date", IN_QUERY, TYPE_TIME, .doc = "begin of the range, included" }
#define END_DATE                                                                                             \
  { "end_date", IN_QUERY, TYPE_TIME, .doc = "end of the range, excluded" }
#define PERIOD                                                                                               \
  {                                                                                                          \
    "period", IN_QUERY, TYPE_STRING, .choices = periods,                                                     \
                                     .doc = "how far the reply reaches: its entries are shorter"             \
  }
#define DAY                                                                                                  \
  { "day", IN_LOCAL, TYPE_DATE, .doc = "a local date in place of the range" }
#define SPLIT                                                                                                \
  {                                                                                                          \
    "split", IN_LOCAL, TYPE_INTEGER, .min = 1, .max = 366, .unit = "days",                                   \
                                     .doc = "a longer range of local dates is read in pieces of so many "    \
                                            "days and joined"                                                \
  }
#define TIME_ZONE                                                                                            \
  { "time_zone", IN_QUERY, TYPE_STRING, .doc = "IANA name, such as Europe/Berlin" }

const struct row endpoint_rows[] = {
    /* ---- 4.1 vehicles ---- */
    {.name = "vehicles",
     CLIENT,
     .method = "vehicles",
     .verb = "GET",
     .path = "/api/1/vehicles",
     .params = PARAMS(PAGE("page", "per_page", 1, 1e6)),
     USER_OR_BUSINESS,
     .scope = "vehicle_device_data",
     .billing = BILLED_DATA,
     .paging = PAGED_PAGE,
     .ids = RECORD_IDS,
     .value = VALUE_LIST,
     .identity = "vin id_s id",
     .doc = "The vehicles of the account, 100 to a page.",
     .example = "{ page_size = 50 }"},
    {.name = "info",
     VEHICLE_READ,
     .method = "info",
     .path = "/api/1/vehicles/{vin}",
     .ids = RECORD_IDS,
     .doc = "The record of one vehicle with its state; never wakes it and does not keep it awake.",
     .example = ""},
    {.name = "vehicle_data",
     VEHICLE,
     .method = "vehicle_data",
     .verb = "GET",
     .path = "/api/1/vehicles/{vin}/vehicle_data",
     .params =
         PARAMS(VIN, {"endpoints", IN_QUERY, TYPE_STRINGS, .choices = sections,
                      .doc = "sections to read; location needs location_data from firmware 2023.38 on, which "
                             "shows an icon in the vehicle"}),
     .scope = "vehicle_device_data",
     .billing = BILLED_DATA,
     .flags = ROW_LIVE,
     .ids = RECORD_IDS,
     .doc = "A live call to the vehicle: its present data by section. Polling it keeps the vehicle awake.",
     .example = "{ endpoints = { \"charge_state\", \"climate_state\" } }"},
    {.name = "drivers",
     VEHICLE_READ,
     .method = "drivers",
     .path = "/api/1/vehicles/{vin}/drivers",
     .who = "owner",
     .ids = "user_id my_tesla_unique_id",
     .value = VALUE_LIST,
     .identity = "user_id my_tesla_unique_id",
     .doc = "All drivers who may use the vehicle.",
     .example = ""},
    {.name = "remove_driver",
     VEHICLE,
     .method = "remove_driver",
     .verb = "DELETE",
     .path = "/api/1/vehicles/{vin}/drivers",
     .params = PARAMS(VIN, {"share_user_id", IN_QUERY, TYPE_ID,
                            .doc = "user_id of the driver; left out, the access of the caller is removed"}),
     .scope = "vehicle_cmds",
     .billing = BILLED_FREE,
     .flags = ROW_IDEMPOTENT,
     .value = VALUE_TEXT | VALUE_BOOLEAN,
     .doc = "Removes a driver. A share user removes only the own access, an owner any.",
     .example = "{ share_user_id = \"800001\" }"},
    {.name = "fleet_status",
     CLIENT,
     .method = "fleet_status",
     .verb = "POST",
     .path = "/api/1/vehicles/fleet_status",
     .params = PARAMS({"vins", IN_BODY, TYPE_VINS, REQUIRED | WHOLE, .min = 1, .max = 100,
                       .doc = "the vehicles; a longer list is sent in pieces"}),
     USER_OR_BUSINESS,
     .scope = "vehicle_device_data",
     .billing = BILLED_DATA,
     .flags = ROW_READ,
     .doc = "Firmware, keys, protocol and telemetry client of vehicles. discounted_device_data comes only "
            "for one VIN.",
     .example = "{ \"5YJ3E1EA7KF000001\" }"},
    {.name = "create_fleet_telemetry_config",
     CLIENT,
     .method = "create_fleet_telemetry_config",
     .verb = "POST",
     .path = "/api/1/vehicles/fleet_telemetry_config",
     .params = PARAMS(
         {"vins", IN_BODY, TYPE_VINS, REQUIRED, .min = 1, .max = 1e6, .doc = "the vehicles"},
         {"config", IN_BODY, TYPE_OBJECT, REQUIRED, .lists = "alert_types include_fields",
          .doc = "hostname, port, ca, fields and more; doc/manual/vehicles.md#telemetry"},
         {"audience", IN_LOCAL, TYPE_STRING, .choices = audiences,
          .doc = "signed form: fleet is for every vehicle that trusts the key, vehicle for the one named"}),
     USER_OR_BUSINESS,
     .scope = "vehicle_device_data",
     .billing = BILLED_FREE,
     .flags = ROW_IDEMPOTENT | ROW_CHECKED,
     .since = "2023.20",
     .doc = "Creates or replaces the telemetry configuration of vehicles. Through a key or the proxy it is "
            "signed and "
            "needs firmware 2024.26 (2025.20 on Intel Atom based S and X).",
     .example =
         "{ vins = { \"5YJ3E1EA7KF000001\" }, config = { hostname = \"telemetry.example.com\", port = 443, "
         "ca = \"-----BEGIN CERTIFICATE-----\", fields = { Soc = { interval_seconds = 60 } } } }"},
    {.name = "fleet_telemetry_config",
     VEHICLE_READ,
     .method = "fleet_telemetry_config",
     .path = "/api/1/vehicles/{vin}/fleet_telemetry_config",
     .doc = "The telemetry configuration, with synced and limit_reached.",
     .example = ""},
    {.name = "delete_fleet_telemetry_config",
     .handle = "vehicle",
     .method = "delete_fleet_telemetry_config",
     .verb = "DELETE",
     .path = "/api/1/vehicles/{vin}/fleet_telemetry_config",
     .params = PARAMS(VIN),
     .tokens = {TOKEN_USER, TOKEN_BUSINESS, TOKEN_PARTNER},
     .scope = "vehicle_device_data",
     .billing = BILLED_FREE,
     .flags = ROW_IDEMPOTENT,
     .doc = "Removes the telemetry configuration; with a partner token that of any vehicle.",
     .example = ""},
    {.name = "create_fleet_telemetry_config_jws",
     CLIENT,
     .method = "create_fleet_telemetry_config_jws",
     .verb = "POST",
     .path = "/api/1/vehicles/fleet_telemetry_config_jws",
     .params = PARAMS({"vins", IN_BODY, TYPE_VINS, REQUIRED, .min = 1, .max = 1e6, .doc = "the vehicles"},
                      {"token", IN_BODY, TYPE_STRING, REQUIRED | SECRET,
                       .doc = "the signed configuration, a compact JWS"}),
     USER_OR_BUSINESS,
     .scope = "vehicle_device_data",
     .billing = BILLED_FREE,
     .flags = ROW_IDEMPOTENT,
     .since = "2024.26",
     .doc = "Applies a telemetry configuration that was signed elsewhere.",
     .example = "{ vins = { \"5YJ3E1EA7KF000001\" }, token = \"e30.e30.c2ln\" }"},
    {.name = "fleet_telemetry_errors",
     VEHICLE_READ,
     .method = "fleet_telemetry_errors",
     .path = "/api/1/vehicles/{vin}/fleet_telemetry_errors",
     .bare = "fleet_telemetry_errors",
     .doc = "Telemetry errors that the vehicle reported after it received its configuration.",
     .example = ""},
    {.name = "mobile_enabled",
     VEHICLE_READ,
     .method = "mobile_enabled",
     .path = "/api/1/vehicles/{vin}/mobile_enabled",
     .value = VALUE_OBJECT | VALUE_TEXT | VALUE_BOOLEAN,
     .doc = "Whether mobile access is switched on in the vehicle.",
     .example = ""},
    {.name = "nearby_charging_sites",
     VEHICLE,
     .method = "nearby_charging_sites",
     .verb = "GET",
     .path = "/api/1/vehicles/{vin}/nearby_charging_sites",
     .params = PARAMS(
         VIN,
         {"count", IN_QUERY, TYPE_INTEGER, .min = 1, .max = 1000, .doc = "how many of each kind at most"},
         {"radius", IN_QUERY, TYPE_NUMBER, .min = 0, .max = 12500, .unit = "miles", .doc = "how far"},
         {"detail", IN_QUERY, TYPE_BOOLEAN, .doc = "with amenities and billing"}),
     .scope = "vehicle_device_data",
     .billing = BILLED_DATA,
     .flags = ROW_LIVE,
     .ids = "id",
     .doc = "Charging sites near the present place of the vehicle.",
     .example = "{ count = 3 }"},
    {.name = "service_data",
     VEHICLE_READ,
     .method = "service_data",
     .path = "/api/1/vehicles/{vin}/service_data",
     .ids = "service_visit_number",
     .value = VALUE_OBJECT | VALUE_NOTHING,
     .doc = "The state of a service visit.",
     .example = ""},
    {.name = "invitations",
     VEHICLE,
     .method = "invitations",
     .verb = "GET",
     .path = "/api/1/vehicles/{vin}/invitations",
     .params = PARAMS(VIN, PAGE("page", "per_page", 1, 25)),
     .scope = "vehicle_device_data",
     .billing = BILLED_DATA,
     .paging = PAGED_PAGE,
     .ids = INVITATION_IDS,
     .value = VALUE_LIST,
     .identity = "id_s id",
     .doc = "The active invitations to share the vehicle, at most 25 to a page.",
     .example = "{ page_size = 10 }"},
    {.name = "create_invitation",
     VEHICLE,
     .method = "create_invitation",
     .verb = "POST",
     .path = "/api/1/vehicles/{vin}/invitations",
     .params = PARAMS(VIN),
     .scope = "vehicle_cmds",
     .billing = BILLED_FREE,
     .ids = INVITATION_IDS,
     .doc = "Creates a link that gives one person access for driving: single use, valid for 24 hours.",
     .example = ""},
    {.name = "redeem_invitation",
     CLIENT,
     .method = "redeem_invitation",
     .verb = "POST",
     .path = "/api/1/invitations/redeem",
     .params =
         PARAMS({"code", IN_BODY, TYPE_STRING, REQUIRED | SECRET, .doc = "the code, or the whole link"}),
     USER_OR_BUSINESS,
     .scope = "vehicle_cmds",
     .billing = BILLED_FREE,
     .ids = "vehicle_id_s",
     .doc = "Redeems an invitation: this account gains access to the vehicle.",
     .example = "{ code = \"aqwl4JHU2q4aTeNROz8W9SpngoFvj-ReuDFIJs6-YOhA\" }"},
    {.name = "revoke_invitation",
     VEHICLE,
     .method = "revoke_invitation",
     .verb = "POST",
     .path = "/api/1/vehicles/{vin}/invitations/{id}/revoke",
     .params = PARAMS(VIN, {"id", IN_PATH, TYPE_ID, REQUIRED, .doc = "the invitation"}),
     .scope = "vehicle_cmds",
     .billing = BILLED_FREE,
     .flags = ROW_IDEMPOTENT,
     .value = VALUE_TEXT | VALUE_BOOLEAN,
     .doc = "Makes the link of an invitation invalid.",
     .example = "\"429509621657\""},
    {.name = "signed_command",
     VEHICLE,
     .method = "signed_command",
     .verb = "POST",
     .path = "/api/1/vehicles/{vin}/signed_command",
     .params = PARAMS(VIN, {"routable_message", IN_BODY, TYPE_BYTES, REQUIRED | WHOLE,
                            .doc = "a serialised RoutableMessage"}),
     .scope = "vehicle_cmds",
     .billing = BILLED_COMMAND,
     .value = VALUE_BASE64,
     .flags = ROW_LIVE | ROW_CHARGING_SCOPE,
     .doc = "Carries one message of the vehicle command protocol and returns the answer's bytes.",
     .example = "\"\\50\\0\""},
    {.name = "specs",
     .handle = "vehicle",
     .method = "specs",
     .verb = "GET",
     .path = "/api/1/vehicles/{vin}/specs",
     .params = PARAMS(VIN),
     PARTNER,
     .scope = "vehicle_specs",
     .billing = BILLED_SPECS,
     .flags = ROW_THIRD_PARTY,
     .doc =
         "Specifications as sold and the present estimate of the battery, of any vehicle. 0.10 dollars each.",
     .example = ""},
    {.name = "recent_alerts",
     VEHICLE_READ,
     .method = "recent_alerts",
     .path = "/api/1/vehicles/{vin}/recent_alerts",
     .bare = "recent_alerts",
     .doc = "Alerts that the vehicle raised recently.",
     .example = ""},
    {.name = "release_notes",
     VEHICLE,
     .method = "release_notes",
     .verb = "GET",
     .path = "/api/1/vehicles/{vin}/release_notes",
     .params =
         PARAMS(VIN, {"staged", IN_QUERY, TYPE_BOOLEAN, .doc = "of the update that waits for installation"},
                {"language", IN_QUERY, TYPE_INTEGER, .min = 0, .max = 1000, .doc = "number of a language"}),
     .scope = "vehicle_device_data",
     .billing = BILLED_DATA,
     .bare = "release_notes",
     .doc = "Release notes of the firmware.",
     .example = "{ staged = true }"},
    {.name = "wake_up",
     VEHICLE,
     .method = "wake_up",
     .verb = "POST",
     .path = "/api/1/vehicles/{vin}/wake_up",
     .params = PARAMS(VIN),
     .scope = "vehicle_cmds",
     .billing = BILLED_WAKE,
     .flags = ROW_CHARGING_SCOPE,
     .ids = RECORD_IDS,
     .doc = "Asks a sleeping vehicle to wake and returns at once; state tells when it is online, after 10 to "
            "60 s.",
     .example = ""},

    /* ---- 4.3 energy ---- */
    {.name = "products",
     CLIENT,
     .method = "products",
     .verb = "GET",
     .path = "/api/1/products",
     USER_OR_BUSINESS,
     .scope = "energy_device_data",
     .billing = BILLED_FREE,
     .ids = "id vehicle_id user_id energy_site_id gateway_id asset_site_id warp_site_number",
     .value = VALUE_LIST,
     .identity = "vin id_s id energy_site_id",
     .doc = "Vehicles and energy sites of the account in one list.",
     .example = ""},
    {.name = "backup",
     ENERGY_SETTING(0),
     .method = "backup",
     .path = "/api/1/energy_sites/{energy_site_id}/backup",
     .params = PARAMS(SITE, {"backup_reserve_percent", IN_BODY, TYPE_INTEGER, REQUIRED, PERCENT,
                             .doc = "what the battery keeps for an outage"}),
     .settle = "site_info.backup_reserve_percent = $backup_reserve_percent",
     .doc = "Sets the backup reserve.",
     .example = "{ backup_reserve_percent = 20 }"},
    {.name = "backup_history",
     ENERGY_READ,
     .method = "backup_history",
     .path = "/api/1/energy_sites/{energy_site_id}/calendar_history",
     .query = "kind=backup",
     .params = PARAMS(SITE, START_DATE, END_DATE, PERIOD, TIME_ZONE, DAY, SPLIT),
     .value = VALUE_OBJECT | VALUE_NOTHING,
     .doc = "Times without grid; durations in seconds.",
     .example = "{ start_date = \"2026-03-01T00:00:00+01:00\", end_date = \"2026-04-01T00:00:00+02:00\", "
                "period = \"month\", time_zone = \"Europe/Berlin\" }"},
    {.name = "energy_history",
     ENERGY_READ,
     .method = "energy_history",
     .path = "/api/1/energy_sites/{energy_site_id}/calendar_history",
     .query = "kind=energy",
     .params = PARAMS(SITE, START_DATE, END_DATE, PERIOD, TIME_ZONE, DAY, SPLIT),
     .value = VALUE_OBJECT | VALUE_NOTHING,
     .doc = "Energy by source and use, in Wh.",
     .example = "{ day = \"2026-03-29\", time_zone = \"Europe/Berlin\" }"},
    {.name = "charge_history",
     ENERGY_READ,
     .method = "charge_history",
     .path = "/api/1/energy_sites/{energy_site_id}/telemetry_history",
     .query = "kind=charge",
     .params = PARAMS(SITE, START_DATE, END_DATE, TIME_ZONE, DAY, SPLIT),
     .value = VALUE_OBJECT | VALUE_NOTHING,
     .doc = "Charging at the wall connectors; energy in Wh.",
     .example = "{ start_date = \"2026-03-01T00:00:00+01:00\", end_date = \"2026-03-02T00:00:00+01:00\", "
                "time_zone = \"Europe/Berlin\" }"},
    {.name = "grid_import_export",
     ENERGY_SETTING(ROW_ANY_OF),
     .method = "grid_import_export",
     .path = "/api/1/energy_sites/{energy_site_id}/grid_import_export",
     .params = PARAMS(SITE,
                      {"disallow_charge_from_grid_with_solar_installed", IN_BODY, TYPE_BOOLEAN,
                       .doc = "true forbids charging the battery from the grid"},
                      {"customer_preferred_export_rule", IN_BODY, TYPE_STRING, .choices = export_rules,
                       .doc = "what may be sold: battery and sun, sun only, nothing"}),
     .settle = "site_info.components.disallow_charge_from_grid_with_solar_installed = "
               "$disallow_charge_from_grid_with_solar_installed; "
               "site_info.components.customer_preferred_export_rule = $customer_preferred_export_rule",
     .doc = "Allows or forbids charging from the grid and exporting to it; at least one of the two.",
     .example = "{ customer_preferred_export_rule = \"pv_only\" }"},
    {.name = "live_status",
     ENERGY_READ,
     .method = "live_status",
     .path = "/api/1/energy_sites/{energy_site_id}/live_status",
     .params = PARAMS(SITE),
     .doc = "Present power in W, energy in Wh, grid and storm state. battery_power above 0 discharges, "
            "grid_power above "
            "0 imports.",
     .example = ""},
    {.name = "off_grid_vehicle_charging_reserve",
     ENERGY_SETTING(0),
     .method = "off_grid_vehicle_charging_reserve",
     .path = "/api/1/energy_sites/{energy_site_id}/off_grid_vehicle_charging_reserve",
     .params = PARAMS(SITE, {"off_grid_vehicle_charging_reserve_percent", IN_BODY, TYPE_INTEGER, REQUIRED,
                             PERCENT, .doc = "charging vehicles stops at this level while off grid"}),
     .settle =
         "site_info.off_grid_vehicle_charging_reserve_percent = $off_grid_vehicle_charging_reserve_percent",
     .doc = "Sets what charging vehicles leaves in the battery while off grid.",
     .example = "{ off_grid_vehicle_charging_reserve_percent = 30 }"},
    {.name = "operation",
     ENERGY_SETTING(0),
     .method = "operation",
     .path = "/api/1/energy_sites/{energy_site_id}/operation",
     .params = PARAMS(SITE, {"default_real_mode", IN_BODY, TYPE_STRING, REQUIRED, .choices = modes,
                             .forced = &backup_mode,
                             .doc = "autonomous: by time of use; self_consumption: self-powered; backup (not "
                                    "published, with force = true): the battery is filled and kept full"}),
     .settle = "site_info.default_real_mode = $default_real_mode",
     .doc = "Sets the mode of the site.",
     .example = "{ default_real_mode = \"autonomous\" }"},
    {.name = "site_info",
     ENERGY_READ,
     .method = "site_info",
     .path = "/api/1/energy_sites/{energy_site_id}/site_info",
     .params = PARAMS(SITE),
     .ids = "id tariff_id",
     .doc = "What the site consists of, can do and is set to, with its tariff.",
     .example = ""},
    {.name = "storm_mode",
     ENERGY_SETTING(0),
     .method = "storm_mode",
     .path = "/api/1/energy_sites/{energy_site_id}/storm_mode",
     .params = PARAMS(SITE, {"enabled", IN_BODY, TYPE_BOOLEAN, REQUIRED, .doc = "take part in storm watch"}),
     .settle = "site_info.user_settings.storm_mode_enabled = $enabled",
     .doc = "Switches storm watch.",
     .example = "{ enabled = true }"},
    {.name = "time_of_use_settings",
     ENERGY_SETTING(ROW_CHECKED),
     .method = "time_of_use_settings",
     .path = "/api/1/energy_sites/{energy_site_id}/time_of_use_settings",
     .params = PARAMS(SITE, {"tariff_content_v2", IN_BODY, TYPE_TARIFF, REQUIRED | WHOLE,
                             .lists = "daily_charges periods", .doc = "the whole tariff"}),
     .wrap = "tou_settings",
     .settle = "site_info.tariff_content_v2 same $tariff_content_v2",
     .doc = "Sets the tariff of the site; it is checked first.",
     .example =
         "{ version = 1, name = \"Flat\", utility = \"Example Power\", currency = \"EUR\", "
         "energy_charges = { ALL = { rates = { ALL = 0.3 } } }, demand_charges = { ALL = { rates = { ALL = 0 "
         "} } }, "
         "seasons = { Year = { fromMonth = 1, fromDay = 1, toMonth = 12, toDay = 31, tou_periods = {} } } }"},

    /* ---- 4.4 partner ---- */
    {.name = "partner.register",
     PARTNER_ACCOUNT,
     .method = "register",
     .verb = "POST",
     .path = "/api/1/partner_accounts",
     .params =
         PARAMS({"domain", IN_BODY, TYPE_STRING, REQUIRED, .doc = "lower case, without scheme or path"}),
     .flags = ROW_THIRD_PARTY | ROW_IDEMPOTENT,
     .ids = "account_id",
     .doc = "Registers the application in this region; its public key must be hosted at the domain.",
     .example = "{ domain = \"app.example.com\" }"},
    {.name = "partner.public_key",
     PARTNER_ACCOUNT,
     .method = "public_key",
     .verb = "GET",
     .path = "/api/1/partner_accounts/public_key",
     .params = PARAMS({"domain", IN_QUERY, TYPE_STRING, REQUIRED, .doc = "a registered domain"}),
     .flags = ROW_THIRD_PARTY,
     .doc = "The public key registered for a domain: an uncompressed point in hex.",
     .example = "{ domain = \"app.example.com\" }"},
    {.name = "partner.fleet_telemetry_errors",
     PARTNER_ACCOUNT,
     .method = "fleet_telemetry_errors",
     .verb = "GET",
     .path = "/api/1/partner_accounts/fleet_telemetry_errors",
     .flags = ROW_THIRD_PARTY,
     .bare = "fleet_telemetry_errors",
     .doc = "Recent telemetry errors of all vehicles.",
     .example = ""},
    {.name = "partner.fleet_telemetry_error_vins",
     PARTNER_ACCOUNT,
     .method = "fleet_telemetry_error_vins",
     .verb = "GET",
     .path = "/api/1/partner_accounts/fleet_telemetry_error_vins",
     .flags = ROW_THIRD_PARTY,
     .value = VALUE_OBJECT | VALUE_TEXTS | VALUE_NOTHING,
     .doc = "The vehicles that reported telemetry errors.",
     .example = ""},

    /* ---- 4.5 user ---- */
    {.name = "user.me",
     USERS,
     .method = "me",
     .path = "/api/1/users/me",
     .doc = "A summary of the account.",
     .example = ""},
    {.name = "user.orders",
     USERS,
     .method = "orders",
     .path = "/api/1/users/orders",
     .ids = "vehicleMapId referenceNumber",
     .value = VALUE_LIST | VALUE_NOTHING,
     .identity = "referenceNumber vehicleMapId",
     .doc = "Active orders.",
     .example = ""},
    {.name = "user.region",
     USERS,
     .method = "region",
     .path = "/api/1/users/region",
     .doc = "The region of the account and the base address that fits.",
     .example = ""},
    {.name = "user.feature_config",
     USERS,
     .method = "feature_config",
     .path = "/api/1/users/feature_config",
     .doc = "Features that are switched on for the account.",
     .example = "",
     .reply = "{\"response\": {\"signaling\": {\"enabled\": true, \"subscribe_connectivity\": false,"
              " \"use_auth_token\": false}}}"},

    /* ---- 4.6 vehicle management ---- */
    {.name = "subscriptions_eligibility",
     VEHICLE,
     .method = "subscriptions_eligibility",
     .verb = "GET",
     .path = "/api/1/dx/vehicles/subscriptions/eligibility",
     .params = PARAMS(VIN_QUERY),
     .scope = "vehicle_device_data",
     .billing = BILLED_DATA,
     .bare = "eligible",
     .doc = "Subscriptions that the vehicle may have.",
     .example = ""},
    {.name = "upgrades_eligibility",
     VEHICLE,
     .method = "upgrades_eligibility",
     .verb = "GET",
     .path = "/api/1/dx/vehicles/upgrades/eligibility",
     .params = PARAMS(VIN_QUERY),
     .scope = "vehicle_device_data",
     .billing = BILLED_DATA,
     .bare = "eligible",
     .doc = "Upgrades that the vehicle may have.",
     .example = ""},
    {.name = "options",
     VEHICLE,
     .method = "options",
     .verb = "GET",
     .path = "/api/1/dx/vehicles/options",
     .params = PARAMS(VIN_QUERY),
     .scope = "vehicle_device_data",
     .billing = BILLED_DATA,
     .bare = "codes",
     .doc = "The option codes of the vehicle.",
     .example = "",
     .reply = "{\"codes\": [{\"code\": \"$PPSB\", \"displayName\": \"Deep Blue Metallic\","
              " \"colorCode\": \"PPSB\", \"isActive\": true},"
              " {\"code\": \"$MTY03\", \"displayName\": \"Long Range\", \"colorCode\": null,"
              " \"isActive\": true}]}"},
    {.name = "warranty",
     VEHICLE,
     .method = "warranty",
     .verb = "GET",
     .path = "/api/1/dx/warranty/details",
     .params = PARAMS(VIN_QUERY),
     .scope = "vehicle_device_data",
     .billing = BILLED_DATA,
     .doc = "Active, coming and expired warranties.",
     .example = ""},
    {.name = "pricing",
     CLIENT,
     .method = "pricing",
     .verb = "POST",
     .path = "/api/1/dx/vehicles/pricing",
     PARTNER,
     .scope = "vehicle_pricing_info",
     .billing = BILLED_FREE,
     .flags = ROW_THIRD_PARTY | ROW_BODY_AS_GIVEN | ROW_READ,
     .value = VALUE_OBJECT | VALUE_LIST,
     .doc = "Prices of a model in a market. The members of the request are not published; the table is sent "
            "as given.",
     .example = "{ model = \"m3\", market = \"DE\" }"},

    /* ---- 4.7 charging ---- */
    {.name = "charging.history",
     CHARGING,
     .method = "history",
     .path = "/api/1/dx/charging/history",
     USER_OR_BUSINESS,
     .params =
         PARAMS({"vin", IN_QUERY, TYPE_VIN, .doc = "one vehicle only"},
                {"startTime", IN_QUERY, TYPE_TIME, .doc = "begin of the range"},
                {"endTime", IN_QUERY, TYPE_TIME, .doc = "end of the range"},
                {"sortBy", IN_QUERY, TYPE_STRING, .doc = "a field of the record"},
                {"sortOrder", IN_QUERY, TYPE_STRING, .choices = orders, .doc = "ascending or descending"},
                PAGE("pageNo", "pageSize", 1, 1e6)),
     .paging = PAGED_PAGE_NO,
     .items = "data",
     .ids = "sessionId sessionFeeId",
     .value = VALUE_LIST,
     .identity = "sessionId chargeStartDateTime",
     .doc = "Paid charging, with fees and the ids of invoices.",
     .example = "{ page_size = 50 }"},
    {.name = "charging.invoice",
     CHARGING,
     .method = "invoice",
     .path = "/api/1/dx/charging/invoice/{id}",
     USER_OR_BUSINESS,
     .params =
         PARAMS({"id", IN_PATH, TYPE_ID, REQUIRED, .doc = "contentId of an invoice in the history"},
                {"to", IN_LOCAL, TYPE_STRING, .doc = "a file to write; left out, the bytes are returned"},
                {"overwrite", IN_LOCAL, TYPE_BOOLEAN, .doc = "replace a file that exists"}),
     .value = VALUE_BYTES,
     .begins = "%PDF",
     .doc = "The invoice of a charging event as PDF.",
     .example = "\"7f2c4a10-5b1e-4b43-9f5d-2f6f1c9b0a01\", { to = \"invoice.pdf\" }"},
    {.name = "charging.sessions",
     CHARGING,
     .method = "sessions",
     .path = "/api/1/dx/charging/sessions",
     .tokens = {TOKEN_BUSINESS, TOKEN_USER},
     .params =
         PARAMS({"vin", IN_QUERY, TYPE_VIN, .doc = "one vehicle only"},
                {"date_from", IN_QUERY, TYPE_TIME, .doc = "begin of the range"},
                {"date_to", IN_QUERY, TYPE_TIME, .doc = "end of the range"}, PAGE("offset", "limit", 0, 1e6)),
     .paging = PAGED_OFFSET,
     .items = "data",
     .ids = "id",
     .who = "business account that owns a fleet",
     .value = VALUE_LIST,
     .identity = "id",
     .doc = "Charging sessions with prices and energy, of business accounts that own a fleet.",
     .example = "{ date_from = \"2026-03-01T00:00:00Z\", date_to = \"2026-04-01T00:00:00Z\" }"},
    END};

const size_t endpoint_count = sizeof endpoint_rows / sizeof *endpoint_rows - 1;
