#include "tariff/read.h"

#include "base/nearest.h"
#include "tariff/content.h"
#include "tariff/kinds.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

struct member;
typedef void read_value(struct reader *r, const struct member *m, const struct node *value);

struct member {
  const char *name;
  read_value *read;
  int low, high; /* range of a whole number; for read_text, read_number, read_object low is an enum value */
};

/* ---- problems ---- */

static void enter(struct reader *r, struct bytes name, int64_t index) {
  r->path[r->depth++] = (struct step){name, index};
}

static struct node *path_text(struct reader *r) {
  struct buf path = BUF_INIT;
  for (int i = 0; i < r->depth; i++) {
    const struct step *step = &r->path[i];
    if (!step->name.data)
      buf_format(&path, "[%lld]", (long long)step->index);
    else if (i > 0)
      buf_put(&path, '.');
    buf_add(&path, step->name.data, step->name.size);
  }
  struct node *text = node_text_copy(r->a, buf_bytes(&path));
  r->a->failed |= path.failed;
  buf_free(&path);
  return text;
}

static struct node *add_problem(struct reader *r, const char *kind) {
  struct node *problem = node_new(r->a, NODE_OBJECT);
  node_set(problem, "kind", node_text(r->a, bytes_of(kind)));
  node_set(problem, "side", node_text(r->a, bytes_of(tariff_side_name(r->side))));
  if (r->season.data) node_set(problem, "season", node_text_copy(r->a, r->season));
  if (r->label.data) node_set(problem, "label", node_text_copy(r->a, r->label));
  node_set(problem, "path", path_text(r));
  node_append(r->problems, problem);
  return problem;
}

/* The value for a problem: infinite numbers, tables and other types become text. */
static struct node *shown(struct reader *r, const struct node *value) {
  double number;
  if (node_as_number(value, &number) && !isfinite(number)) return node_format(r->a, "%.14g", number);
  if (value->type == NODE_BOOLEAN || value->type == NODE_TEXT || node_as_number(value, &number))
    return node_copy(r->a, value);
  return node_format(r->a, "a %s", node_type_name(value));
}

static void bad_value(struct reader *r, const struct node *value, struct node *expected) {
  struct node *problem = add_problem(r, "bad_value");
  node_set(problem, "value", shown(r, value));
  node_set(problem, "expected", expected);
}

static void expect(struct reader *r, const struct node *value, const char *expected) {
  bad_value(r, value, node_text(r->a, bytes_of(expected)));
}

static void unknown_key(struct reader *r, const struct node *value, const struct member *rows) {
  const char *names[24];
  size_t count = 0;
  for (const struct member *m = rows; m && m->name; m++) names[count++] = m->name;
  struct node *problem = add_problem(r, "unknown_key");
  struct node *key = node_key(r->a, value);
  node_set(problem, "key", key);
  const char *near =
      key && value->key == KEY_NAME ? nearest((const char *)key->text.data, names, count) : NULL;
  if (near) node_set(problem, "nearest", node_text(r->a, bytes_of(near)));
}

/* ---- objects and lists ---- */

static bool is_table(struct reader *r, const struct node *value, const char *expected) {
  if (node_is_table(value)) return true;
  expect(r, value, expected);
  return false;
}

static const struct member *find_member(const struct node *value, const struct member *rows) {
  for (const struct member *m = rows; value->key == KEY_NAME && m->name; m++)
    if (bytes_equal(value->name, bytes_of(m->name))) return m;
  return NULL;
}

/* Reads each member of an object by its row. Null means absent. */
static void read_members(struct reader *r, const struct node *object, const struct member *rows) {
  for (const struct node *value = object->first; value; value = value->next) {
    const struct member *m = find_member(value, rows);
    if (!m) {
      unknown_key(r, value, rows);
    } else if (value->type != NODE_NIL) {
      enter(r, bytes_of(m->name), 0);
      m->read(r, m, value);
      r->depth--;
    }
  }
}

