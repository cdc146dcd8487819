#include "time/zone.h"

#include "base/file.h"

#include <stdlib.h>
#include <string.h>

enum {
  FILE_LIMIT = 1 << 20,
  OFFSET_LIMIT = 26 * 3600, /* RFC 8536 section 3.2: -25 h < offset < +26 h */
  NAME_SIZE = 16            /* of an abbreviation, with its NUL */
};

struct kind_of_time {
  int offset;
  bool is_dst;
  char abbreviation[NAME_SIZE];
};

/* A day and time of the footer's rule: Mm.w.d, Jn (29 February never counted) or n (counted from 0). POSIX,
 * TZ. */
struct day_rule {
  char form; /* 'M', 'J' or '0' */
  int month, week, day;
  int time; /* seconds after local midnight, may be negative or beyond the day: RFC 8536 section 3.3.1 */
};

struct zone {
  size_t count;           /* of transitions */
  int64_t *times;         /* ascending */
  unsigned char *indexes; /* into kinds, one per transition */
  size_t kind_count;
  struct kind_of_time *kinds;
  bool footer, daylight; /* there is a rule for what follows the transitions; it has daylight saving */
  struct kind_of_time standard, summer;
  struct day_rule start, end;
};

static bool damaged(struct err *e, const char *what) {
  return err_set(e, KIND_unsupported, "the time zone file is damaged (%s): reinstall tzdata", what);
}

/* ---- the footer: a TZ string, "CET-1CEST,M3.5.0,M10.5.0/3" ---- */

struct text {
  const char *at; /* ends with a NUL */
};

