/* A tariff from its content, and the report of its check. */
#include "tariff/content.h"

#include "tariff/kinds.h"
#include "tariff/names.h"
#include "tariff/read.h"

#include <stdlib.h>

/* ---- a fault as a value ---- */

static const char *const day_names[7] = {"Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"};

static struct node *date_text(struct arena *a, uint32_t day) {
  int month, date;
  tariff_date(day, &month, &date);
  return node_format(a, "%02d-%02d", month, date);
}

/* A span is within one day: the check reports each day. */
static struct node *span_text(struct arena *a, uint32_t from, uint32_t to) {
  uint32_t start = from % 1440, end = start + (to - from);
  return node_format(a, "%s %02u:%02u-%02u:%02u", day_names[from / 1440 % 7], start / 60, start % 60,
                     end / 60, end % 60);
}

static struct node *range_text(struct arena *a, const struct span *range) {
  if (range->from == range->to) return node_text(a, bytes_of(day_names[range->from]));
  return node_format(a, "%s-%s", day_names[range->from], day_names[range->to]);
}

static struct node *names_list(struct arena *a, const struct tariff_report *r, const struct tariff_fault *f) {
  struct node *list = node_new(a, NODE_LIST);
  for (size_t i = 0; i < f->count; i++) node_append(list, node_text(a, r->names[f->first + i]));
  return list;
}

static struct node *spans_list(struct arena *a, const struct tariff_report *r, const struct tariff_fault *f) {
  struct node *list = node_new(a, NODE_LIST);
  for (size_t i = 0; i < f->count; i++) {
    const struct span *span = &r->spans[f->first + i];
    node_append(list, span_text(a, span->from, span->to));
  }
  return list;
}

static struct node *ranges_list(struct arena *a, const struct tariff_report *r,
                                const struct tariff_fault *f) {
  struct node *list = node_new(a, NODE_LIST);
  for (size_t i = 0; i < f->count; i++) node_append(list, range_text(a, &r->spans[f->first + i]));
  return list;
}

static void set_pair(struct arena *a, struct node *o, const struct tariff_report *r,
                     const struct tariff_fault *f) {
  node_set(o, "buy_season", node_text(a, f->season));
  node_set(o, "sell_season", node_text(a, f->other_season));
  node_set(o, "buy_label", node_text(a, f->label));
  node_set(o, "sell_label", node_text(a, f->other_label));
  node_set(o, "buy", node_number(a, f->price));
  node_set(o, "sell", node_number(a, f->other_price));
  node_set(o, "buy_becomes", node_number(a, f->becomes));
  node_set(o, "spans", spans_list(a, r, f));
}

static struct node *fault_value(struct arena *a, const struct tariff_report *r,
                                const struct tariff_fault *f) {
  unsigned members = tariff_kind_rows[f->kind].members;
  const char *charges = f->charges == TARIFF_ENERGY ? "energy_charges" : "demand_charges";
  struct node *o = node_new(a, NODE_OBJECT);
  node_set(o, "kind", node_text(a, bytes_of(tariff_kind_rows[f->kind].name)));
  if (members & ON_SIDE) node_set(o, "side", node_text(a, bytes_of(tariff_side_name(f->side))));
  if (members & ON_CHARGES) node_set(o, "charges", node_text(a, bytes_of(charges)));
  if (members & ON_SEASON) node_set(o, "season", node_text(a, f->season));
  if (members & ON_LABEL) node_set(o, "label", node_text(a, f->label));
  if (members & LABELS) node_set(o, "labels", names_list(a, r, f));
  if (members & SEASONS) node_set(o, "seasons", names_list(a, r, f));
  if (members & SPAN) node_set(o, "span", span_text(a, f->from, f->to));
  if (members & SPAN) node_set(o, "minutes", node_number(a, f->to - f->from));
  if (members & DATES) node_set(o, "from", date_text(a, f->from));
  if (members & DATES) node_set(o, "to", date_text(a, f->to));
  if (members & PRICE) node_set(o, "price", node_number(a, f->price));
  if (members & BECOMES) node_set(o, "becomes", node_number(a, f->becomes));
  if (members & PAIR) set_pair(a, o, r, f);
  if (members & RANGES) node_set(o, "ranges", ranges_list(a, r, f));
  return o;
}

