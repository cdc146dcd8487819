/* Finds buy prices below the sell price: the service raises them. */
#include "tariff/model.h"

#include <stdlib.h>

struct raise {
  const struct label *buy, *sell;
  struct span span;
};

struct raises {
  struct raise *raises;
  size_t raise_count, raise_room;
};

double kept_price(const struct label *label) {
  return label->price[TARIFF_ENERGY] > 0 ? label->price[TARIFF_ENERGY] : 0;
}

static bool add_raises(struct raises *out, const struct label *buy, const struct label *sell, uint32_t from,
                       uint32_t to) {
  if (!buy->priced[TARIFF_ENERGY] || !sell->priced[TARIFF_ENERGY] || kept_price(buy) >= kept_price(sell))
    return true;
  for (uint32_t end; from < to; from = end) {
    end = from - from % 1440 + 1440;
    if (end > to) end = to;
    struct raise *one = ADD(out, raises, raise);
    if (!one) return false;
    *one = (struct raise){buy, sell, {from, end, 0}};
  }
  return true;
}

static bool compare_weeks(const struct tariff *t, const struct season *buy, const struct season *sell,
                          struct raises *out) {
  if (!buy->spans || !sell->spans) return true;
  const struct span *a = season_spans(t, buy), *b = season_spans(t, sell), *a_end = a + buy->spans,
                    *b_end = b + sell->spans;
  while (a < a_end && b < b_end) {
    uint32_t from = a->from > b->from ? a->from : b->from, to = a->to < b->to ? a->to : b->to;
    if (from < to && !add_raises(out, &t->labels[a->id], &t->labels[b->id], from, to)) return false;
    if (a->to < b->to)
      a++;
    else
      b++;
  }
  return true;
}

static int by_labels(const void *left, const void *right) {
  const struct raise *a = left, *b = right;
  if (a->buy != b->buy) return compare_names(a->buy->name, b->buy->name);
  if (a->sell != b->sell) return compare_names(a->sell->name, b->sell->name);
  return (a->span.from > b->span.from) - (a->span.from < b->span.from);
}

static bool add_raise_fault(const struct tariff *t, struct tariff_report *r, const struct raise *raise) {
  struct tariff_fault *f = add_fault(r, TARIFF_BUY_BELOW_SELL, TARIFF_BUY);
  if (!f) return false;
  f->season = t->seasons[raise->buy->season].name;
  f->other_season = t->seasons[raise->sell->season].name;
  f->label = raise->buy->name;
  f->other_label = raise->sell->name;
  f->price = kept_price(raise->buy);
  f->becomes = f->other_price = kept_price(raise->sell);
  f->first = r->span_count;
  return true;
}

static bool add_raise_span(struct tariff_report *r, struct span span) {
  struct tariff_fault *f = &r->faults[r->fault_count - 1];
  struct span *last = f->count ? &r->spans[r->span_count - 1] : NULL;
  if (last && last->to == span.from && span.from % 1440 != 0) {
    last->to = span.to;
    return true;
  }
  struct span *slot = ADD(r, spans, span);
  if (!slot) return false;
  *slot = span;
  f->count++;
  return true;
}

static bool report_pair(const struct tariff *t, const struct season *buy, const struct season *sell,
                        struct tariff_report *r) {
  struct raises found = {0};
  bool ok = compare_weeks(t, buy, sell, &found);
  if (ok && found.raise_count) qsort(found.raises, found.raise_count, sizeof *found.raises, by_labels);
  for (size_t i = 0; ok && i < found.raise_count; i++) {
    const struct raise *raise = &found.raises[i];
    if (i == 0 || raise->buy != raise[-1].buy || raise->sell != raise[-1].sell)
      ok = add_raise_fault(t, r, raise);
    ok = ok && add_raise_span(r, raise->span);
  }
  free(found.raises);
  return ok;
}

static bool pair_seen(struct season *const *buy, struct season *const *sell, int day) {
  for (int i = 0; i < day; i++)
    if (buy[i] == buy[day] && sell[i] == sell[day]) return true;
  return false;
}

/* Compares each pair of seasons that share a day, once. */
bool check_buy_below_sell(struct tariff *t, struct tariff_report *r) {
  struct season *const *buy = t->year[TARIFF_BUY], *const *sell = t->year[TARIFF_SELL];
  for (int day = 0; day < TARIFF_YEAR; day++) {
    if (!buy[day] || !sell[day]) continue;
    if (day > 0 && buy[day] == buy[day - 1] && sell[day] == sell[day - 1]) continue;
    if (!pair_seen(buy, sell, day) && !report_pair(t, buy[day], sell[day], r)) return false;
  }
  return true;
}
