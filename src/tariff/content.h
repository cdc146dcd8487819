/* Tariffs as trees of nodes: a tariff_content_v2 and its report, the options of the builders, the questions
 * that a tariff answers. The binding converts between these and Lua tables; the fuzzer gives them JSON.
 *
 * What is returned as a node is in the arena; NULL without an error is out of memory. A mistake of the caller
 * is an error of kind none: its message is raised.
 */
#ifndef FLEET_TARIFF_CONTENT_H
#define FLEET_TARIFF_CONTENT_H

#include "base/value.h"
#include "tariff/timeline.h"

/* What is a warning and no problem: the service takes currencies that it does not name, and a site may hold
 * members that are not known. */
enum { ALLOW_CURRENCY = 1, ALLOW_UNKNOWN = 2 };

/* Reads content into t, which is new, and checks it: { valid, problems, normalisations, warnings }, complete.
 * Of the older tariff_content that is the only problem, and nothing of it is in t. */
struct node *tariff_from_content(struct tariff *t, const struct node *content, unsigned allowed,
                                 struct arena *a);
/* tariff_content_v2 of a checked tariff, every member written out; seasons that are not in use are left out.
 */
struct node *tariff_content(const struct tariff *t, struct arena *a);
/* The report of a tariff that is filled already; problems is a list of what reading found. */
struct node *tariff_report(struct tariff *t, const struct node *problems, unsigned allowed, struct arena *a);

/* Builders: fill t, which is new, from the options of fleet.tariff.flat and from_rows, and check it.
 * options.head is a content without prices, whose sell_tariff counts where something is sold. groups: how
 * prices became labels. Prices of a feed that are wrong are an error of kind invalid. */
struct node *tariff_from_flat(struct tariff *t, const struct node *options, struct arena *a, struct err *e);
struct node *tariff_from_rows(struct tariff *t, const struct node *options, const struct zone *zone,
                              struct arena *a, struct node **groups, struct err *e);

/* Answers of a valid tariff. A time is UTC seconds, which need a zone, or { year, month, day, hour, min }. */
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
 * { { first, last, spans = { { from, to, label, price }, ... } }, ... } }, ... }. A run is days that are
 * alike; Monday is 0. */
struct node *tariff_weeks(const struct tariff *t, enum tariff_side side, struct arena *a);

const char *tariff_date_member(int i); /* 0 to 3: fromMonth, fromDay, toMonth, toDay */
bool tariff_is_older(const struct node *content);

#endif
