/* Any bytes as JSON text, read as a tree. What is read can be written again, and reads the same afterwards;
 * a tree that becomes a Lua table and back is written as the same JSON but for long numbers. As the reply to
 * a call of each kind it is a value or a failure with a sentence; a write that failed has an outcome.
 */
#include "bind/lua/bind.h"
#include "bind/lua/value.h"
#include "call/arguments.h"
#include "call/result.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool fact) {
  if (!fact) abort();
}

static bool same(const struct node *a, const struct node *b);

static bool same_parts(const struct node *a, const struct node *b) {
  const struct node *one = a->first, *other = b->first;
  for (; one && other; one = one->next, other = other->next)
    if (one->key != other->key || one->index != other->index || !bytes_equal(one->name, other->name) ||
        !same(one, other))
      return false;
  return !one && !other;
}

static bool same(const struct node *a, const struct node *b) {
  if (a->type != b->type || !bytes_equal(a->text, b->text)) return false;
  if (a->type == NODE_LIST || a->type == NODE_OBJECT) return same_parts(a, b);
  if (a->type == NODE_BOOLEAN) return a->boolean == b->boolean;
  if (a->type == NODE_INTEGER) return a->integer == b->integer;
  return a->type != NODE_NUMBER || a->number == b->number;
}

/* Members are in the order of their names, each once; places are 1 to n. */
static bool is_sound(const struct node *value) {
  int64_t place = 0;
  if (value->type != NODE_LIST && value->type != NODE_OBJECT) return true;
  for (const struct node *part = value->first; part; part = part->next) {
    if (!is_sound(part)) return false;
    if (part->key != (value->type == NODE_LIST ? KEY_INDEX : KEY_NAME)) return false;
    if (value->type == NODE_LIST && part->index != ++place) return false;
    if (!part->next && value->last != part) return false;
  }
  return value->first || !value->last;
}

static void write_again(const struct node *value) {
  struct arena a;
  struct buf text = BUF_INIT, copied = BUF_INIT;
  struct json_refusal why;
  arena_start(&a, 1 << 27);
  const struct node *copy = node_copy(&a, value);
  require(copy && same(value, copy));
  if (json_write(value, NULL, &text, &why)) {
    require(json_write(copy, NULL, &copied, &why) && bytes_equal(buf_bytes(&text), buf_bytes(&copied)));
    const struct node *again = json_read(&a, buf_bytes(&text), NULL);
    require(again && same(value, again));
  }
  buf_free(&text);
  buf_free(&copied);
  arena_end(&a);
}

static bool has_digits(const struct node *value) {
  if (value->type == NODE_NUMBER || value->type == NODE_INTEGER) return true;
  if (value->type != NODE_LIST && value->type != NODE_OBJECT) return value->type == NODE_OTHER;
  for (const struct node *part = value->first; part; part = part->next)
    if (has_digits(part)) return true;
  return false;
}

static void through_lua(lua_State *L, const struct node *value) {
  struct arena *a = push_arena(L);
  push_value(L, value);
  const struct node *again = value_at(L, -1, a);
  require(has_digits(value) || same(value, again));
  box_close(L, 1);
  lua_settop(L, 0);
}

static const struct row *row_by(unsigned number) {
  number %= (unsigned)(endpoint_count + command_count);
  return number < endpoint_count ? &endpoint_rows[number] : &command_rows[number - endpoint_count];
}

/* data: the row, the status and the options, then the body. */
static void as_reply(lua_State *L, const uint8_t *data, size_t size) {
  static const int statuses[] = {200, 201, 206, 400, 408, 412, 421, 429, 500, 503};
  if (size < 3) return;
  const struct row *row = row_by(data[0] | (unsigned)(data[2] & 1) << 8);
  struct asked asked = {.row = row,
                        .name = row->name,
                        .strict = data[2] & 2,
                        .raw = data[2] & 4,
                        .proxied = data[2] & 8,
                        .state = (enum vehicle_state)(data[2] >> 4 & 3)};
  struct http_response reply = {.sent = true, .status = statuses[data[1] % 10]};
  struct result out;
  struct arena *a = push_arena(L);
  buf_add(&reply.body, data + 3, size - 3);
  if (result_read(&asked, &reply, a, &out)) {
    push_reply_value(L, out.value, row->ids);
  } else {
    require(out.err.kind != KIND_none && out.err.message[0] && out.err.status == reply.status);
    require((out.err.outcome != OUTCOME_NONE) == row_is_write(row));
  }
  box_close(L, 1);
  buf_free(&reply.body);
  lua_settop(L, 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static lua_State *L;
  struct arena a;
  if (!L) L = luaL_newstate();
  arena_start(&a, 1 << 20);
  const struct node *value = json_read(&a, (struct bytes){data, size}, NULL);
  if (value) {
    require(is_sound(value));
    write_again(value);
    through_lua(L, value);
  }
  arena_end(&a);
  as_reply(L, data, size);
  return 0;
}
