/* The cheapest hours of a window, in parts or in one stretch. */
#include "tariff/model.h"
#include "tariff/timeline.h"

#include <math.h>
#include <stdlib.h>

static double price_of(const struct segment *s) {
  return s->side[TARIFF_BUY].price;
}

static int by_time(const void *left, const void *right) {
  const struct segment *a = left, *b = right;
  return (a->from > b->from) - (a->from < b->from);
}

/* Of equal prices the earlier first. */
static int by_price(const void *left, const void *right) {
  double a = price_of(left), b = price_of(right);
  int order = (a > b) - (a < b);
  return order ? order : by_time(left, right);
}

/* Adds the part of s that lies between two positions, if any. */
static bool add_part(struct segments *out, const struct segment *s, int64_t from, int64_t to) {
  if (from < s->from) from = s->from;
  if (to > s->to) to = s->to;
  if (from >= to) return true;
  struct segment *part = ADD(out, segments, segment);
  if (!part) return false;
  *part = *s;
  part->from = from, part->to = to;
  return true;
}

bool cheapest_parts(const struct segments *all, int64_t wanted, struct segments *out) {
  for (size_t i = 0; i < all->segment_count; i++)
    if (!add_part(out, &all->segments[i], all->segments[i].from, all->segments[i].to)) return false;
  if (!out->segment_count) return true;
  qsort(out->segments, out->segment_count, sizeof *out->segments, by_price);
  size_t taken = 0;
  for (; taken < out->segment_count && wanted > 0; taken++) {
    struct segment *s = &out->segments[taken];
    if (s->to - s->from > wanted) s->to = s->from + wanted;
    wanted -= s->to - s->from;
  }
  out->segment_count = taken;
  qsort(out->segments, taken, sizeof *out->segments, by_time);
  return true;
}

/* ---- one stretch ---- */

struct search {
  const struct segment *segments;
  size_t count;
  double *sums;    /* owned; the cost of all segments before each */
  int64_t *starts; /* owned; possible starts of the cheapest stretch */
};

static int by_start(const void *left, const void *right) {
  int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;
  return (a > b) - (a < b);
}

/* The cost of a sliding stretch is piecewise linear. It is least where the stretch begins or ends with a
 * segment. */
static bool fill_search(struct search *search, int64_t wanted) {
  size_t n = search->count;
  search->sums = malloc(n * sizeof *search->sums);
  search->starts = malloc(2 * n * sizeof *search->starts);
  if (!search->sums || !search->starts) return false;
  double sum = 0;
  for (size_t i = 0; i < n; i++) {
    const struct segment *s = &search->segments[i];
    search->sums[i] = sum;
    sum += (double)(s->to - s->from) * price_of(s);
    search->starts[2 * i] = s->from, search->starts[2 * i + 1] = s->to - wanted;
  }
  qsort(search->starts, 2 * n, sizeof *search->starts, by_start);
  return true;
}

/* The cost from the start of the window to a position. */
static double cost_to(const struct search *search, int64_t position) {
  size_t low = 0, high = search->count - 1;
  while (low < high) {
    size_t middle = (low + high) / 2;
    if (search->segments[middle].to < position)
      low = middle + 1;
    else
      high = middle;
  }
  const struct segment *s = &search->segments[low];
  return search->sums[low] + (double)(position - s->from) * price_of(s);
}

/* Sums have rounding errors, which must not prefer a later stretch of the same cost. */
static int64_t best_start(const struct search *search, int64_t wanted) {
  int64_t first = search->segments[0].from, last = search->segments[search->count - 1].to, best = first;
  double best_cost = INFINITY;
  for (size_t i = 0; i < 2 * search->count; i++) {
    int64_t start = search->starts[i];
    if (start < first || start + wanted > last) continue;
    double cost = cost_to(search, start + wanted) - cost_to(search, start);
    if (isinf(best_cost) || cost < best_cost - 1e-9 * fabs(best_cost)) best = start, best_cost = cost;
  }
  return best;
}

bool cheapest_stretch(const struct segments *all, int64_t wanted, struct segments *out) {
  struct search search = {all->segments, all->segment_count, NULL, NULL};
  if (!search.count) return true;
  int64_t length = all->segments[search.count - 1].to - all->segments[0].from;
  if (wanted > length) wanted = length;
  bool ok = fill_search(&search, wanted);
  int64_t from = ok ? best_start(&search, wanted) : 0;
  for (size_t i = 0; ok && i < search.count; i++)
    ok = add_part(out, &search.segments[i], from, from + wanted);
  free(search.sums), free(search.starts);
  return ok;
}
