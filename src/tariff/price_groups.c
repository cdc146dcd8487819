/* Labels for prices: equal prices share one, and up to four prices get the names that the app shows. */
#include "tariff/model.h"
#include "tariff/price_week.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- labels of the caller ---- */

/* The stretches whose labels the caller gave, sorted by them; NULL: out of memory. */
static struct named *named_stretches(const struct price_week *week, size_t *count) {
  struct named *names = malloc((week->stretch_count + 1) * sizeof *names);
  *count = 0;
  for (size_t i = 0; names && i < week->stretch_count; i++)
    if (week->stretches[i].base.data) names[(*count)++] = (struct named){week->stretches[i].base, i, i};
  if (names) sort_names(names, *count);
  return names;
}

bool find_clash(const struct price_week *week, struct label_clash *out) {
  size_t count, found = week->stretch_count;
  struct named *names = named_stretches(week, &count);
  *out = (struct label_clash){NULL, NULL};
  for (size_t i = 0; names && i < count; i++) {
    const struct stretch *one = &week->stretches[names[i].first], *other = &week->stretches[names[i].place];
    if (names[i].place >= found || one->price == other->price) continue;
    found = names[i].place;
    *out = (struct label_clash){one, other};
  }
  bool done = names != NULL;
  free(names);
  return done;
}

/* The groups of labels that the caller gave, sorted by label. */
static bool add_named(struct price_week *week) {
  size_t count;
  struct named *names = named_stretches(week, &count);
  struct price_group *group = NULL;
  bool ok = names != NULL;
  for (size_t i = 0; ok && i < count; i++) {
    const struct stretch *s = &week->stretches[names[i].place];
    if (names[i].first == names[i].place) {
      group = ADD(week, groups, group);
      if (group) *group = (struct price_group){s->base, s->price, s->price, s->price, 0};
    }
    if (group) group->minutes += s->to - s->from;
    ok = group != NULL;
  }
  free(names);
  return ok;
}

static int by_label(const void *left, const void *right) {
  const struct price_group *a = left, *b = right;
  return compare_names(a->label, b->label);
}

static bool is_taken(const struct price_week *week, struct bytes label) {
  struct price_group key = {.label = label};
  return week->group_count && bsearch(&key, week->groups, week->group_count, sizeof key, by_label);
}

/* ---- distinct prices, cheapest first ---- */

static int by_price(const void *left, const void *right) {
  const struct price_group *a = left, *b = right;
  return (a->price > b->price) - (a->price < b->price);
}

/* Writes the prices of stretches without a label to out. Returns how many. */
static size_t distinct_prices(const struct price_week *week, struct price_group *out) {
  size_t count = 0, last = 0;
  for (size_t i = 0; i < week->stretch_count; i++) {
    const struct stretch *s = &week->stretches[i];
    if (!s->base.data)
      out[count++] = (struct price_group){{NULL, 0}, s->price, s->price, s->price, s->to - s->from};
  }
  if (!count) return 0;
  qsort(out, count, sizeof *out, by_price);
  for (size_t i = 1; i < count; i++)
    if (out[i].price == out[last].price)
      out[last].minutes += out[i].minutes;
    else
      out[++last] = out[i];
  return last + 1;
}

/* ---- fewer groups than prices ----
 *
 * Finds the groups with the least squared error, weighted by minutes: dynamic programming over the sorted
 * prices. */

struct grouping {
  size_t n, most;
  double *weight, *sum, *square; /* of all prices before each */
  double *cost, *next;           /* of the first j prices in k groups, and in k + 1 */
  uint16_t *cut;                 /* the first price of the last of k + 1 groups */
};

static void free_grouping(struct grouping *g) {
  free(g->weight), free(g->cut);
}

static bool start_grouping(struct grouping *g, const struct price_group *prices) {
  size_t room = g->n + 1;
  g->weight = calloc(5 * room, sizeof *g->weight);
  g->cut = calloc(g->most * room, sizeof *g->cut);
  if (!g->weight || !g->cut) return false;
  g->sum = g->weight + room, g->square = g->sum + room, g->cost = g->square + room, g->next = g->cost + room;
  for (size_t i = 0; i < g->n; i++) {
    double minutes = prices[i].minutes, price = prices[i].price;
    g->weight[i + 1] = g->weight[i] + minutes;
    g->sum[i + 1] = g->sum[i] + minutes * price;
    g->square[i + 1] = g->square[i] + minutes * price * price;
  }
  return true;
}

/* The squared error when the prices from one place to another get their mean. */
static double error_of(const struct grouping *g, size_t from, size_t to) {
  double weight = g->weight[to] - g->weight[from], sum = g->sum[to] - g->sum[from];
  return g->square[to] - g->square[from] - sum * sum / weight;
}

/* Adds a group for the first low to high prices; the last group begins between first and last. With more
 * prices it never begins earlier, so the middle one halves the search. */
static void cut_between(struct grouping *g, size_t k, size_t low, size_t high, size_t first, size_t last) {
  while (low <= high) {
    size_t j = low + (high - low) / 2, best = first;
    for (size_t i = first; i <= last && i < j; i++) {
      double cost = g->cost[i] + error_of(g, i, j);
      if (i == first || cost < g->next[j]) g->next[j] = cost, best = i;
    }
    g->cut[k * (g->n + 1) + j] = (uint16_t)best;
    cut_between(g, k, low, j - 1, first, best);
    low = j + 1, first = best;
  }
}