/* Reads each member of a map. A name must not hold a zero byte. */
static void read_map(struct reader *r, const struct node *map,
                     void (*each)(struct reader *, const struct node *value)) {
  if (!is_table(r, map, "an object")) return;
  for (const struct node *value = map->first; value; value = value->next) {
    if (value->key != KEY_NAME || memchr(value->name.data, 0, value->name.size)) {
      unknown_key(r, value, NULL);
    } else if (value->type != NODE_NIL) {
      enter(r, value->name, 0);
      each(r, value);
      r->depth--;
    }
  }
}

static void read_list(struct reader *r, const struct node *list, const char *expected,
                      void (*each)(struct reader *, const struct node *value)) {
  if (!is_table(r, list, expected)) return;
  for (const struct node *value = list->first; value; value = value->next) {
    if (value->key != KEY_INDEX) {
      expect(r, value, expected);
      continue;
    }
    enter(r, (struct bytes){NULL, 0}, value->index);
    if (is_table(r, value, "an object")) each(r, value);
    r->depth--;
  }
}

/* ---- plain members ---- */

static void read_text(struct reader *r, const struct member *m, const struct node *value) {
  if (value->type == NODE_TEXT)
    tariff_set_text(r->t, r->side, (enum tariff_text)m->low, value->text);
  else
    expect(r, value, "text");
}

static bool is_finite(const struct node *value, double *number) {
  return node_as_number(value, number) && isfinite(*number);
}

static void read_number(struct reader *r, const struct member *m, const struct node *value) {
  double number;
  if (is_finite(value, &number))
    tariff_set_number(r->t, r->side, (enum tariff_number)m->low, number);
  else
    expect(r, value, "a number");
}

/* A copy without members that are null. */
static struct node *without_nulls(struct arena *a, const struct node *value) {
  struct node *copy = node_new(a, value->type);
  if (!copy) return NULL;
  *copy = *value;
  copy->next = NULL;
  if (!node_is_table(value)) return copy;
  copy->first = copy->last = NULL;
  for (const struct node *part = value->first; part; part = part->next)
    if (part->type != NODE_NIL || part->key == KEY_INDEX) node_add(copy, without_nulls(a, part));
  return copy;
}

/* The members are not documented: any JSON value is passed on. */
static void read_object(struct reader *r, const struct member *m, const struct node *value) {
  struct buf text = BUF_INIT;
  struct json_refusal why;
  if (!is_table(r, value, "an object")) return;
  const struct node *present = without_nulls(r->a, value);
  if (present && json_write(present, NULL, &text, &why))
    tariff_set_text(r->t, r->side, (enum tariff_text)m->low, buf_bytes(&text));
  else
    expect(r, value, "an object of text, numbers, lists and objects");
  r->a->failed |= text.failed;
  buf_free(&text);
}

/* ---- seasons ---- */

static void read_slot(struct reader *r, const struct member *m, const struct member *rows,
                      const struct node *value) {
  int64_t whole;
  if (node_as_whole(value, &whole) && whole >= m->low && whole <= m->high) {
    r->slots[m - rows] = (int)whole;
    r->given |= 1u << (m - rows);
    return;
  }
  bad_value(r, value, node_format(r->a, "a whole number from %d to %d", m->low, m->high));
  r->was_bad = true;
}

static void clear_slots(struct reader *r) {
  memset(r->slots, 0, sizeof r->slots);
  r->given = 0;
  r->was_bad = false;
}

static read_value read_period_slot, read_season_slot, read_nothing;
enum { FROM_DAY, TO_DAY, FROM_HOUR, FROM_MINUTE, TO_HOUR, TO_MINUTE };
static const struct member period_members[] = {{"fromDayOfWeek", read_period_slot, 0, 6},
                                               {"toDayOfWeek", read_period_slot, 0, 6},
                                               {"fromHour", read_period_slot, 0, 23},
                                               {"fromMinute", read_period_slot, 0, 59},
                                               {"toHour", read_period_slot, 0, 24},
                                               {"toMinute", read_period_slot, 0, 59},
                                               {0}};
