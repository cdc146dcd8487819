#include "signing/role.h"

#include "tables/rows.h"

#include <string.h>
#include <strings.h>

static const struct {
  const char *name;
  enum role role;
} role_names[] = {{"NONE", ROLE_NONE},
                  {"SERVICE", ROLE_SERVICE},
                  {"OWNER", ROLE_OWNER},
                  {"DRIVER", ROLE_DRIVER},
                  {"FM", ROLE_FLEET_MANAGER},
                  {"VEHICLE_MONITOR", ROLE_VEHICLE_MONITOR},
                  {"CHARGING_MANAGER", ROLE_CHARGING_MANAGER},
                  {"GUEST", ROLE_GUEST}};

int role_of(const char *name) {
  if (strncasecmp(name, "ROLE_", 5) == 0) name += 5;
  for (size_t i = 0; i < sizeof role_names / sizeof *role_names; i++)
    if (strcasecmp(role_names[i].name, name) == 0) return (int)role_names[i].role;
  return -1;
}

/* The row whose message is this action; reads and key management have no row. */
static const struct row *row_of(uint32_t domain, const char *action) {
  static const char head[] = "vehicleAction.";
  size_t length = strlen(action);
  for (const struct row *r = command_rows; r->name; r++) {
    if (!r->message || (uint32_t)r->domain != domain) continue;
    const char *path =
        strncmp(r->message, head, sizeof head - 1) == 0 ? r->message + sizeof head - 1 : r->message;
    if (strncmp(path, action, length) == 0 &&
        !strchr("_abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789",
                path[length] ? path[length] : '.'))
      return r;
  }
  return NULL;
}

static bool is_read(const char *action) {
  static const char *const reads[] = {"getVehicleData", "getNearbyChargingSites", "ping",
                                      "InformationRequest"};
  for (size_t i = 0; i < sizeof reads / sizeof *reads; i++)
    if (strcmp(reads[i], action) == 0) return true;
  return false;
}

bool role_may(enum role role, uint32_t domain, const char *action) {
  const struct row *row = row_of(domain, action);
  bool keys = strcmp(action, "WhitelistOperation") == 0;
  if (role == ROLE_OWNER) return true;
  if (role == ROLE_NONE || keys) return false;
  if (role == ROLE_FLEET_MANAGER || is_read(action)) return true;
  if (role == ROLE_SERVICE) return strcmp(action, "RKEAction") == 0;
  if (role == ROLE_CHARGING_MANAGER) return row && row->flags & ROW_CHARGING_SCOPE;
  return (role == ROLE_DRIVER || role == ROLE_GUEST) && !(row && row->who);
}