static void add_group(struct grouping *g, size_t k) {
  cut_between(g, k, k + 1, g->n, k, g->n - 1);
  double *before = g->cost;
  g->cost = g->next, g->next = before;
}

static struct price_group joined(const struct price_group *prices, size_t from, size_t to) {
  struct price_group out = {{NULL, 0}, 0, prices[from].price, prices[to - 1].price, 0};
  double sum = 0;
  for (size_t i = from; i < to; i++)
    sum += prices[i].minutes * prices[i].price, out.minutes += prices[i].minutes;
  out.price = floor(sum / out.minutes * 1e5 + 0.5) / 1e5;
  return out;
}

/* The prices become most groups, in place. */
static bool join_prices(struct price_group *prices, size_t count, size_t most) {
  struct grouping g = {.n = count, .most = most};
  bool ok = start_grouping(&g, prices);
  size_t *begins = ok ? calloc(most + 1, sizeof *begins) : NULL;
  if (begins) {
    for (size_t j = 1; j <= count; j++) g.cost[j] = error_of(&g, 0, j);
    for (size_t k = 1; k < most; k++) add_group(&g, k);
    begins[most] = count;
    for (size_t k = most; k-- > 0;) begins[k] = g.cut[k * (count + 1) + begins[k + 1]];
    for (size_t k = 0; k < most; k++) prices[k] = joined(prices, begins[k], begins[k + 1]);
  }
  ok = begins != NULL;
  free(begins);
  free_grouping(&g);
  return ok;
}

/* ---- names ---- */

static const char *app_name(size_t i, size_t count) {
  static const char *const names[4][4] = {{"ON_PEAK"},
                                          {"OFF_PEAK", "ON_PEAK"},
                                          {"OFF_PEAK", "PARTIAL_PEAK", "ON_PEAK"},
                                          {"SUPER_OFF_PEAK", "OFF_PEAK", "PARTIAL_PEAK", "ON_PEAK"}};
  return names[count - 1][i];
}

static struct bytes keep_name(struct tariff *t, const char *name) {
  struct bytes kept = copy_text(t, (struct bytes){(const unsigned char *)name, strlen(name) + 1});
  if (kept.data) kept.size--;
  return kept;
}

static struct bytes numbered_name(struct tariff *t, int lines, int digits, size_t number) {
  struct buf name = BUF_INIT;
  buf_text_add(&name, "PRICE");
  for (int i = 0; i < lines; i++) buf_put(&name, '_');
  buf_format(&name, "%0*zu", digits, number);
  if (!buf_ok(&name)) t->failed = true;
  struct bytes kept = keep_name(t, buf_text(&name));
  buf_free(&name);
  return kept;
}

/* PRICE_1 and so on, with another _ while the caller has such a label. */
static void number_groups(struct tariff *t, const struct price_week *week, struct price_group *groups,
                          size_t count) {
  int digits = 1;
  bool taken = true;
  for (size_t rest = count; rest >= 10; rest /= 10) digits++;
  for (int lines = 1; taken && !t->failed; lines++) {
    taken = false;
    for (size_t i = 0; i < count; i++) {
      groups[i].label = numbered_name(t, lines, digits, i + 1);
      taken |= is_taken(week, groups[i].label);
    }
  }
}

/* One price for every minute is called ALL, as recommended (doc/protocol.md#tariff-meaning). With labels of
 * the caller the app's names are not used. */
static void name_groups(struct tariff *t, const struct price_week *week, struct price_group *groups,
                        size_t count) {
  if (week->group_count || count > 4) {
    number_groups(t, week, groups, count);
    return;
  }
  bool flat = count == 1 && groups[0].minutes == TARIFF_WEEK;
  for (size_t i = 0; i < count; i++) groups[i].label = keep_name(t, flat ? "ALL" : app_name(i, count));
}

static struct bytes label_of(const struct price_group *groups, size_t count, double price) {
  size_t low = 0, high = count - 1;
  while (low < high) {
    size_t middle = (low + high) / 2;
    if (groups[middle].high < price)
      low = middle + 1;
    else
      high = middle;
  }
  return groups[low].label;
}

/* ---- the whole ---- */

static bool add_groups(struct tariff *t, struct price_week *week, struct price_group *prices, size_t most) {
  size_t count = distinct_prices(week, prices);
  if (count > most && !join_prices(prices, count, most)) return false;
  if (count > most) count = most;
  name_groups(t, week, prices, count);
  for (size_t i = 0; i < week->stretch_count; i++)
    if (!week->stretches[i].base.data)
      week->stretches[i].name = label_of(prices, count, week->stretches[i].price);
  for (size_t i = 0; i < count; i++) {
    struct price_group *group = ADD(week, groups, group);
    if (!group) return false;
    *group = prices[i];
  }
  if (week->group_count) qsort(week->groups, week->group_count, sizeof *week->groups, by_label);
  return !t->failed;
}

bool label_week(struct tariff *t, struct price_week *week, size_t most) {
  struct price_group *prices = calloc(week->stretch_count + 1, sizeof *prices);
  bool ok = prices && add_named(week) && add_groups(t, week, prices, most);
  free(prices);
  return ok;
}

bool is_flat(const struct price_week *week) {
  return week->group_count == 1 && week->groups[0].minutes == TARIFF_WEEK &&
         is_named(week->groups[0].label, "ALL");
}
