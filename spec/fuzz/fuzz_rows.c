/* Any bytes as rows of prices or as spot prices: every minute costs what its row says, or what the group of
 * its price costs; a list of spot prices fills the week or is refused.
 *
 * The first byte: 1 is spot prices, and the rest how many labels at most. A row is three texts (days, from,
 * to), each with its length before it, a price and a label. A spot price is its distance in quarter hours and
 * a price; the byte before them says whether the last one has a length and where the day begins.
 */
#include "tariff/price_week.h"
#include "tariff/row_text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool fact) {
  if (!fact) abort();
}

struct input {
  const uint8_t *at, *end;
};

static int take(struct input *in) {
  return in->at < in->end ? *in->at++ : 0;
}

static struct bytes take_text(struct input *in) {
  size_t size = (size_t)take(in), left = (size_t)(in->end - in->at);
  struct bytes text = {in->at, size < left ? size : left};
  in->at += text.size;
  return text;
}

struct mirror { /* of each minute of the week */
  double price[TARIFF_WEEK];
  unsigned rows[TARIFF_WEEK];
};

static void mark(struct mirror *m, unsigned days, int from, int to, double price) {
  int length = to > from ? to - from : to + 1440 - from;
  for (int day = 0; day < 7; day++)
    for (int i = 0; days >> day & 1 && i < length; i++) {
      int at = (day * 1440 + from + i) % TARIFF_WEEK;
      m->price[at] = price, m->rows[at]++;
    }
}

static void check_text(struct bytes text) {
  int month, day;
  if (parse_date(text, &month, &day)) require(month >= 0 && month <= 99 && day >= 0 && day <= 99);
}

static void row(struct price_week *week, struct mirror *m, struct input *in) {
  static const char *const labels[] = {NULL, NULL, NULL, "A", "PRICE_1", "PRICE_2", "ALL", "ON_PEAK"};
  struct bytes days_text = take_text(in), from_text = take_text(in), to_text = take_text(in), wrong;
  double price = take(in) / 100.0;
  struct bytes label = bytes_of(labels[take(in) % 8]);
  unsigned days;
  int from, to;
  check_text(days_text);
  if (!parse_days(days_text, &days, &wrong)) {
    require(wrong.data >= days_text.data && wrong.data + wrong.size <= days_text.data + days_text.size);
    return;
  }
  if (!parse_clock(from_text, &from) || !parse_clock(to_text, &to)) return;
  require(days < 128 && from >= 0 && from <= 1440 && to >= 0 && to <= 1440);
  require(add_row(week, days, from, to, price, label.data && label.size ? label : (struct bytes){NULL, 0}));
  mark(m, days, from, to, price);
}

static const struct price_group *group_of(const struct price_week *week, struct bytes label) {
  for (size_t i = 0; i < week->group_count; i++)
    if (bytes_equal(week->groups[i].label, label)) return &week->groups[i];
  abort();
}

/* No two groups have one name, and all minutes of the week that are priced are in one. */
static void check_groups(const struct price_week *week, const struct mirror *m) {
  uint32_t minutes = 0, priced = 0;
  for (size_t i = 0; i < week->group_count; i++) {
    minutes += week->groups[i].minutes;
    require(i == 0 || compare_names(week->groups[i - 1].label, week->groups[i].label) < 0);
  }
  for (int at = 0; at < TARIFF_WEEK; at++) priced += m->rows[at] > 0;
  require(minutes == priced);
}

static void write_week(struct tariff *t, const struct price_week *week) {
  tariff_add_season(t, TARIFF_BUY, bytes_of("AllYear"), (struct tariff_dates){1, 1, 12, 31});
  write_periods(t, week->stretches, week->stretch_count);
  tariff_add_rates(t, TARIFF_BUY, TARIFF_ENERGY, bytes_of("AllYear"));
  for (size_t i = 0; i < week->group_count; i++)
    tariff_add_rate(t, week->groups[i].label, week->groups[i].price);
}

static void ask(const struct tariff *t, const struct price_week *week, const struct mirror *m) {
  struct tariff_price p;
  for (int at = 0; at < TARIFF_WEEK; at += 5) {
    bool priced = tariff_price(t, TARIFF_BUY, 6, 15, at / 1440, at % 1440, &p);
    require(priced == (m->rows[at] > 0));
    if (!priced) continue;
    const struct price_group *group = group_of(week, p.label);
    require(m->price[at] >= group->low && m->price[at] <= group->high && p.price == group->price);
    if (group->low == group->high) require(p.price - group->low < 1e-5 && group->low - p.price < 1e-5);
  }
}

static void check_week(struct tariff *t, struct price_week *week, const struct mirror *m, size_t most) {
  struct tariff_report r;
  bool overlaps = false;
  for (int at = 0; at < TARIFF_WEEK; at++) overlaps |= m->rows[at] > 1;
  require((sort_week(week) != NULL) == overlaps);
  struct label_clash clash;
  if (overlaps || !find_clash(week, &clash) || clash.one) return;
  require(label_week(t, week, most));
  check_groups(week, m);
  write_week(t, week);
  require(tariff_check(t, &r, NULL));
  ask(t, week, m);
  tariff_report_free(&r);
}

/* ---- spot prices ---- */

static void spot(struct tariff *t, struct price_week *week, struct mirror *m, struct input *in, size_t most) {
  static struct zone *zone;
  static struct spot_price list[800];
  size_t count = 0;
  struct err e;
  err_clear(&e);
  if (!zone && !zone_open(&zone, NULL, "Europe/Berlin", &e)) return;
  int64_t at = 1774220400 + (int64_t)take(in) * 86400;
  int last = take(in);
  for (; in->at < in->end && count < 800; at += (1 + take(in) % 8) * 900, count++)
    list[count] = (struct spot_price){at, 0, (take(in) - 20) / 100.0, NAN, count};
  if (count && last % 4 == 0) list[count - 1].stop = list[count - 1].start + (last + 1) * 60;
  int64_t from = 1774220400 + last * 3600;
  struct price_week both[TARIFF_SIDES] = {0};
  bool ok = add_spot(both, list, count, last % 3 ? NULL : &from, zone, &e);
  *week = both[TARIFF_BUY];
  if (!ok) {
    require(e.kind == KIND_invalid && !week->stretch_count);
    return;
  }
  for (size_t i = 0; i < week->stretch_count; i++)
    for (uint32_t minute = week->stretches[i].from; minute < week->stretches[i].to; minute++)
      m->price[minute] = week->stretches[i].price, m->rows[minute]++;
  for (int minute = 0; minute < TARIFF_WEEK; minute++) require(m->rows[minute] == 1);
  check_week(t, week, m, most);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static struct mirror mirror;
  struct input in = {data, data + size};
  struct price_week week = {0};
  struct tariff *t = tariff_new();
  int first = take(&in);
  size_t most = (size_t)(first >> 1) + 1;
  memset(&mirror, 0, sizeof mirror);
  if (first & 1) {
    spot(t, &week, &mirror, &in, most);
  } else {
    while (in.at < in.end) row(&week, &mirror, &in);
    check_week(t, &week, &mirror, most);
  }
  free_week(&week);
  tariff_free(t);
  return 0;
}