enum { FROM_MONTH, FROM_DATE, TO_MONTH, TO_DATE };
static const struct member season_members[] = {
    {"fromMonth", read_season_slot, 0, 12}, {"fromDay", read_season_slot, 0, 31},
    {"toMonth", read_season_slot, 0, 12},   {"toDay", read_season_slot, 0, 31},
    {"tou_periods", read_nothing, 0, 0},    {0}};

const char *tariff_date_member(int i) {
  return season_members[i].name;
}

static void read_period_slot(struct reader *r, const struct member *m, const struct node *value) {
  read_slot(r, m, period_members, value);
}

static void read_season_slot(struct reader *r, const struct member *m, const struct node *value) {
  read_slot(r, m, season_members, value);
}

static void read_nothing(struct reader *r, const struct member *m, const struct node *value) {
  (void)r, (void)m, (void)value;
}

/* The service drops members that are 0: an absent one is 0. fill_season_week decides on a missing
 * toDayOfWeek. */
static void read_period(struct reader *r, const struct node *period) {
  clear_slots(r);
  read_members(r, period, period_members);
  const int *s = r->slots;
  if (s[TO_HOUR] == 24 && s[TO_MINUTE] != 0) {
    const struct node *late = node_format(r->a, "24:%d", s[TO_MINUTE]);
    if (late) expect(r, late, "24:00 at the latest");
  } else if (!r->was_bad) {
    int to_day = r->given & 1u << TO_DAY ? s[TO_DAY] : TARIFF_NO_DAY;
    tariff_add_period(r->t, (struct tariff_period){s[FROM_DAY], to_day, s[FROM_HOUR] * 60 + s[FROM_MINUTE],
                                                   s[TO_HOUR] * 60 + s[TO_MINUTE]});
  }
}

static void read_periods(struct reader *r, const struct member *m, const struct node *periods) {
  (void)m;
  struct bytes label = r->path[r->depth - 2].name;
  if (node_is_table(periods)) {
    if (!periods->first) return; /* no periods: the label is not in use */
    tariff_add_label(r->t, label);
  }
  r->label = label;
  read_list(r, periods, "a list of periods", read_period);
  r->label.data = NULL;
}

static const struct member label_members[] = {{"periods", read_periods, 0, 0}, {0}};

static void read_label(struct reader *r, const struct node *label) {
  if (!is_table(r, label, "an object { periods = { ... } }")) return;
  if (first_element(label))
    expect(r, label, "an object { periods = { ... } }; this is the form of the older tariff_content");
  else
    read_members(r, label, label_members);
}

/* A season in use needs real dates. The problem names the member with the day. */
static void check_date(struct reader *r, int month, int day) {
  if (tariff_real_date(r->slots[month], r->slots[day])) return;
  const struct node *date = node_format(r->a, "%02d-%02d", r->slots[month], r->slots[day]);
  enter(r, bytes_of(season_members[day].name), 0);
  if (date) expect(r, date, "a day of the year, month and day");
  r->depth--;
}

/* A season with fromMonth 0 and without periods is not in use. */
static void add_season(struct reader *r, struct bytes name, bool has_periods) {
  const int *s = r->slots;
  bool dated = s[FROM_MONTH] || s[FROM_DATE] || s[TO_MONTH] || s[TO_DATE];
  bool needs_dates = dated || (has_periods && !bytes_equal(name, bytes_of("ALL")));
  if (s[FROM_MONTH] == 0 && !has_periods && !r->was_bad) {
    clear_slots(r);
  } else if (!r->was_bad && needs_dates) {
    check_date(r, FROM_MONTH, FROM_DATE);
    check_date(r, TO_MONTH, TO_DATE);
  }
  tariff_add_season(r->t, r->side, name,
                    (struct tariff_dates){s[FROM_MONTH], s[FROM_DATE], s[TO_MONTH], s[TO_DATE]});
}

