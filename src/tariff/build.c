/* Builds tariffs from prices. A wrong option is an error of kind none, wrong prices of a feed are an error of
 * kind invalid, and mistakes of the tariff are problems of its report. */
#include "base/nearest.h"
#include "tariff/content.h"
#include "tariff/kinds.h"
#include "tariff/price_week.h"
#include "tariff/read.h"
#include "tariff/row_text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FROM_ROWS "fleet.tariff.from_rows: "

struct priced_season {
  struct bytes name;
  bool given[TARIFF_SIDES];
  struct price_week week[TARIFF_SIDES];
};

struct build {
  struct reader r; /* its tariff keeps the names */
  const struct node *options;
  const struct zone *zone;
  struct node *groups;
  struct err *e;
  struct priced_season *seasons;
  size_t season_count, season_room;
};

static const int whole_year[] = {1, 1, 12, 31};

/* ---- options ---- */

#define usage(b, ...) err_set((b)->e, KIND_none, FROM_ROWS __VA_ARGS__)

/* false means that an option is not given. */
static const struct node *given(const struct node *value) {
  return node_is(value, NODE_BOOLEAN) && !value->boolean ? NULL : value;
}

static const struct node *option(const struct node *object, const char *name) {
  return given(node_member(object, name));
}

static unsigned check_allowed(const struct node *options) {
  return option(options, "any_currency") ? ALLOW_CURRENCY : 0;
}

static bool check_name(struct build *b, const struct node *value, const char *what, struct bytes *name) {
  if (value->type != NODE_TEXT || memchr(value->text.data, 0, value->text.size))
    return usage(b, "%s must be text without zero bytes, got a %s", what, node_type_name(value));
  *name = value->text;
  return true;
}

static struct bytes keep(struct build *b, struct bytes text) {
  return copy_text(b->r.t, text);
}

/* False: the list is not given (NULL), or the option is no list, with an error. */
static bool take_list(struct build *b, const char *name, const struct node **list) {
  *list = option(b->options, name);
  if (*list && !node_is_table(*list))
    return usage(b, "'%s' must be a list, got a %s", name, node_type_name(*list));
  return *list != NULL;
}

static size_t count_elements(const struct node *list) {
  size_t count = 0;
  for (const struct node *one = first_element(list); one; one = next_element(one)) count++;
  return count;
}

/* The first missing index of a list; 0: it has no holes. */
static int hole_in(const struct node *list) {
  int64_t place = 1;
  for (const struct node *part = list->first; part && part->key == KEY_INDEX; part = part->next)
    if (part->index >= 1 && part->index != place++) return (int)place - 1;
  return 0;
}

/* ---- seasons ---- */

/* NULL: out of memory. */
static struct priced_season *find_season(struct build *b, struct bytes name) {
  for (size_t i = 0; i < b->season_count; i++)
    if (bytes_equal(b->seasons[i].name, name)) return &b->seasons[i];
  struct priced_season *season = ADD(b, seasons, season);
  if (season) season->name = keep(b, name);
  return season;
}

/* The season of the option 'seasons', or the whole year; NULL with an error. */
static struct priced_season *only_season(struct build *b) {
  struct bytes name = bytes_of("AllYear");
  const struct node *seasons = node_member(b->options, "seasons");
  const struct node *first = node_is_table(seasons) ? seasons->first : NULL;
  if (first) {
    if (first->next) return usage(b, "spot prices are for one season; use 'rows' for more"), NULL;
    const struct node key = {.type = first->key == KEY_NAME ? NODE_TEXT : NODE_INTEGER, .text = first->name};
    if (!check_name(b, &key, "the name of a season", &name)) return NULL;
  }
  return find_season(b, name);
}

/* ---- rows ---- */

static bool check_members(struct build *b, const struct node *row, int number) {
  static const char *const names[] = {"days", "from", "label", "price", "season", "sell", "to"};
  enum { COUNT = sizeof names / sizeof *names };
  for (const struct node *member = row->first; member; member = member->next) {
    bool known = false;
    for (size_t i = 0; i < COUNT; i++)
      known |= member->key == KEY_NAME && bytes_equal(member->name, bytes_of(names[i]));
    const struct node *key = known ? NULL : node_key(b->r.a, member);
    if (known) continue;
    struct buf sentence = BUF_INIT;
    unknown_sentence(&sentence, "member", key ? (const char *)key->text.data : "", names, COUNT);
    usage(b, "row %d: %s", number, buf_text(&sentence));
    buf_free(&sentence);
    return false;
  }
  return true;
}

