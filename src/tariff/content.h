/* Tariffs as trees of nodes: tariff_content_v2 and its report, options of the builders, queries and results.
 *
 * The binding converts these trees from and to Lua tables; the fuzzer makes them of JSON. Returned nodes are
 * in the arena, and NULL without an error is out of memory. A wrong argument is an error of kind none, which
 * the binding raises.
 */
#ifndef FLEET_TARIFF_CONTENT_H
#define FLEET_TARIFF_CONTENT_H

#include "base/value.h"
#include "tariff/timeline.h"

/* Findings that become warnings: the service accepts currencies that it does not document, and the tariff of
 * a site may have unknown members. */
enum { ALLOW_CURRENCY = 1, ALLOW_UNKNOWN = 2 };

/* Reads content into the new tariff t and checks it. Returns { valid, problems, normalisations, warnings }.
 * The older form tariff_content is reported as one problem and not read. */
struct node *tariff_from_content(struct tariff *t, const struct node *content, unsigned allowed,
                                 struct arena *a);
/* tariff_content_v2 of a checked tariff, every member written out; seasons that are not in use are left
 * out. */
struct node *tariff_content(const struct tariff *t, struct arena *a);
/* Checks a filled tariff. problems: a list of findings of the reader. */
struct node *tariff_report(struct tariff *t, const struct node *problems, unsigned allowed, struct arena *a);

/* Builders fill the new tariff t from the options of fleet.tariff.flat and from_rows, and check it.
 * options.head: a content without prices; its sell_tariff is read when there are sell prices.
 * groups: how prices became labels. Wrong prices of a feed are an error of kind invalid. */
struct node *tariff_from_flat(struct tariff *t, const struct node *options, struct arena *a, struct err *e);
struct node *tariff_from_rows(struct tariff *t, const struct node *options, const struct zone *zone,
                              struct arena *a, struct node **groups, struct err *e);

/* ---- queries of a valid tariff: a time is UTC seconds, which need a zone, or { year, month, day, hour, min
 * } ---- */
/* { buy = { price, season, label }, sell = the same or none } */
struct node *tariff_at(const struct tariff *t, const struct node *when, const struct zone *zone,
                       struct arena *a, struct err *e);
/* { { from, to, buy, sell }, ... } */
struct node *tariff_segments(const struct tariff *t, const struct node *from, const struct node *to,
                             const struct zone *zone, struct arena *a, struct err *e);
/* options: hours, from, to, contiguous. { hours, mean, { from, to, price, season, label }, ... } */
struct node *tariff_cheapest(const struct tariff *t, const struct node *options, const struct zone *zone,
                             struct arena *a, struct err *e);
/* Its seasons by first day: { { name, fromMonth, ..., { from, to, label, price, demand }, ..., runs =
 * { { first, last, spans = { { from, to, label, price }, ... } }, ... } }, ... }. The days of a run have the
 * same prices; Monday is 0. */
struct node *tariff_weeks(const struct tariff *t, enum tariff_side side, struct arena *a);

const char *tariff_date_member(int i); /* 0 to 3: fromMonth, fromDay, toMonth, toDay */
bool tariff_is_older(const struct node *content);

#endif
