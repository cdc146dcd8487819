/* Texts in the options of the builders: days of the week, a time of day, a date of the year. */
#ifndef FLEET_TARIFF_ROW_TEXT_H
#define FLEET_TARIFF_ROW_TEXT_H

#include "base/buf.h"

/* "mon-fri", "sat", "mon,wed-fri" as a bit for each day, Monday is 1. A range may wrap over Sunday. False:
 * *wrong is a word that is no day. */
bool parse_days(struct bytes text, unsigned *days, struct bytes *wrong);
bool parse_clock(struct bytes text, int *minute); /* "6:30", "16:30", "24:00" */
bool parse_date(struct bytes text, int *month,
                int *day); /* "06-01": two numbers, not yet a day of the year */

#endif
