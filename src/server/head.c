/* The bytes of a request's head.
 *
 * The library reads a head leniently: it ends texts at a NUL, lets a line end with LF alone, a name with a
 * blank, a value go on in the next line. A server in front of us may read such a head in another way, so that
 * one request becomes two (RFC 9112 sections 2.2, 5.1 and 5.2). The texts lie in the library's buffer as they
 * came, each followed by its delimiter, which is overwritten with NUL: between them is nothing else. Newer
 * libraries move them, and read strictly when they are asked to. */
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