static bool letter(char c) {
  return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

static bool digit(char c) {
  return c >= '0' && c <= '9';
}

static bool take(struct text *t, char c) {
  if (*t->at != c) return false;
  t->at++;
  return true;
}

static bool tz_name(struct text *t, char name[NAME_SIZE]) {
  size_t size = 0;
  bool quoted = take(t, '<');
  for (; letter(*t->at) || (quoted && (digit(*t->at) || *t->at == '+' || *t->at == '-')); t->at++) {
    if (size + 1 == NAME_SIZE) return false;
    name[size++] = *t->at;
  }
  name[size] = '\0';
  return size >= 3 && (!quoted || take(t, '>'));
}

static bool tz_number(struct text *t, int low, int high, int *value) {
  if (!digit(*t->at)) return false;
  for (*value = 0; digit(*t->at); t->at++) {
    *value = *value * 10 + (*t->at - '0');
    if (*value > high) return false;
  }
  return *value >= low;
}

/* [+-]hh[:mm[:ss]] */
static bool tz_time(struct text *t, int hours_limit, int *seconds) {
  int sign = 1, hours, minutes = 0, rest = 0;
  if (take(t, '-'))
    sign = -1;
  else
    take(t, '+');
  if (!tz_number(t, 0, hours_limit, &hours)) return false;
  if (take(t, ':') && !tz_number(t, 0, 59, &minutes)) return false;
  if (take(t, ':') && !tz_number(t, 0, 59, &rest)) return false;
  *seconds = sign * (hours * 3600 + minutes * 60 + rest);
  return true;
}

static bool tz_day(struct text *t, struct day_rule *r) {
  r->form = '0';
  r->time = 2 * 3600;
  if (take(t, 'M')) {
    r->form = 'M';
    if (!tz_number(t, 1, 12, &r->month) || !take(t, '.') || !tz_number(t, 1, 5, &r->week) || !take(t, '.') ||
        !tz_number(t, 0, 6, &r->day))
      return false;
  } else if (take(t, 'J')) {
    r->form = 'J';
    if (!tz_number(t, 1, 365, &r->day)) return false;
  } else if (!tz_number(t, 0, 365, &r->day)) {
    return false;
  }
  return !take(t, '/') || tz_time(t, 167, &r->time);
}

/* POSIX counts offsets west of Greenwich; everything else here counts them east. */
static bool parse_footer(struct zone *z, const char *footer) {
  struct text t = {footer};
  if (!*footer) return true;
  z->footer = true;
  if (!tz_name(&t, z->standard.abbreviation) || !tz_time(&t, 24, &z->standard.offset)) return false;
  z->standard.offset = -z->standard.offset;
  if (!*t.at) return true;
  z->daylight = z->summer.is_dst = true;
  z->summer.offset = z->standard.offset + 3600;
  if (!tz_name(&t, z->summer.abbreviation)) return false;
  if (*t.at != ',') {
    if (!tz_time(&t, 24, &z->summer.offset)) return false;
    z->summer.offset = -z->summer.offset;
  }
  return take(&t, ',') && tz_day(&t, &z->start) && take(&t, ',') && tz_day(&t, &z->end) && !*t.at;
}

/* ---- the file ---- */

struct reader {
  const unsigned char *at, *end;
};

static const unsigned char *read_bytes(struct reader *r, uint64_t size) {
  if ((uint64_t)(r->end - r->at) < size) return NULL;
  const unsigned char *found = r->at;
  r->at += size;
  return found;
}

static uint64_t big_endian(const unsigned char *p, int size) {
  uint64_t value = 0;
  for (int i = 0; i < size; i++) value = value << 8 | p[i];
  return value;
}

struct header {
  int version; /* '2' and later */
  uint64_t is_ut, is_standard, leaps, times, kinds, chars;
};

static bool read_header(struct reader *r, struct header *h, struct err *e) {
  const unsigned char *p = read_bytes(r, 44);
  if (!p || memcmp(p, "TZif", 4) != 0) return damaged(e, "it does not begin as one");
  h->version = p[4];
  h->is_ut = big_endian(p + 20, 4), h->is_standard = big_endian(p + 24, 4), h->leaps = big_endian(p + 28, 4);
  h->times = big_endian(p + 32, 4), h->kinds = big_endian(p + 36, 4), h->chars = big_endian(p + 40, 4);
  return true;
}

static bool read_times(struct zone *z, struct reader *r, struct err *e) {
  const unsigned char *times = read_bytes(r, z->count * 8), *indexes = read_bytes(r, z->count);
  if (!times || !indexes) return damaged(e, "it ends early");
  for (size_t i = 0; i < z->count; i++) {
    z->times[i] = (int64_t)big_endian(times + i * 8, 8);
    z->indexes[i] = indexes[i];
    if (i && z->times[i] <= z->times[i - 1]) return damaged(e, "its changes are out of order");
    if (indexes[i] >= z->kind_count) return damaged(e, "a change names no local time");
  }
  return true;
}

static bool read_kind(struct kind_of_time *k, const unsigned char *p, const unsigned char *chars,
                      size_t size) {
  int64_t offset = (int32_t)big_endian(p, 4);
  size_t at = p[5], length = 0;
  while (at + length < size && chars[at + length]) length++;
  if (offset <= -OFFSET_LIMIT || offset >= OFFSET_LIMIT || p[4] > 1) return false;
  if (at + length >= size || length >= NAME_SIZE) return false;
  k->offset = (int)offset;
  k->is_dst = p[4];
  memcpy(k->abbreviation, chars + at, length + 1);
  return true;
}

static bool read_kinds(struct zone *z, struct reader *r, const struct header *h, struct err *e) {
  const unsigned char *kinds = read_bytes(r, h->kinds * 6), *chars = read_bytes(r, h->chars);
  if (!kinds || !chars || !read_bytes(r, h->is_standard) || !read_bytes(r, h->is_ut))
    return damaged(e, "it ends early");
  for (size_t i = 0; i < z->kind_count; i++)
    if (!read_kind(&z->kinds[i], kinds + i * 6, chars, (size_t)h->chars))
      return damaged(e, "a local time is odd");
  return true;
}

static bool read_footer(struct zone *z, struct reader *r, struct err *e) {
  char footer[128];
  const unsigned char *line = read_bytes(r, 1);
  const unsigned char *end = line && *line == '\n' ? memchr(r->at, '\n', (size_t)(r->end - r->at)) : NULL;
  size_t size = end ? (size_t)(end - r->at) : sizeof footer;
  if (size >= sizeof footer || memchr(r->at, '\0', size)) return damaged(e, "it has no footer");
  memcpy(footer, r->at, size);
  footer[size] = '\0';
  return parse_footer(z, footer) || damaged(e, "its footer cannot be read");
}

static bool read_zone(struct zone *z, struct reader *r, const struct header *h, struct err *e) {
  z->count = (size_t)h->times;
  z->kind_count = (size_t)h->kinds;
  z->times = calloc(z->count + 1, sizeof *z->times);
  z->indexes = calloc(z->count + 1, 1);
  z->kinds = calloc(z->kind_count, sizeof *z->kinds);
  if (!z->times || !z->indexes || !z->kinds) return err_out_of_memory(e);
  return read_times(z, r, e) && read_kinds(z, r, h, e) && read_footer(z, r, e);
}

/* The first block holds 32-bit times and is skipped: RFC 8536 section 3.2. */
static bool read_headers(struct reader *r, struct header *h, struct err *e) {
  if (!read_header(r, h, e)) return false;
  if (h->version < '2')
    return err_set(e, KIND_unsupported, "the time zone file is of an old form: install a newer tzdata");
  if (!read_bytes(r, h->times * 5 + h->kinds * 6 + h->chars + h->leaps * 8 + h->is_standard + h->is_ut))
    return damaged(e, "it ends early");
  if (!read_header(r, h, e)) return false;
  if (h->leaps)
    return err_set(e, KIND_unsupported, "the time zone file counts leap seconds, which UTC seconds do not");
  if (h->kinds < 1 || h->kinds > 256 || h->chars < 1 || h->times > FILE_LIMIT)
    return damaged(e, "its sizes are odd");
  return true;
}

bool zone_parse(struct zone **z, struct bytes file, struct err *e) {
  struct reader r = {file.data, file.data + file.size};
  struct header h;
  if (!read_headers(&r, &h, e)) return false;
  *z = calloc(1, sizeof **z);
  if (!*z) return err_out_of_memory(e);
  if (read_zone(*z, &r, &h, e)) return true;
  zone_free(*z);
  *z = NULL;
  return false;
}

void zone_free(struct zone *z) {
  if (!z) return;
  free(z->times);
  free(z->indexes);
  free(z->kinds);
  free(z);
}

/* ---- opening by name ---- */

/* Whole words between single slashes: no dots, so that no name leads out of the directory. */
static bool name_valid(const char *name) {
  bool slash = true;
  for (const char *p = name; *p; p++) {
    if (*p == '/' ? slash : !letter(*p) && !digit(*p) && !strchr("_+-", *p)) return false;
    slash = *p == '/';
  }
  return !slash && strlen(name) < 128;
}

/* Whether the folder of a zone such as Europe is missing: some systems have a package for each continent. */
static bool part_missing(const char *directory, const char *name, int *part) {
  static const char *const parts[] = {"Africa",   "America",   "Antarctica", "Arctic", "Asia",
                                      "Atlantic", "Australia", "Europe",     "Indian", "Pacific"};
  struct file_facts facts;
  *part = (int)strcspn(name, "/");
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
    if (strlen(parts[i]) != (size_t)*part || memcmp(parts[i], name, (size_t)*part) != 0) continue;
    struct buf path = BUF_INIT, none = BUF_INIT;
    buf_format(&path, "%s/%s", directory, parts[i]);
    bool missing =
        buf_ok(&path) && file_read(&none, buf_text(&path), 1, FILE_FOLLOW, &facts, NULL) == FILE_ABSENT;
    buf_free(&path), buf_free(&none);
    return missing;
  }
  return false;
}