static bool is_price(const struct node *value, double *price) {
  return node_as_number(value, price) && !isnan(*price);
}

/* sell becomes NAN when it is not given. */
static bool check_prices(struct build *b, const struct node *row, int number, double *price, double *sell) {
  const struct node *buy_price = node_member(row, "price"), *sell_price = node_member(row, "sell");
  *sell = NAN;
  if (!buy_price) return usage(b, "row %d has no 'price'", number);
  if (!is_price(buy_price, price))
    return usage(b, "row %d: 'price' must be a number, got a %s", number, node_type_name(buy_price));
  if (sell_price && !is_price(sell_price, sell))
    return usage(b, "row %d: 'sell' must be a number, got a %s", number, node_type_name(sell_price));
  return true;
}

/* The value as text. */
static struct bytes written(struct build *b, const struct node *value, const char *fallback) {
  const struct node *text = value ? node_written(b->r.a, value) : NULL;
  return text ? text->text : bytes_of(fallback);
}

static bool check_clock(struct build *b, const struct node *row, const char *name, int *minute) {
  struct bytes text = written(b, option(row, name), "00:00");
  return parse_clock(text, minute) || usage(b, "'%s' is '%.*s'; write hours and minutes, 16:30", name,
                                            (int)text.size, (const char *)text.data);
}

/* The option is a text or a list of texts. */
static bool check_days(struct build *b, const struct node *row, unsigned *days) {
  const struct node *value = node_member(row, "days");
  struct buf joined = BUF_INIT;
  struct bytes text = written(b, value, "mon-sun"), wrong = bytes_of("nil");
  if (node_is_table(value)) {
    for (const struct node *day = first_element(value); day; day = next_element(day)) {
      struct bytes one = written(b, day, "");
      buf_add(&joined, one.data, one.size);
      buf_put(&joined, ',');
    }
    text = buf_bytes(&joined);
  }
  bool holes = node_is_table(value) && hole_in(value);
  bool good = (!holes && parse_days(text, days, &wrong)) ||
              usage(b, "'%.*s' is no day; write mon, tue, wed, thu, fri, sat or sun", (int)wrong.size,
                    (const char *)wrong.data);
  buf_free(&joined);
  return good;
}

static bool read_row(struct build *b, const struct node *row, int number) {
  char what[48];
  double price, sell;
  int from, to;
  unsigned days;
  struct bytes name = bytes_of("AllYear"), label = {NULL, 0};
  if (!node_is_table(row)) return usage(b, "row %d is a %s, not a table", number, node_type_name(row));
  if (!check_members(b, row, number) || !check_prices(b, row, number, &price, &sell)) return false;
  snprintf(what, sizeof what, "row %d: 'season'", number);
  if (option(row, "season") && !check_name(b, option(row, "season"), what, &name)) return false;
  if (!check_clock(b, row, "from", &from) || !check_clock(b, row, "to", &to) || !check_days(b, row, &days))
    return false;
  snprintf(what, sizeof what, "row %d: 'label'", number);
  if (option(row, "label") && !check_name(b, option(row, "label"), what, &label)) return false;
  if (label.data) label = keep(b, label);
  struct priced_season *season = find_season(b, name);
  if (!season) return err_out_of_memory(b->e);
  season->given[TARIFF_BUY] = season->given[TARIFF_SELL] = true;
  bool fits = add_row(&season->week[TARIFF_BUY], days, from, to, price, label);
  if (fits && !isnan(sell))
    fits = add_row(&season->week[TARIFF_SELL], days, from, to, sell, (struct bytes){NULL, 0});
  return fits || err_out_of_memory(b->e);
}

static bool read_rows(struct build *b) {
  const struct node *rows;
  if (!take_list(b, "rows", &rows)) return !rows;
  for (const struct node *row = first_element(rows); row; row = next_element(row))
    if (!read_row(b, row, (int)row->index)) return false;
  return true;
}

/* ---- lists of prices ---- */