static void read_season(struct reader *r, const struct node *season) {
  if (!is_table(r, season, "an object")) return;
  r->season = season->name;
  clear_slots(r);
  read_members(r, season, season_members);
  const struct node *labels = node_member(season, "tou_periods");
  bool is_empty = node_is_table(labels) && !labels->first;
  bool has_periods = labels && !is_empty;
  add_season(r, season->name, has_periods);
  enter(r, bytes_of("tou_periods"), 0);
  if (has_periods) read_map(r, labels, read_label);
  r->depth--;
  r->season.data = NULL;
}

static void read_seasons(struct reader *r, const struct member *m, const struct node *seasons) {
  (void)m;
  read_map(r, seasons, read_season);
}

/* ---- charges ---- */

static void add_rate(struct reader *r, struct bytes label, const struct node *price) {
  double number;
  if (is_finite(price, &number)) {
    tariff_add_rate(r->t, label, number);
    return;
  }
  r->label = label;
  expect(r, price, "a price");
  r->label.data = NULL;
}

static void read_rate(struct reader *r, const struct node *price) {
  add_rate(r, price->name, price);
}

static void read_rates(struct reader *r, const struct member *m, const struct node *rates) {
  (void)m;
  read_map(r, rates, read_rate);
}

static const struct member block_members[] = {{"rates", read_rates, 0, 0}, {0}};

static void read_block(struct reader *r, enum tariff_charges charges, const struct node *block) {
  if (!is_table(r, block, "an object { rates = { ... } }")) return;
  tariff_add_rates(r->t, r->side, charges, block->name);
  r->season = block->name;
  read_members(r, block, block_members);
  r->season.data = NULL;
}

static void read_energy_block(struct reader *r, const struct node *block) {
  read_block(r, TARIFF_ENERGY, block);
}

static void read_demand_block(struct reader *r, const struct node *block) {
  read_block(r, TARIFF_DEMAND, block);
}

static void read_energy(struct reader *r, const struct member *m, const struct node *charges) {
  (void)m;
  read_map(r, charges, read_energy_block);
}

static void read_demand(struct reader *r, const struct member *m, const struct node *charges) {
  (void)m;
  read_map(r, charges, read_demand_block);
}

static void read_charge_name(struct reader *r, const struct member *m, const struct node *value) {
  (void)m;
  if (value->type == NODE_TEXT)
    r->charge_name = value->text;
  else
    expect(r, value, "text");
}

static void read_charge_amount(struct reader *r, const struct member *m, const struct node *value) {
  (void)m;
  double number;
  if (is_finite(value, &number))
    r->charge_amount = number;
  else
    expect(r, value, "a number");
}

static const struct member charge_members[] = {
    {"name", read_charge_name, 0, 0}, {"amount", read_charge_amount, 0, 0}, {0}};

static void read_charge(struct reader *r, const struct node *charge) {
  r->charge_name = bytes_of("");
  r->charge_amount = 0;
  read_members(r, charge, charge_members);
  tariff_add_charge(r->t, r->side, r->charge_name, r->charge_amount);
}

static void read_charge_list(struct reader *r, const struct member *m, const struct node *charges) {
  (void)m;
  read_list(r, charges, "a list of { name =, amount = }", read_charge);
}

/* ---- the whole ---- */

static read_value read_sell;
/* clang-format off */
#define COMMON_MEMBERS                                                                                       \
  {"utility", read_text, TARIFF_UTILITY, 0}, {"code", read_text, TARIFF_CODE, 0},                            \
  {"name", read_text, TARIFF_NAME, 0}, {"currency", read_text, TARIFF_CURRENCY, 0},                          \
  {"monthly_minimum_bill", read_number, TARIFF_MONTHLY_MINIMUM, 0},                                          \
  {"monthly_charges", read_number, TARIFF_MONTHLY, 0},                                                       \
  {"min_applicable_demand", read_number, TARIFF_MIN_DEMAND, 0},                                              \
  {"max_applicable_demand", read_number, TARIFF_MAX_DEMAND, 0},                                              \
  {"daily_charges", read_charge_list, 0, 0},                                                                 \
  {"daily_demand_charges", read_object, TARIFF_DAILY_DEMAND, 0},                                             \
  {"demand_charges", read_demand, 0, 0}, {"energy_charges", read_energy, 0, 0},                              \
  {"seasons", read_seasons, 0, 0}