static bool open_failed(const char *directory, const char *name, enum file_result result, struct err *e) {
  if (e && result == FILE_FAILED) e->kind = KIND_unsupported;
  if (result == FILE_FAILED) return false;
  struct buf probe = BUF_INIT, path = BUF_INIT;
  buf_format(&path, "%s/UTC", directory);
  bool installed =
      buf_ok(&path) && file_read(&probe, buf_text(&path), FILE_LIMIT, FILE_FOLLOW, NULL, NULL) == FILE_OK;
  buf_free(&path);
  buf_free(&probe);
  int part;
  if (installed && part_missing(directory, name, &part))
    return err_set(e, KIND_unsupported,
                   "there is no time zone data for %.*s in %s: install tzdata (OpenWrt: zoneinfo-all, or the "
                   "package of that part of the world)",
                   part, name, directory);
  if (installed)
    return err_set(e, KIND_invalid, "there is no time zone '%s' (an example: Europe/Berlin)", name);
  return err_set(e, KIND_unsupported, "there are no time zones in %s: install tzdata, or set TZDIR",
                 directory);
}

bool zone_open(struct zone **z, const char *directory, const char *name, struct err *e) {
  struct buf path = BUF_INIT, file = BUF_INIT;
  *z = NULL;
  if (!name_valid(name))
    return err_set(e, KIND_invalid, "'%.60s' is not a time zone name (an example: Europe/Berlin)", name);
  if (!directory) directory = ZONE_DIRECTORY;
  buf_format(&path, "%s/%s", directory, name);
  enum file_result result = FILE_FAILED;
  if (!buf_ok(&path))
    err_out_of_memory(e);
  else
    result = file_read(&file, buf_text(&path), FILE_LIMIT, FILE_FOLLOW, NULL, e);
  bool done =
      result == FILE_OK ? zone_parse(z, buf_bytes(&file), e) : open_failed(directory, name, result, e);
  buf_free(&file);
  buf_free(&path);
  return done;
}

/* ---- the rule of the footer ---- */

