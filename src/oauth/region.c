#include "oauth/region.h"

const struct region *region_at(const struct vendor *v, struct bytes base_url) {
  for (const struct region *r = v->regions; r->name; r++)
    if (bytes_equal(bytes_of(r->base_url), base_url)) return r;
  return NULL;
}

static bool is_upper(unsigned char c) {
  return c >= 'A' && c <= 'Z';
}

static unsigned char lower(unsigned char c) {
  return is_upper(c) ? (unsigned char)(c - 'A' + 'a') : c;
}

static void add_lower(struct buf *b, struct bytes text) {
  for (size_t i = 0; i < text.size; i++) buf_put(b, lower(text.data[i]));
}

/* name: a row's, in small letters */
static bool is_code_of(const char *name, struct bytes code) {
  size_t i = 0;
  while (i < code.size && lower(code.data[i]) == (unsigned char)name[i] && name[i]) i++;
  return code.data && i == code.size && !name[i];
}

const struct vendor *vendor_named(struct bytes name) {
  for (const struct vendor *v = vendor_rows; v->name; v++)
    if (bytes_equal(bytes_of(v->name), name)) return v;
  return NULL;
}

void region_audience(struct region_claims *claims, const struct vendor *v, struct bytes audience) {
  while (audience.size && audience.data[audience.size - 1] == '/') audience.size--;
  const struct region *found = region_at(v, audience);
  if (!found) return;
  claims->named = found;
  claims->count++;
  if (!claims->own && is_code_of(found->name, claims->code)) claims->own = found;
}

static bool has_known_start(struct bytes start) {
  return start.size >= 3 && is_upper(start.data[0]) && is_upper(start.data[1]) && start.data[2] == '_';
}

bool region_hint(const struct region_claims *claims, struct buf *name) {
  if (claims->own)
    buf_text_add(name, claims->own->name);
  else if (claims->count == 1)
    buf_text_add(name, claims->named->name);
  else if (claims->code.data)
    add_lower(name, claims->code);
  else if (has_known_start(claims->start))
    add_lower(name, (struct bytes){claims->start.data, 2});
  else
    return false;
  return true;
}
