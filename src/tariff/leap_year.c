/* The 366 days on which a tariff can have a price. */
#include "tariff/model.h"

static const unsigned char month_days[] = {31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};

bool tariff_real_date(int month, int day) {
  return month >= 1 && month <= 12 && day >= 1 && day <= month_days[month - 1];
}

void tariff_date(uint32_t day, int *month, int *date) {
  for (*month = 1; *month < 12 && day >= month_days[*month - 1]; ++*month) day -= month_days[*month - 1];
  *date = (int)day + 1;
}

int day_of_year(int month, int day) {
  int days = day - 1;
  for (int i = 0; i < month - 1; i++) days += month_days[i];
  return days;
}