static const struct member sell_members[] = {COMMON_MEMBERS, {0}};
static const struct member tariff_members[] = {
    {"version", read_number, TARIFF_VERSION, 0}, COMMON_MEMBERS, {"sell_tariff", read_sell, 0, 0}, {0}};
/* clang-format on */

static void read_sell(struct reader *r, const struct member *m, const struct node *sell) {
  (void)m;
  if (r->buy_only || !is_table(r, sell, "an object")) return;
  r->side = TARIFF_SELL;
  read_members(r, sell, sell_members);
  r->side = TARIFF_BUY;
}

/* Only the buy side: in the published example the currency of sell_tariff is empty. */
static void check_currency(struct reader *r, const struct node *content) {
  static const char *const known[] = {"USD", "EUR", "GBP"};
  const struct node *currency = node_member(content, "currency");
  if (currency && currency->type != NODE_TEXT) return; /* read_text reports it */
  struct bytes text = currency ? currency->text : bytes_of("");
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    if (bytes_equal(text, bytes_of(known[i]))) return;
  struct node *problem = node_new(r->a, NODE_OBJECT);
  node_set(problem, "kind", node_text(r->a, bytes_of("bad_currency")));
  node_set(problem, "value", node_text_copy(r->a, text));
  node_append(r->problems, problem);
}

void read_content(struct reader *r, const struct node *content) {
  check_currency(r, content);
  read_members(r, content, tariff_members);
}

/* ---- the older form ---- */

static bool is_plain_price(const struct node *value) {
  return value->type == NODE_INTEGER || value->type == NODE_NUMBER;
}

static bool is_bare_list(const struct node *value) {
  return first_element(value) != NULL;
}

static bool is_new_form(const struct node *value) {
  return node_is_table(value) && value->key == KEY_NAME &&
         (bytes_equal(value->name, bytes_of("rates")) || bytes_equal(value->name, bytes_of("periods")));
}

/* Whether a value that is so many levels below table passes the test. */
static bool any_below(const struct node *table, int levels, bool is(const struct node *)) {
  if (!node_is_table(table)) return false;
  for (const struct node *value = table->first; value; value = value->next)
    if (levels ? any_below(value, levels - 1, is) : is(value)) return true;
  return false;
}

bool tariff_is_older(const struct node *content) {
  const struct node *energy = node_member(content, "energy_charges"),
                    *seasons = node_member(content, "seasons");
  return any_below(energy, 1, is_plain_price) && !any_below(energy, 1, is_new_form) &&
         (any_below(seasons, 2, is_bare_list) || !any_below(seasons, 3, is_new_form));
}

/* ---- for the builders ---- */

static void enter_side(struct reader *r, enum tariff_side side, const char *member, struct bytes season) {
  r->side = side, r->season = season, r->depth = 0;
  if (side == TARIFF_SELL) enter(r, bytes_of("sell_tariff"), 0);
  enter(r, bytes_of(member), 0);
  enter(r, season, 0);
}

static void leave_side(struct reader *r) {
  r->side = TARIFF_BUY, r->season.data = NULL, r->depth = 0;
}

void build_season(struct reader *r, enum tariff_side side, struct bytes name, const int dates[4],
                  bool has_periods) {
  enter_side(r, side, "seasons", name);
  clear_slots(r);
  for (int i = 0; i < 4; i++) {
    const struct node date = {.type = NODE_INTEGER, .integer = dates[i]};
    enter(r, bytes_of(season_members[i].name), 0);
    read_season_slot(r, &season_members[i], &date);
    r->depth--;
  }
  add_season(r, name, has_periods);
  leave_side(r);
}

void build_rate(struct reader *r, enum tariff_side side, struct bytes season, struct bytes label,
                const struct node *price) {
  enter_side(r, side, "energy_charges", season);
  enter(r, bytes_of("rates"), 0);
  enter(r, label, 0);
  add_rate(r, label, price);
  leave_side(r);
}
