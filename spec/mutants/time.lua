local zone, change = { "spec/time/zone_spec.lua" }, { "spec/time/change_spec.lua" }

return {
  { "src/time/zone.c", "if (z->times[middle] <= utc)", "if (z->times[middle] < utc)", change },
  { "src/time/zone.c", "two[i].at <= utc && two[i].at >= last.at", "two[i].at < utc && two[i].at >= last.at", zone },
  { "src/time/zone.c", "two[i].at > utc && two[i].at < *change", "two[i].at >= utc && two[i].at < *change", change },
  { "src/time/zone.c", "bool passed_before = local >= change + before", "bool passed_before = local > change + before", zone },
  { "src/time/zone.c", "day < civil_month_length(year, r->month) ? day : day - 7", "day", zone },
  { "src/time/zone.c", "r->day >= 60 && civil_month_length(year, 2) == 29", "r->day > 60 && civil_month_length(year, 2) == 29", zone },
  { "src/time/zone.c", "if (*p == '/' ? slash : !letter(*p)", "if (*p == '/' ? false : !letter(*p)", zone },
  { "src/time/calendar.c", "if (leap_second && (*utc + 1) % CIVIL_DAY != 0)", "if (false)", zone },
  { "src/time/calendar.c", "return hours <= 23 && minutes <= 59;", "return hours <= 23;", zone },
  { "src/time/calendar.c", "- (a % b < 0)", "", zone },
}