static int64_t rule_day(const struct day_rule *r, int year) {
  if (r->form == '0') return civil_days(year, 1, 1) + r->day;
  if (r->form == 'J')
    return civil_days(year, 1, 1) + r->day - 1 + (r->day >= 60 && civil_month_length(year, 2) == 29);
  int64_t first = civil_days(year, r->month, 1);
  int day = (r->day - civil_weekday(first) + 7) % 7 + (r->week - 1) * 7;
  return first + (day < civil_month_length(year, r->month) ? day : day - 7);
}

struct change {
  int64_t at;
  const struct kind_of_time *to;
};

/* The end of daylight saving comes first: where it meets the next start, the start prevails (all year summer
 * time). */
static void changes_of(const struct zone *z, int year, struct change out[2]) {
  out[0] =
      (struct change){rule_day(&z->end, year) * CIVIL_DAY + z->end.time - z->summer.offset, &z->standard};
  out[1] =
      (struct change){rule_day(&z->start, year) * CIVIL_DAY + z->start.time - z->standard.offset, &z->summer};
}

static int year_of(int64_t utc) {
  struct civil c;
  civil_from_seconds(utc, &c);
  return c.year;
}

/* A rule's time may lie a week outside its day: the years around are looked at too. */
static const struct kind_of_time *footer_kind(const struct zone *z, int64_t utc) {
  if (!z->daylight) return &z->standard;
  struct change last = {INT64_MIN, &z->standard}, two[2];
  for (int year = year_of(utc) - 2; year <= year_of(utc) + 1; year++) {
    changes_of(z, year, two);
    for (int i = 0; i < 2; i++)
      if (two[i].at <= utc && two[i].at >= last.at) last = two[i];
  }
  return last.to;
}

static bool footer_next(const struct zone *z, int64_t utc, int64_t *change) {
  struct change two[2];
  *change = INT64_MAX;
  if (!z->daylight) return false;
  for (int year = year_of(utc) - 1; year <= year_of(utc) + 2; year++) {
    changes_of(z, year, two);
    for (int i = 0; i < 2; i++)
      if (two[i].at > utc && two[i].at < *change) *change = two[i].at;
  }
  return *change <= CIVIL_MAX;
}

/* ---- questions ---- */

/* The number of transitions at or before utc. */
static size_t passed(const struct zone *z, int64_t utc) {
  size_t low = 0, high = z->count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (z->times[middle] <= utc)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

static const struct kind_of_time *kind_at(const struct zone *z, int64_t utc) {
  size_t n = passed(z, utc);
  if (n == z->count && z->footer) return footer_kind(z, utc);
  return &z->kinds[n ? z->indexes[n - 1] : 0]; /* before the first change: RFC 8536 section 3.2 */
}

void zone_local(const struct zone *z, int64_t utc, struct zone_time *out) {
  const struct kind_of_time *k = kind_at(z, utc);
  civil_from_seconds(utc + k->offset, &out->civil);
  out->offset = k->offset;
  out->is_dst = k->is_dst;
  memcpy(out->abbreviation, k->abbreviation, sizeof out->abbreviation);
}

bool zone_next(const struct zone *z, int64_t utc, int64_t *change) {
  size_t n = passed(z, utc);
  if (n == z->count) return z->footer && footer_next(z, utc, change);
  *change = z->times[n];
  return *change <= CIVIL_MAX;
}

static enum zone_fold fold(struct zone_instants *out, enum zone_fold what, int64_t local, int before,
                           int after, int64_t at) {
  *out = (struct zone_instants){{local - before, local - after}, at};
  return what;
}

/* Every change near enough to matter is passed in order; before and after are the offsets on its two
 * sides. */
enum zone_fold zone_utc(const struct zone *z, const struct civil *civil, struct zone_instants *out) {
  int64_t local = civil_seconds(civil), at = local - OFFSET_LIMIT, change;
  int before = kind_at(z, at)->offset;
  while (zone_next(z, at, &change) && change <= local + OFFSET_LIMIT) {
    int after = kind_at(z, change)->offset;
    bool passed_before = local >= change + before, passed_after = local >= change + after;
    if (passed_before && !passed_after) return fold(out, ZONE_SKIPPED, local, before, after, change);
    if (!passed_before && passed_after) return fold(out, ZONE_REPEATED, local, before, after, change);
    if (!passed_before) break;
    at = change;
    before = after;
  }
  return fold(out, ZONE_ONCE, local, before, before, 0);
}

int64_t zone_day(const struct zone *z, int64_t days) {
  struct civil midnight = {0};
  struct zone_instants at;
  civil_date(days, &midnight);
  return zone_utc(z, &midnight, &at) == ZONE_SKIPPED ? at.change : at.utc[0];
}