static bool check_step(struct build *b, size_t count, uint32_t *step) {
  const struct node *value = option(b->options, "step");
  double minutes = NAN;
  if (value && (!node_as_number(value, &minutes) || isnan(minutes))) minutes = 0;
  *step = price_step(count, minutes);
  return *step || usage(b, "%d prices cover neither a day nor a week; give 'step' in minutes, or all prices",
                        (int)count);
}

static bool read_prices(struct build *b, const char *name, enum tariff_side side) {
  const struct node *list;
  uint32_t step;
  if (!take_list(b, name, &list)) return !list;
  struct priced_season *season = only_season(b);
  if (!season) return false;
  if (hole_in(list)) return usage(b, "price %d is not a number", hole_in(list));
  size_t count = count_elements(list);
  if (!check_step(b, count, &step)) return false;
  double *prices = arena_take(b->r.a, count * sizeof *prices);
  if (!prices) return err_out_of_memory(b->e);
  for (const struct node *price = first_element(list); price; price = next_element(price))
    if (!is_price(price, &prices[price->index - 1]))
      return usage(b, "price %d is not a number", (int)price->index);
  free_week(&season->week[side]);
  season->given[side] = true;
  return add_prices(&season->week[side], prices, count, step) || err_out_of_memory(b->e);
}

/* ---- spot prices: data of a feed ---- */

/* Returns NAN when the member is no number. */
static double number_of(const struct node *object, const char *name, double fallback) {
  const struct node *member = node_member(object, name);
  double number;
  return !member ? fallback : node_as_number(member, &number) ? number : NAN;
}

/* Rounds the start to a minute, because starts of feeds are some seconds off. entry NULL: it is missing. */
static bool read_spot_price(struct build *b, const struct node *entry, int number, struct spot_price *out) {
  if (!node_is_table(entry)) entry = NULL;
  bool sells = entry && node_member(entry, "sell");
  double start = entry ? floor(number_of(entry, "start", NAN) / 60 + 0.5) * 60 : NAN,
         price = entry ? number_of(entry, "price", NAN) : NAN,
         sell = sells ? number_of(entry, "sell", NAN) : NAN,
         minutes = entry ? floor(number_of(entry, "minutes", 0) + 0.5) : 0;
  if (!isfinite(price) || (sells && !isfinite(sell)) || !(minutes >= 0 && minutes <= TARIFF_WEEK) ||
      !(start >= (double)CIVIL_MIN && start + minutes * 60 <= (double)CIVIL_MAX - TARIFF_WEEK * 60.0))
    return err_set(b->e, KIND_invalid,
                   "spot price %d must be { start = UTC seconds, price = number }; 'sell' and 'minutes' are "
                   "numbers, too",
                   number);
  int64_t first = (int64_t)start;
  *out = (struct spot_price){first, minutes > 0 ? first + (int64_t)minutes * 60 : 0, price, sell,
                             (size_t)number};
  return true;
}

/* The option 'from' in whole minutes; is_given: it is there. */
static bool check_from(struct build *b, bool has_spot, bool *is_given, int64_t *from) {
  const struct node *value = node_member(b->options, "from");
  double seconds = NAN;
  *is_given = value != NULL;
  if (!value) return true;
  if (!has_spot) return usage(b, "'from' goes with 'spot'");
  if (node_as_number(value, &seconds)) seconds = floor(seconds / 60) * 60;
  if (!(seconds >= (double)CIVIL_MIN && seconds <= (double)CIVIL_MAX - TARIFF_WEEK * 60.0))
    return usage(b, "'from' must be UTC seconds");
  *from = (int64_t)seconds;
  return true;
}

static bool read_spot(struct build *b) {
  const struct node *list;
  int64_t from = 0;
  bool has_from, has_spot = take_list(b, "spot", &list);
  if (list && !has_spot) return false;
  if (!check_from(b, has_spot, &has_from, &from)) return false;
  if (!has_spot) return true;
  struct priced_season *season = only_season(b);
  if (!season) return false;
  if (!b->zone) return usage(b, "'spot' needs 'time_zone', the zone of the site");
  size_t count = count_elements(list);
  struct spot_price *spot = arena_take(b->r.a, (count + 1) * sizeof *spot);
  if (!spot) return err_out_of_memory(b->e);
  for (const struct node *entry = first_element(list); entry; entry = next_element(entry))
    if (!read_spot_price(b, entry, (int)entry->index, &spot[entry->index - 1])) return false;
  if (hole_in(list)) return read_spot_price(b, NULL, hole_in(list), &spot[count]);
  if (!add_spot(season->week, spot, count, has_from ? &from : NULL, b->zone, b->e)) return false;
  season->given[TARIFF_BUY] = true;
  season->given[TARIFF_SELL] = season->week[TARIFF_SELL].stretch_count;
  if (season->given[TARIFF_SELL] && option(b->options, "sell_prices"))
    return usage(b, "give sell prices either in 'spot' or in 'sell_prices'");
  return true;
}