/* ---- the reader's problems, sorted by path, then key ---- */

struct found {
  struct bytes path, key;
  const struct node *problem;
  int64_t number;
};

static int by_place(const void *left, const void *right) {
  const struct found *a = left, *b = right;
  int order = compare_names(a->path, b->path);
  if (!order) order = compare_names(a->key, b->key);
  return order ? order : (a->number > b->number) - (a->number < b->number);
}

static struct bytes text_of(const struct node *problem, const char *name) {
  const struct node *text = node_member(problem, name);
  return text ? text->text : bytes_of("");
}

/* NULL: out of memory. */
static struct found *sort_problems(const struct node *problems, size_t *count, struct arena *a) {
  *count = problems && problems->last ? (size_t)problems->last->index : 0;
  struct found *found = arena_take(a, *count * sizeof *found);
  if (!found) return NULL;
  size_t i = 0;
  for (const struct node *p = problems ? problems->first : NULL; p; p = p->next)
    found[i++] = (struct found){text_of(p, "path"), text_of(p, "key"), p, p->index};
  if (i) qsort(found, i, sizeof *found, by_place);
  return found;
}

static bool is_allowed(const struct node *problem, unsigned allowed) {
  struct bytes kind = text_of(problem, "kind");
  return (allowed & ALLOW_CURRENCY && bytes_equal(kind, bytes_of("bad_currency"))) ||
         (allowed & ALLOW_UNKNOWN && bytes_equal(kind, bytes_of("unknown_key")));
}

/* Problems that are allowed follow the other warnings. */
static struct node *report_value(const struct tariff_report *r, const struct node *problems, unsigned allowed,
                                 struct arena *a) {
  struct node *lists[TARIFF_LISTS], *report = node_new(a, NODE_OBJECT);
  size_t count;
  const struct found *found = sort_problems(problems, &count, a);
  if (!found) return NULL;
  for (int i = 0; i < TARIFF_LISTS; i++) lists[i] = node_new(a, NODE_LIST);
  for (size_t i = 0; i < count; i++)
    if (!is_allowed(found[i].problem, allowed))
      node_append(lists[TARIFF_PROBLEMS], node_copy(a, found[i].problem));
  for (size_t i = 0; i < r->fault_count; i++)
    node_append(lists[tariff_kind_rows[r->faults[i].kind].list], fault_value(a, r, &r->faults[i]));
  for (size_t i = 0; i < count; i++)
    if (is_allowed(found[i].problem, allowed))
      node_append(lists[TARIFF_WARNINGS], node_copy(a, found[i].problem));
  if (a->failed) return NULL;
  node_set(report, "valid", node_boolean(a, !lists[TARIFF_PROBLEMS]->first));
  for (int i = 0; i < TARIFF_LISTS; i++) node_set(report, tariff_lists[i], lists[i]);
  return a->failed ? NULL : report;
}

struct node *tariff_report(struct tariff *t, const struct node *problems, unsigned allowed, struct arena *a) {
  struct tariff_report r;
  if (a->failed || !tariff_check(t, &r, NULL)) return NULL;
  struct node *report = report_value(&r, problems, allowed, a);
  tariff_report_free(&r);
  return report;
}

/* The older form is not read: the report has one problem. */
static struct node *older_report(struct tariff *t, struct arena *a) {
  struct tariff_report r;
  struct node *problems = node_new(a, NODE_LIST), *problem = node_new(a, NODE_OBJECT);
  node_set(problem, "kind", node_text(a, bytes_of("older_form")));
  node_append(problems, problem);
  if (!tariff_check(t, &r, NULL)) return NULL;
  tariff_report_free(&r); /* the tariff is empty: its findings are left out */
  return report_value(&r, problems, 0, a);
}

struct node *tariff_from_content(struct tariff *t, const struct node *content, unsigned allowed,
                                 struct arena *a) {
  if (tariff_is_older(content)) return older_report(t, a);
  struct reader r = {.t = t, .a = a, .problems = node_new(a, NODE_LIST)};
  read_content(&r, content);
  return tariff_report(t, r.problems, allowed, a);
}
