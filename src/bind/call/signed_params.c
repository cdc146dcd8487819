#include "bind/call/param_values.h"
#include "bind/lua/json.h"

#include <string.h>

/* The forms of values in a message of the command protocol. */

/* Stays on the stack. */
static const char *most_text(const struct plan *p, const struct param *q) {
  struct buf *most = push_scratch(p->L);
  buf_format(most, "%.0f", q->max);
  return buf_text(most);
}

static uint64_t id_number(const struct plan *p, const struct param *q, int index) {
  struct buf *text = push_scratch(p->L);
  uint64_t id = 0;
  id_value(p, q, index, text);
  for (size_t i = 0; i < text->size; i++) {
    unsigned digit = text->data[i] - '0';
    if (digit > 9 || id > (UINT64_MAX - digit) / 10)
      call_usage_error(p, "'%s' must be a number here", q->name);
    id = id * 10 + digit;
  }
  box_close(p->L, -1);
  lua_pop(p->L, 1);
  if (q->max > 0 && (double)id > q->max)
    call_usage_error(p, "'%s' must be at most %s", q->name, most_text(p, q));
  return id;
}

/* JSON text of a table stays on the stack. */
static struct bytes message_text(const struct plan *p, const struct param *q, int index) {
  if (q->flags & OBJECT_TOO && lua_istable(p->L, index)) {
    struct buf *json = push_scratch(p->L);
    json_encode(p->L, index, json, NULL);
    return buf_bytes(json);
  }
  struct bytes text = string_value(p, q, index);
  check_text_param(p, q, text);
  return text;
}

/* The text stays on the stack, like those that push_param pushes. */
static void member_text(const struct plan *p, const struct param *q, int index, struct value *out) {
  luaL_checktype(p->L, index, LUA_TTABLE);
  out->given = lua_getfield(p->L, index, q->member) == LUA_TSTRING;
  if (!out->given) return;
  out->text = check_bytes(p->L, lua_gettop(p->L));
  check_text_param(p, q, out->text);
}

void signed_value(const struct plan *p, const struct param *q, int index, struct value *out) {
  out->given = true;
  if (q->choices) {
    out->choice = choice_value(p, q, index);
    return;
  }
  switch (q->type) {
  case TYPE_STRING:
    out->text = message_text(p, q, index);
    return;
  case TYPE_PUBLIC_KEY:
    out->text = public_key_value(p, q, index);
    return;
  case TYPE_BOOLEAN:
    if (is_boolean_word(p, q, index))
      out->text = bytes_of(q->word);
    else
      out->boolean = boolean_value(p, q, index);
    return;
  case TYPE_INTEGER:
    out->number = (double)integer_value(p, q, index);
    return;
  case TYPE_NUMBER:
    out->number = number_value(p, q, index);
    return;
  case TYPE_ID:
    out->integer = id_number(p, q, index);
    return;
  case TYPE_DAYS:
    out->integer = days_value(p, q, index);
    return;
  case TYPE_OBJECT:
    if (q->member) member_text(p, q, index, out);
    return;
  default:
    call_usage_error(p, "'%s' cannot stand in a signed command", q->name);
  }
}