/* ---- a season's dates and week ---- */

static bool check_date(struct build *b, const struct node *dates, const char *name, int *month, int *day) {
  struct bytes text = written(b, node_member(dates, name), "nil");
  return parse_date(text, month, day) || usage(b, "'%s' is '%.*s'; write month and day, 06-01", name,
                                               (int)text.size, (const char *)text.data);
}

static bool check_dates(struct build *b, struct bytes name, int dates[4]) {
  const struct node *seasons = option(b->options, "seasons");
  int size = (int)name.size;
  memcpy(dates, whole_year, sizeof whole_year);
  if (!seasons) return true;
  if (!node_is_table(seasons))
    return usage(b, "'seasons' must be a table, got a %s", node_type_name(seasons));
  const struct node *season = given(node_named(seasons, name));
  if (!season) return usage(b, "season '%.*s' stands in a row and not in 'seasons'", size, name.data);
  if (!node_is_table(season))
    return usage(b, "season '%.*s' must be { from = \"06-01\", to = \"09-30\" }", size, name.data);
  return check_date(b, season, "from", &dates[0], &dates[1]) &&
         check_date(b, season, "to", &dates[2], &dates[3]);
}

static bool check_order(struct build *b, struct price_week *week, struct bytes season) {
  const struct stretch *late = sort_week(week);
  if (!late) return true;
  unsigned day = late->from / 1440, minute = late->from % 1440;
  return usage(b, "two rows of season '%.*s' cover day %d (0 is Monday) at %02u:%02u", (int)season.size,
               season.data, (int)day, minute / 60 % 24, minute % 60);
}

static bool check_labels(struct build *b, const struct price_week *week) {
  struct label_clash clash;
  if (!find_clash(week, &clash)) return err_out_of_memory(b->e);
  if (!clash.one) return true;
  return usage(b, "label '%.*s' has two prices in one season, %.14g and %.14g", (int)clash.one->base.size,
               clash.one->base.data, clash.one->price, clash.other->price);
}

/* ---- rates: ALL has the price 0 for charges without a season ---- */

static void add_rates_of(struct reader *r, enum tariff_side side, struct bytes season) {
  tariff_add_rates(r->t, side, TARIFF_DEMAND, season);
  tariff_add_rates(r->t, side, TARIFF_ENERGY, season);
}

static void add_all(struct reader *r, enum tariff_side side) {
  tariff_add_rates(r->t, side, TARIFF_DEMAND, bytes_of("ALL"));
  tariff_add_rate(r->t, bytes_of("ALL"), 0);
  tariff_add_rates(r->t, side, TARIFF_ENERGY, bytes_of("ALL"));
}

static struct node *group_value(struct arena *a, enum tariff_side side, struct bytes season,
                                const struct price_group *group) {
  struct node *o = node_new(a, NODE_OBJECT);
  node_set(o, "side", node_text(a, bytes_of(tariff_side_name(side))));
  node_set(o, "season", node_text(a, season));
  node_set(o, "label", node_text_copy(a, group->label));
  node_set(o, "price", node_number(a, group->price));
  node_set(o, "low", node_number(a, group->low));
  node_set(o, "high", node_number(a, group->high));
  node_set(o, "minutes", node_number(a, group->minutes));
  return o;
}

static bool add_season(struct build *b, struct priced_season *season, enum tariff_side side, size_t most) {
  int dates[4];
  struct price_week *week = &season->week[side];
  if (!check_dates(b, season->name, dates) || !check_order(b, week, season->name) || !check_labels(b, week))
    return false;
  if (!label_week(b->r.t, week, most)) return err_out_of_memory(b->e);
  bool flat = is_flat(week);
  build_season(&b->r, side, season->name, dates, week->stretch_count && !flat);
  if (!flat && !write_periods(b->r.t, week->stretches, week->stretch_count)) return err_out_of_memory(b->e);
  add_rates_of(&b->r, side, season->name);
  for (size_t i = 0; i < week->group_count; i++) {
    const struct price_group *group = &week->groups[i];
    const struct node price = {.type = NODE_NUMBER, .number = group->price};
    build_rate(&b->r, side, season->name, group->label, &price);
    node_append(b->groups, group_value(b->r.a, side, season->name, group));
  }
  return true;
}

