/* The sections of a vehicle's data in the signed protocol: the word of signed_data, in snake_case without
 * "state", and the member of CarServer.GetVehicleData. By word. */
#include "tables/rows.h"

const struct section section_rows[] = {{"charge", "getChargeState"},
                                       {"charge_schedule", "getChargeScheduleState"},
                                       {"climate", "getClimateState"},
                                       {"closures", "getClosuresState"},
                                       {"drive", "getDriveState"},
                                       {"location", "getLocationState"},
                                       {"media", "getMediaState"},
                                       {"media_detail", "getMediaDetailState"},
                                       {"parental_controls", "getParentalControlsState"},
                                       {"preconditioning_schedule", "getPreconditioningScheduleState"},
                                       {"software_update", "getSoftwareUpdateState"},
                                       {"tire_pressure", "getTirePressureState"},
                                       {NULL, NULL}};
