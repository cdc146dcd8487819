#include "tariff/raised_week.h"

#include <stdlib.h>

static bool add_stretch(struct raised_week *week, const struct label *buy, const struct label *sell,
                        uint32_t from, uint32_t to) {
  if (from >= to) return true;
  struct stretch *s = ADD(week, stretches, stretch);
  if (!s) return false;
  double own = kept_price(buy), paid = sell->price[TARIFF_ENERGY];
  double demand = buy->price[TARIFF_DEMAND];
  struct bytes base = is_named(buy->name, "ALL") ? bytes_of("BASE") : buy->name;
  *s = (struct stretch){from, to, base, base, own, own > paid ? own : paid, demand > 0 ? demand : 0};
  week->raised |= s->price > own;
  return true;
}

bool fill_week(const struct tariff *t, const struct season *buy, const struct season *sell,
               struct raised_week *week) {
  const struct span *a = season_spans(t, buy), *b = season_spans(t, sell);
  size_t i = 0, j = 0;
  while (i < buy->spans && j < sell->spans) {
    uint32_t from = a[i].from > b[j].from ? a[i].from : b[j].from, to = a[i].to < b[j].to ? a[i].to : b[j].to;
    if (!add_stretch(week, &t->labels[a[i].id], &t->labels[b[j].id], from, to)) return false;
    if (b[j].to < a[i].to)
      j++;
    else
      i++;
  }
  return true;
}

static bool same_stretch(const struct stretch *a, const struct stretch *b) {
  return a->from == b->from && a->to == b->to && a->price == b->price && bytes_equal(a->base, b->base);
}

bool same_week(const struct raised_week *a, const struct raised_week *b) {
  if (a->stretch_count != b->stretch_count) return false;
  for (size_t i = 0; i < a->stretch_count; i++)
    if (!same_stretch(&a->stretches[i], &b->stretches[i])) return false;
  return true;
}

/* ---- names: a label keeps its own for its own price, or for the one price that it has now ---- */

static bool is_taken(const struct raised_week *week, struct bytes name) {
  for (size_t i = 0; i < week->stretch_count; i++)
    if (bytes_equal(week->stretches[i].base, name) || bytes_equal(week->stretches[i].name, name)) return true;
  return false;
}

struct bytes numbered(struct tariff *out, struct bytes base, int number) {
  struct buf text = BUF_INIT;
  buf_add(&text, base.data, base.size);
  buf_format(&text, "_%d", number);
  if (!buf_ok(&text)) out->failed = true;
  struct bytes copy = copy_text(out, buf_bytes(&text));
  buf_free(&text);
  return copy;
}

static struct bytes free_label(struct tariff *out, const struct raised_week *week, struct bytes base) {
  struct bytes name = base;
  for (int n = 2; !out->failed && is_taken(week, name); n++) name = numbered(out, base, n);
  return name;
}

/* The price for which the base label stands: its own where the week still has it, else the first. */
static double kept_by_base(const struct raised_week *week, struct bytes base) {
  const struct stretch *first = NULL;
  for (size_t i = 0; i < week->stretch_count; i++) {
    const struct stretch *s = &week->stretches[i];
    if (!bytes_equal(s->base, base)) continue;
    if (s->price == s->own) return s->price;
    if (!first) first = s;
  }
  return first ? first->price : 0;
}

static void name_stretches(struct tariff *out, struct raised_week *week) {
  for (size_t i = 0; i < week->stretch_count && !out->failed; i++) {
    struct stretch *s = &week->stretches[i];
    const struct stretch *same = NULL;
    for (size_t j = 0; j < i && !same; j++)
      if (week->stretches[j].price == s->price && bytes_equal(week->stretches[j].base, s->base))
        same = &week->stretches[j];
    if (same)
      s->name = same->name;
    else if (s->price != kept_by_base(week, s->base))
      s->name = free_label(out, week, s->base);
  }
}

/* ---- one season written anew ---- */

static bool any_demand(const struct raised_week *week) {
  for (size_t i = 0; i < week->stretch_count; i++)
    if (week->stretches[i].demand != 0) return true;
  return false;
}

static bool named_before(const struct raised_week *week, size_t i) {
  for (size_t j = 0; j < i; j++)
    if (bytes_equal(week->stretches[j].name, week->stretches[i].name)) return true;
  return false;
}

static void write_rates(struct tariff *out, struct bytes season, const struct raised_week *week) {
  for (int charges = 0; charges < TARIFF_CHARGES; charges++) {
    tariff_add_rates(out, TARIFF_BUY, (enum tariff_charges)charges, season);
    if (charges == TARIFF_DEMAND && !any_demand(week)) continue;
    for (size_t i = 0; i < week->stretch_count; i++) {
      const struct stretch *s = &week->stretches[i];
      if (!named_before(week, i))
        tariff_add_rate(out, s->name, charges == TARIFF_ENERGY ? s->price : s->demand);
    }
  }
}

void write_raised(struct tariff *out, struct bytes name, struct tariff_dates dates,
                  struct raised_week *week) {
  name_stretches(out, week);
  tariff_add_season(out, TARIFF_BUY, name, dates);
  write_periods(out, week->stretches, week->stretch_count);
  write_rates(out, name, week);
}
