#include "oauth/record.h"

#include "base/json_object.h"

#include <math.h>

static const double last_time = 1e11;

static double time_of(struct bytes object, const char *name) {
  double seconds = object_number(object, name);
  return seconds > 0 && seconds <= last_time ? seconds : 0;
}

bool record_read(struct bytes text, struct token *t) {
  if (!object_whole(text) || !object_text(text, "access_token", &t->access)) return false;
  if (!token_access_good(&t->access)) buf_clear(&t->access);
  object_text(text, "refresh_token", &t->refresh);
  object_text(text, "scope", &t->scope);
  object_text(text, "asked", &t->asked);
  t->expires_at = time_of(text, "expires_at");
  t->saved_at = time_of(text, "saved_at");
  t->refreshed_at = time_of(text, "refreshed_at");
  t->order = token_order(object_number(text, "order"));
  struct bytes previous = object_member(text, "previous");
  object_text(previous, "refresh_token", &t->previous);
  t->previous_ends = time_of(previous, "ends");
  return true;
}

/* ---- writing ---- */

static void json_name(struct buf *out, const char *name) {
  if (out->size && out->data[out->size - 1] != '{') buf_put(out, ',');
  buf_json_string(out, bytes_of(name));
  buf_put(out, ':');
}

static void json_text(struct buf *out, const char *name, const struct buf *text) {
  if (!text->size) return;
  json_name(out, name);
  buf_json_string(out, buf_bytes(text));
}

static void json_number(struct buf *out, const char *name, double value) {
  if (!(value > 0)) return;
  json_name(out, name);
  buf_json_number(out, value);
}

void record_write(const struct token *t, struct buf *out) {
  buf_put(out, '{');
  json_text(out, "access_token", &t->access);
  json_text(out, "asked", &t->asked);
  json_number(out, "expires_at", t->expires_at);
  json_number(out, "order", t->order);
  if (t->previous.size) {
    json_name(out, "previous");
    buf_put(out, '{');
    json_number(out, "ends", t->previous_ends);
    json_text(out, "refresh_token", &t->previous);
    buf_put(out, '}');
  }
  json_text(out, "refresh_token", &t->refresh);
  json_number(out, "refreshed_at", t->refreshed_at);
  json_number(out, "saved_at", t->saved_at);
  json_text(out, "scope", &t->scope);
  buf_put(out, '}');
}
