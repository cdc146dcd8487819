/* Checks the bytes of a request's head.
 *
 * The library is lenient: it ends texts at a NUL, and accepts a line that ends with LF alone, a name that
 * ends with a blank, and a value that continues on the next line. A proxy before this server may read such a
 * head as two requests (RFC 9112 sections 2.2, 5.1 and 5.2).
 *
 * The library's buffer holds the texts as they came, each followed by its delimiter, which it overwrote with
 * NUL. Newer libraries move the texts, and have an option for strict reading. */
#include "server/internal.h"

#include <string.h>
#include <strings.h>

bool is_token(struct bytes name) {
  for (size_t i = 0; i < name.size; i++) {
    if (name.data[i] <= ' ' || name.data[i] >= 127 || strchr("()<>@,;:\\\"/[]?={}", name.data[i]))
      return false;
  }
  return name.size > 0;
}

/* RFC 9110 section 5.5. A carriage return alone ends the line for some servers. */
static bool is_value(const char *text) {
  for (; *text; text++)
    if (((unsigned char)*text < ' ' && *text != '\t') || *text == 127) return false;
  return true;
}

struct layout {
  const char *at; /* where the next text has to begin */
  bool good, has_host;
};

enum { COLON = 1, LINE_END = 2 };

static enum MHD_Result on_field(void *cls, enum MHD_ValueKind kind, const char *name, const char *value) {
  struct layout *l = cls;
  (void)kind;
  size_t size = strlen(name);
  bool good = name == l->at && value && is_token((struct bytes){(const unsigned char *)name, size}) &&
              is_value(value);
  if (good) {
    const char *at = name + size + COLON;
    while (at < value && (*at == ' ' || *at == '\t')) at++;
    good = at == value;
    l->at = value + strlen(value) + LINE_END;
  }
  bool host = strcasecmp(name, "Host") == 0;
  l->good = l->good && good && !(host && l->has_host); /* RFC 9112 section 3.2 */
  l->has_host = l->has_host || host;
  return l->good ? MHD_YES : MHD_NO;
}

static bool is_target(const char *text) {
  while ((unsigned char)*text > ' ' && *text != 127) text++;
  return *text == '\0';
}

bool head_is_well_formed(const struct exchange *x, const char *method, const char *version,
                         const char **end) {
#if MHD_VERSION >= VERSION_OF_DISCIPLINE
  (void)x, (void)method, (void)version;
  *end = NULL;
  return true;
#else
  const union MHD_ConnectionInfo *info =
      MHD_get_connection_info(x->connection, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
  struct layout l = {version + strlen(version) + LINE_END, true, false};
  if (!info || !is_target(x->raw_target) || x->raw_target != method + strlen(method) + 1 ||
      version != x->raw_target + x->target.size + 1)
    return false;
  MHD_get_connection_values(x->connection, MHD_HEADER_KIND, on_field, &l);
  *end = method + info->header_size;
  return l.good && l.at + LINE_END == *end;
#endif
}
