/* Queries of a checked tariff: the price of a moment, the weeks of its seasons. */
#include "tariff/model.h"

#include <string.h>

/* The span that holds the minute, or NULL and where the gap ends. */
static const struct span *span_at(const struct span *spans, size_t count, uint32_t minute,
                                  uint32_t *gap_end) {
  size_t low = 0, high = count;
  while (low < high) {
    size_t middle = (low + high) / 2;
    if (spans[middle].from <= minute)
      low = middle + 1;
    else
      high = middle;
  }
  *gap_end = low < count ? spans[low].from : TARIFF_WEEK;
  return low > 0 && spans[low - 1].to > minute ? &spans[low - 1] : NULL;
}

bool tariff_price(const struct tariff *t, enum tariff_side side, int month, int day, int weekday, int minute,
                  struct tariff_price *out) {
  *out = (struct tariff_price){.until = 1440};
  const struct season *season =
      t->sealed && tariff_real_date(month, day) ? t->year[side][day_of_year(month, day)] : NULL;
  if (!season) return false;
  uint32_t midnight = (uint32_t)weekday * 1440, end;
  const struct span *span =
      span_at(season_spans(t, season), season->spans, midnight + (uint32_t)minute, &end);
  out->season = season->name;
  if (span) end = span->to;
  out->until = end - midnight < 1440 ? end - midnight : 1440;
  if (!span) return false;
  const struct label *label = &t->labels[span->id];
  out->label = label->name;
  out->price = label->price[TARIFF_ENERGY];
  return label->priced[TARIFF_ENERGY];
}

bool tariff_week(const struct tariff *t, enum tariff_side side, size_t i, struct tariff_week *out) {
  if (!t->sealed || i >= t->side_used[side]) return false;
  const struct season *s = first_season(t, t->by_date, side)[i];
  *out = (struct tariff_week){s->name, s->dates, season_spans(t, s), s->spans};
  return true;
}

void tariff_label(const struct tariff *t, uint32_t id, struct bytes *name, double price[TARIFF_CHARGES]) {
  *name = t->labels[id].name;
  memcpy(price, t->labels[id].price, sizeof t->labels[id].price);
}