/* ---- the whole ---- */

static int by_name(const void *left, const void *right) {
  const struct priced_season *a = left, *b = right;
  return compare_names(a->name, b->name);
}

static bool has_prices(const struct build *b, enum tariff_side side) {
  for (size_t i = 0; i < b->season_count; i++)
    if (b->seasons[i].week[side].stretch_count) return true;
  return false;
}

static bool read_weeks(struct build *b) {
  if (!read_rows(b) || !read_prices(b, "prices", TARIFF_BUY) || !read_spot(b) ||
      !read_prices(b, "sell_prices", TARIFF_SELL))
    return false;
  if (!has_prices(b, TARIFF_BUY)) return usage(b, "there is no price in it");
  qsort(b->seasons, b->season_count, sizeof *b->seasons, by_name);
  return true;
}

/* Reads the members without prices. */
static void read_head(struct reader *r, const struct node *options, bool sells) {
  const struct node *head = node_member(options, "head");
  r->buy_only = !sells;
  if (node_is_table(head)) read_content(r, head);
}

static bool fill(struct build *b) {
  const struct node *labels = node_member(b->options, "labels");
  double count = TARIFF_WEEK;
  if (labels && !(node_as_number(labels, &count) && count >= 1 && count == floor(count)))
    return usage(b, "'labels' must be a whole number above 0");
  size_t most = count < TARIFF_WEEK ? (size_t)count : TARIFF_WEEK;
  if (!read_weeks(b)) return false;
  int sides = has_prices(b, TARIFF_SELL) ? TARIFF_SIDES : 1;
  read_head(&b->r, b->options, sides == TARIFF_SIDES);
  for (int side = 0; side < sides; side++) {
    add_all(&b->r, (enum tariff_side)side);
    tariff_add_rate(b->r.t, bytes_of("ALL"), 0);
    for (size_t i = 0; i < b->season_count; i++)
      if (b->seasons[i].given[side] && !add_season(b, &b->seasons[i], (enum tariff_side)side, most))
        return false;
  }
  return true;
}

struct node *tariff_from_rows(struct tariff *t, const struct node *options, const struct zone *zone,
                              struct arena *a, struct node **groups, struct err *e) {
  struct build b = {.r = {.t = t, .a = a, .problems = node_new(a, NODE_LIST)},
                    .options = options,
                    .zone = zone,
                    .groups = node_new(a, NODE_LIST),
                    .e = e};
  bool filled = fill(&b);
  for (size_t i = 0; i < b.season_count; i++)
    for (int side = 0; side < TARIFF_SIDES; side++) free_week(&b.seasons[i].week[side]);
  free(b.seasons);
  *groups = b.groups;
  return filled ? tariff_report(t, b.r.problems, check_allowed(options), a) : NULL;
}

/* ---- one price ---- */

static void add_flat_side(struct reader *r, enum tariff_side side, const struct node *price) {
  struct bytes season = bytes_of("AllYear");
  add_all(r, side);
  build_rate(r, side, bytes_of("ALL"), bytes_of("ALL"), price);
  build_season(r, side, season, whole_year, false);
  add_rates_of(r, side, season);
}

struct node *tariff_from_flat(struct tariff *t, const struct node *options, struct arena *a, struct err *e) {
  struct reader r = {.t = t, .a = a, .problems = node_new(a, NODE_LIST)};
  const struct node *price = node_member(options, "price"), *sell = option(options, "sell");
  double number;
  if (!node_as_number(price, &number))
    return err_set(e, KIND_none, "fleet.tariff.flat: 'price' must be a number"), NULL;
  read_head(&r, options, sell != NULL);
  add_flat_side(&r, TARIFF_BUY, price);
  if (sell) add_flat_side(&r, TARIFF_SELL, sell);
  return tariff_report(t, r.problems, check_allowed(options), a);
}
