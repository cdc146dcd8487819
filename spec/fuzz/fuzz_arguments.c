/* Any JSON as the arguments of any row's call: { "params": …, "options": … }. What passes the checks makes a
 * target without spaces and a body that is JSON, in both orders of checking and writing; what does not has a
 * sentence.
 */
#include "call/arguments.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool fact) {
  if (!fact) abort();
}

static const struct row *row_by(unsigned number) {
  number %= (unsigned)(endpoint_count + command_count);
  return number < endpoint_count ? &endpoint_rows[number] : &command_rows[number - endpoint_count];
}

static bool is_target(struct bytes text) {
  for (size_t i = 0; i < text.size; i++)
    if (text.data[i] <= ' ' || text.data[i] >= 0x7F) return false;
  return text.size > 0;
}

static bool write_request(const struct arguments *a, struct buf *body) {
  struct buf target = BUF_INIT;
  bool has_body = false;
  write_path(a, &target);
  write_content(a, &target, body, &has_body);
  bool ok = arguments_ok(a);
  require(!ok || is_target(buf_bytes(&target)));
  require(!ok || has_body == (body->size > 0));
  require(!ok || !body->size || json_read(a->arena, buf_bytes(body), NULL));
  buf_free(&target);
  return ok;
}

static void write_message(const struct arguments *given) {
  struct value values[MOST_PARAMS];
  struct arguments a = *given;
  struct buf payload = BUF_INIT;
  struct err e;
  err_clear(&e);
  a.message_only = true;
  signed_values(&a, values);
  if (arguments_ok(&a)) require(codec_encode(a.row, values, 1, &payload, &e) || e.message[0]);
  buf_free(&payload);
}

static void try(struct arguments *a, struct call_options *options) {
  struct buf body = BUF_INIT, again = BUF_INIT;
  check_params(a);
  read_call_options(a, options);
  if (!arguments_ok(a)) return;
  a->force = options->force;
  struct arguments checked = *a;
  if (a->row->message) {
    checked.params = take_params(a);
    if (!arguments_ok(a)) return;
  }
  bool ok = write_request(&checked, &body);
  require(!a->row->message || ok); /* a value that was checked can be written, */
  if (a->row->message) {
    require(write_request(&checked, &again) && bytes_equal(buf_bytes(&body), buf_bytes(&again)));
    write_message(&checked);
  }
  buf_free(&body);
  buf_free(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static struct crypto *crypto;
  struct arena arena;
  struct buf error = BUF_INIT;
  struct call_options options;
  struct err e;
  err_clear(&e);
  if (!crypto) crypto = crypto_new(&e);
  if (size < 2) return 0;
  arena_start(&arena, 1 << 22);
  const struct node *given = json_read(&arena, (struct bytes){data + 2, size - 2}, NULL);
  struct arguments a = {.row = row_by(data[0] | (unsigned)data[1] << 8),
                        .path = node_member(given, "path"),
                        .params = node_member(given, "params"),
                        .options = node_member(given, "options"),
                        .id = bytes_of("5YJ30123456789ABC"),
                        .wall = 1700000000,
                        .fresh_id = 170000000001,
                        .crypto = crypto,
                        .arena = &arena,
                        .error = &error};
  if (!node_is_table(a.path)) a.path = NULL;
  if (!node_is_table(a.params)) a.params = NULL;
  if (!node_is_table(a.options)) a.options = NULL;
  if (strcmp(a.row->handle, "site") == 0) a.id = bytes_of("1234567890");
  try(&a, &options);
  require(arena.failed || arguments_ok(&a) || error.size > strlen(a.row->method) + 2);
  buf_free(&error);
  arena_end(&arena);
  return 0;
}
