#include "bind/call/handles.h"
#include "bind/call/params.h"
#include "bind/lua/json.h"

#include <string.h>

/* A checked call as the bytes of a plain request: its path, its query, its body. */

/* Where the value of a placeholder comes from: the handle's id, or the next positional argument. */
static int push_placeholder(struct plan *p, const struct param *q, int *argument) {
  if (handle_implies(p->row, q))
    push_param(p, q);
  else if (*argument < p->box)
    lua_pushvalue(p->L, (*argument)++);
  else
    lua_pushnil(p->L);
  if (lua_isnil(p->L, -1)) call_usage_error(p, "'%s' is missing", q->name);
  return lua_gettop(p->L);
}

void write_path(struct plan *p, int *argument) {
  struct buf *target = &p->request->target;
  const char *at = p->row->path;
  for (;;) {
    size_t plain = strcspn(at, "{");
    buf_add(target, at, plain);
    at += plain;
    if (!*at) return;
    size_t size = strcspn(++at, "}");
    const struct param *q = param_named(p->row, at, size);
    if (!q) luaL_error(p->L, "row %s: no parameter for a placeholder", p->row->name);
    struct buf *text = push_scratch(p->L);
    plain_text(p, q, push_placeholder(p, q, argument), text);
    buf_percent(target, buf_bytes(text));
    box_close(p->L, -2);
    lua_pop(p->L, 2);
    at += size + 1;
  }
}

/* ---- query and body ---- */

/* The walk over pages writes these itself. */
static bool turns_pages(const struct row *row, const struct param *q) {
  static const char *const words[] = {"", "page per_page", "pageNo pageSize", "limit offset"};
  return word_in(words[row->paging], q->name, strlen(q->name));
}

static void add_query_item(struct plan *p, const char *name, struct bytes value) {
  struct buf *target = &p->request->target;
  buf_format(target, "%s%s=", p->separator, name);
  buf_percent(target, value);
  p->separator = "&";
}

static void check_pages(const struct plan *p, const struct param *q) {
  struct buf *text = push_scratch(p->L);
  plain_text(p, q, lua_gettop(p->L) - 1, text);
  box_close(p->L, -1);
  lua_pop(p->L, 1);
}

static void add_query(struct plan *p) {
  p->separator = "?";
  if (p->row->query) {
    buf_format(&p->request->target, "?%s", p->row->query);
    p->separator = "&";
  }
  for (const struct param *q = p->row->params; q && q->name; q++) {
    if (q->place != IN_QUERY || !push_param(p, q)) continue;
    if (turns_pages(p->row, q)) {
      check_pages(p, q);
    } else {
      struct buf *text = push_scratch(p->L);
      plain_text(p, q, lua_gettop(p->L) - 1, text);
      add_query_item(p, q->name, buf_bytes(text));
      box_close(p->L, -1);
      lua_pop(p->L, 1);
    }
    lua_pop(p->L, 1);
  }
  p->request->query_follows = p->separator[0] == '&';
}

static void add_member(struct plan *p, const struct param *q) {
  struct buf *body = &p->request->body;
  buf_text_add(body, p->separator);
  buf_json_string(body, bytes_of(q->name));
  buf_put(body, ':');
  json_value(p, q, lua_gettop(p->L), body);
  p->separator = ",";
}

static void add_members(struct plan *p) {
  size_t given = 0;
  p->separator = "";
  buf_put(&p->request->body, '{');
  for (const struct param *q = p->row->params; q && q->name; q++) {
    if (q->place != IN_BODY || !push_param(p, q)) continue;
    add_member(p, q);
    lua_pop(p->L, 1);
    given++;
  }
  buf_put(&p->request->body, '}');
  check_any(p, given);
}

static void add_body(struct plan *p) {
  struct request *r = p->request;
  if (strcmp(p->row->verb, "POST") != 0) return;
  r->has_body = true;
  if (p->row->flags & ROW_BODY_AS_GIVEN) {
    if (p->params)
      json_encode(p->L, p->params, &r->body, NULL);
    else
      buf_text_add(&r->body, "{}");
    return;
  }
  if (p->row->wrap) {
    buf_put(&r->body, '{');
    buf_json_string(&r->body, bytes_of(p->row->wrap));
    buf_put(&r->body, ':');
  }
  add_members(p);
  if (p->row->wrap) buf_put(&r->body, '}');
}

void write_content(struct plan *p) {
  add_query(p);
  add_body(p);
  if (!buf_ok(&p->request->target) || !buf_ok(&p->request->body)) luaL_error(p->L, "out of memory");
  p->request->written = true;
}
