/* Any bytes as the JSON of a tariff, or as the options of a builder. A tariff is valid just when its report
 * has no problem; a valid one is written as JSON that is read as the same tariff; a builder gives a report or
 * says what is wrong. Answers of a valid tariff come for every time that is one.
 *
 * The first byte: 1 is options of from_rows, 2 those of flat, anything else a content.
 */
#include "tariff/content.h"
#include "tariff/names.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool fact) {
  if (!fact) abort();
}

/* What reading found comes first, in the order of its paths. */
static void check_order(const struct node *problems) {
  struct bytes before = bytes_of("");
  for (const struct node *p = problems->first; p; p = p->next) {
    const struct node *path = node_member(p, "path");
    require(node_is(node_member(p, "kind"), NODE_TEXT));
    if (!path) continue;
    require(compare_names(before, path->text) <= 0);
    before = path->text;
  }
}

static void check_report(const struct node *report) {
  struct buf text = BUF_INIT;
  struct json_refusal why;
  const struct node *valid = node_member(report, "valid"), *problems = node_member(report, "problems");
  require(node_is(valid, NODE_BOOLEAN) && node_is(problems, NODE_LIST));
  require(valid->boolean == !problems->first);
  require(node_is(node_member(report, "warnings"), NODE_LIST));
  require(node_is(node_member(report, "normalisations"), NODE_LIST));
  check_order(problems);
  require(json_write(report, NULL, &text, &why));
  buf_free(&text);
}

static void ask(const struct tariff *t, struct arena *a) {
  const struct node *from = json_read(a, bytes_of("{\"year\":2026,\"month\":2,\"day\":27}"), NULL),
                    *to = json_read(a, bytes_of("{\"year\":2026,\"month\":3,\"day\":9,\"hour\":5}"), NULL),
                    *options =
                        json_read(a,
                                  bytes_of("{\"hours\":3,\"from\":{\"year\":2026,\"month\":2,\"day\":27},"
                                           "\"to\":{\"year\":2026,\"month\":3,\"day\":9}}"),
                                  NULL);
  struct err e;
  err_clear(&e);
  require(from && to && options);
  require(tariff_at(t, from, NULL, a, &e) && tariff_segments(t, from, to, NULL, a, &e));
  require(tariff_cheapest(t, options, NULL, a, &e) && tariff_weeks(t, TARIFF_BUY, a));
  require(!tariff_segments(t, to, from, NULL, a, &e) && e.message[0]);
}

/* What is written is read as the same. */
static void read_again(const struct tariff *t, struct arena *a) {
  struct buf text = BUF_INIT;
  struct tariff *again = tariff_new();
  tariff_encode(t, &text);
  const struct node *content = json_read(a, buf_bytes(&text), NULL);
  require(again && content);
  const struct node *report = tariff_from_content(again, content, ALLOW_CURRENCY, a);
  require(report && node_member(report, "valid")->boolean && tariff_equal(t, again));
  buf_free(&text);
  tariff_free(again);
}

static struct node *read(struct tariff *t, int kind, const struct node *value, struct arena *a,
                         struct err *e) {
  static struct zone *zone;
  struct node *groups = NULL;
  if (!zone) require(zone_open(&zone, NULL, "Europe/Berlin", e));
  if (kind == 1) return tariff_from_rows(t, value, zone, a, &groups, e);
  if (kind == 2) return tariff_from_flat(t, value, a, e);
  return tariff_from_content(t, value, ALLOW_CURRENCY, a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct arena a;
  struct err e;
  err_clear(&e);
  if (!size) return 0;
  arena_start(&a, 1 << 28);
  struct tariff *t = tariff_new();
  const struct node *value = json_read(&a, (struct bytes){data + 1, size - 1}, NULL);
  if (node_is_table(value)) {
    const struct node *report = read(t, data[0], value, &a, &e);
    require(report ? !e.message[0] : e.message[0]);
    if (report) check_report(report);
    if (report && node_member(report, "valid")->boolean) {
      ask(t, &a);
      read_again(t, &a);
    }
  }
  tariff_free(t);
  arena_end(&a);
  return 0;
}
