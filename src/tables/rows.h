/* The row types: what the whole project knows about the service, as data.
 *
 * One row is one endpoint or one command. Methods, command-line verbs, simulator and proxy routes, manual
 * entries, editor types and argument checks are all made from it by engines that loop over the tables;
 * nothing else in the project names an endpoint. A column that an engine does not need yet still belongs
 * here: it is a fact of the service.
 */
#ifndef FLEET_TABLES_ROWS_H
#define FLEET_TABLES_ROWS_H

#include <stdbool.h>
#include <stddef.h>

/* ---- errors ---- */

/* clang-format off */
#define KINDS(X) \
  X(network) X(tls) X(timeout) X(auth) X(forbidden) X(scope) X(not_found) X(rate_limited) X(asleep) \
  X(offline) X(region) X(unregistered) X(limit_exceeded) X(unsupported) X(key_not_paired) X(refused) \
  X(busy) X(protocol) X(service) X(store) X(conflict) X(budget) X(cancelled) X(closed) X(invalid)
/* clang-format on */

enum kind {
  KIND_none,
#define X(name) KIND_##name,
  KINDS(X)
#undef X
      KIND_COUNT
};

/* One row per kind, in the order above. The command line ends with KIND_EXIT(kind); 2 is the caller's
 * mistake. */
#define KIND_EXIT(kind) (9 + (int)(kind))
struct kind_row {
  const char *name, *doc;
};

/* What became of a write (rule R1). A read has no outcome. */
enum outcome { OUTCOME_NONE, OUTCOME_NOT_SENT, OUTCOME_REFUSED, OUTCOME_UNKNOWN };

/* What an engine must know about a status beyond its kind. */
enum trait {
  TRAIT_NONE,
  TRAIT_BY_STATE, /* the kind is asleep or offline by the vehicle's last known state; see outcome.h */
  TRAIT_SIGN,     /* the vehicle takes signed commands only */
  TRAIT_PLAIN,    /* at signed_command: the vehicle does not speak the protocol, it takes plain commands */
  TRAIT_PROXY     /* said by the signing proxy: the row holds for its replies only */
};

/* One row per HTTP status and text: the first row whose status and text match decides.
 * status 0 matches any status; text NULL matches any body; otherwise a part of the body, compared case-blind.
 */
struct status {
  int status;
  const char *text, *also; /* also: a second part that the body must hold, or NULL */
  enum kind kind;
  enum outcome outcome; /* of a write; reads drop it */
  enum trait trait;
  const char *advice; /* a sentence for the message, or NULL */
};

/* One row per reason text that a vehicle, a site or the authorization server gives. The first row that
 * matches decides. Compared case-blind against the whole reason, its end or a part of it, after any of
 * proxy_prefixes and of reason_prefixes was taken off. */
enum match { MATCH_WHOLE, MATCH_TAIL, MATCH_PART };
struct reason {
  const char *text;
  enum match match;
  enum kind kind;       /* KIND_none: the wanted state already holds, an ok with changed = false */
  enum outcome outcome; /* of a write */
  const char *where;    /* "vehicle", "vehicle or site", "authorization", "telemetry": who says it */
  const char *doc;      /* what it means and what to do */
};

/* One row per signed_message_fault of the signing protocol. */
struct fault {
  int number;
  const char *name;
  enum kind kind;
  enum outcome outcome;
  bool resync; /* may be signed again once after authenticated session info: doc/protocol.md#recovery */
  bool final;  /* may have been carried out, and must not be repeated even where the command sets a value; so
                  is  a number without a row */
  const char *doc;
};

/* ---- parameters ---- */

enum type {
  TYPE_STRING,
  TYPE_INTEGER,
  TYPE_NUMBER,
  TYPE_BOOLEAN,
  TYPE_ID,   /* digits or a name given by the service; string in Lua, a number is accepted and checked;
                with bounds: digits only, and written as a JSON number */
  TYPE_VIN,  /* a vehicle identification number or a numeric vehicle id */
  TYPE_TIME, /* RFC 3339 with offset; a number is UTC seconds; where the row has a time_zone, a date alone is
                local midnight there */
  TYPE_DATE, /* a local calendar date, YYYY-MM-DD */
  TYPE_DAYS, /* days of the week: a list of names, a comma list, or a bit mask with Sunday = 1; the wire takes
                the comma list of day_choices, a message the mask */
  TYPE_STRINGS,   /* a list of strings; joined with ";" in a query */
  TYPE_VINS,      /* a list of VINs */
  TYPE_OBJECT,    /* a free-form table, encoded as it is; see param.lists */
  TYPE_TARIFF,    /* tariff_content_v2, or a tariff object of the module */
  TYPE_BYTES,     /* any bytes; standard base64 on the wire */
  TYPE_PUBLIC_KEY /* of P-256: PEM text, 130 hex digits or 65 bytes; hex digits on the wire */
};

enum place { IN_PATH, IN_QUERY, IN_BODY, IN_LOCAL }; /* local: used by the module, never sent */

enum {
  REQUIRED = 1,
  SECRET = 2,
  PIN = 4,            /* exactly four ASCII digits, secret */
  NUMBER_AS_TEXT = 8, /* TYPE_STRING: a number is accepted too and written as text */
  SWITCH = 16,        /* a boolean; when false, its message carries none of the other parameters */
  FRESH_ID = 32,      /* left out it becomes a number that no other call draws */
  WHOLE = 64,         /* may stand alone in place of the table of parameters: a list, a tariff, bytes */
  FROM_STATE =
      128,       /* always sent; left out by the caller, it is read where the row's settle column finds it */
  NOW = 256,     /* TYPE_STRING: left out it is the present, in milliseconds of Unix time */
  FILLED = 512,  /* TYPE_STRING: not empty */
  JOINED = 1024, /* TYPE_STRING: a list of texts is accepted too and joined with commas */
  OBJECT_TOO =
      2048 /* TYPE_STRING: a table is accepted too; a body carries it as it is, a message as JSON text */
};

struct choice {
  const char *name; /* what a person writes: "front_left"; several names may share one value */
  double number;    /* the published number, when text is NULL */
  const char *text; /* the published text, or NULL */
  const char
      *field; /* commands: what the message carries for it, see "messages" below; NULL: text, else number */
};

struct param {
  const char *name; /* wire name */
  enum place place;
  enum type type;
  unsigned flags;
  const char *former; /* an older wire name that clients still send, taken in its place; NULL: none */
  double min, max;    /* both 0: unbounded; of a list: how many elements one request may carry */
  const struct choice
      *choices; /* ends with a NULL name; NULL: any value. A choice is taken by name or value */
  const struct choice *forced; /* one more, unpublished: taken with force = true only */
  const char *word;            /* TYPE_BOOLEAN: a text that the plain form takes as well; NULL: none */
  const char *fallback; /* what is sent where it is left out: a text or the name of a choice; NULL: none */
  const char *required_with; /* flags of the row, words: required when one of them is true, and its SWITCH
                                is not false; NULL: none */
  const char *one_true; /* flags of the row, words: where this one is true not all of them may be false; NULL:
                           none */
  const char *unit;     /* "percent", "A", "°C", "mph", "s", "minutes after midnight", "degrees" */
  const char *lists;    /* TYPE_OBJECT, TYPE_TARIFF: names of members that are lists even when empty */
  double signed_max;    /* commands: the largest value of the signed form where it differs; 0: as max */
  const char *field;    /* commands: its place in the message, see "messages" below; NULL: nowhere */
  const char *member; /* TYPE_OBJECT with a field: the member whose text the message carries; a text alone is
                         taken as a table of it */
  const char *doc;
};

/* ---- rows ----
 *
 * Messages. row.message is a list of items joined by "; ". An item is a path of member names joined by ".",
 * below VCSEC.UnsignedMessage or CarServer.Action, optionally with "=VALUE": a number, true, or the name of
 * an enum value. An item without a value is a message that is present, even when empty. The first such item
 * is the base: the items after it and the fields of parameters start there. A path through a repeated member
 * means its one element. param.field is such a path ("." is the base itself). What it names decides how the
 * value is put: a number, text or boolean as it is (numbers in the width of the member, days as a mask); an
 * enum by number, or by choice.field; a message through choice.field, an item below it. A boolean that names
 * a message makes it present when true; of two that share a oneof the later parameter wins.
 *
 * Settling. row.settle is a list of parts joined by "; ", all of which must hold: "section.path op value", or
 * that and " when $parameter=literal ...", all of which must fit. section is one of vehicle_data, or
 * site_info, body_controller or keys; in its path name[member=$parameter] is the element of a list whose
 * member has that value. op is = (texts case-blind), ~ (numbers, within 0.05), in (literals joined by "|") or
 * same (tariffs). A value is a literal, $parameter, or @section.path for the value there; a parameter with
 * choices matches by its value and by every name of it, days by their mask; a part whose parameter was not
 * given is left out; false equals what is absent.
 */

enum token_kind { TOKEN_END, TOKEN_USER, TOKEN_PARTNER, TOKEN_BUSINESS };
enum billing { BILLED_FREE, BILLED_DATA, BILLED_COMMAND, BILLED_WAKE, BILLED_SPECS, BILLED_SIGNAL };
/* per_dollar: calls for a US dollar, 0: free. per_minute: for one vehicle and account, 0: not published.
 * A reply below 500 is billed; found_only: only one that brings something. */
struct billing_row {
  const char *name;
  int per_dollar, per_minute;
  bool found_only;
  const char *doc;
};
/* The number and the size of a page are parameters in the query; the local page_size is another word for the
 * size. */
enum paging {
  PAGED_NO,
  PAGED_PAGE,    /* page, per_page */
  PAGED_PAGE_NO, /* pageNo, pageSize */
  PAGED_OFFSET   /* offset, limit */
};
/* The kinds of value that a good reply may bring, under `response` or as its body; published copies of the
 * interface differ, so that a row may allow several. What is none of them is not believed. */
enum {
  VALUE_OBJECT = 1,
  VALUE_LIST = 2,  /* of records, see row.identity; null elements are left out */
  VALUE_TEXTS = 4, /* a list of texts */
  VALUE_TEXT = 8,  /* one word: "ok" */
  VALUE_BOOLEAN = 16,
  VALUE_NOTHING = 32, /* null means an object without members */
  VALUE_BYTES = 64,   /* the body as it is */
  VALUE_BASE64 = 128, /* bytes, as base64 text */
  VALUE_ANY = 256     /* whatever it is: of a call without a row */
};
enum domain { DOMAIN_NONE = 0 /* plain only */, DOMAIN_VCSEC = 2, DOMAIN_INFOTAINMENT = 3 };

enum {
  ROW_COMMAND = 1,         /* a vehicle command: reply is result and reason */
  ROW_IDEMPOTENT = 2,      /* sets a named state to a given value: may be repeated after an unknown outcome */
  ROW_LIVE = 4,            /* reaches the vehicle: needs it awake */
  ROW_NEEDS_PROTOCOL = 8,  /* refused in plain form (doc/protocol.md#plain-or-signed) */
  ROW_CHARGING_SCOPE = 16, /* vehicle_charging_cmds is accepted beside the scope column */
  ROW_SETTING = 32,        /* an energy setting: reply is code and message */
  ROW_THIRD_PARTY = 64,    /* an open-source app cannot make it */
  ROW_NO_BUSINESS = 128,   /* needs a user context */
  ROW_DEPRECATED = 256,    /* see until */
  ROW_BODY_AS_GIVEN = 512, /* the body is the caller's table, its members are not published */
  ROW_READ = 1024,         /* a POST that changes nothing: no outcome, may be repeated like a GET */
  ROW_IDEMPOTENT_WITH_ID = 2048, /* ROW_IDEMPOTENT when the parameter id is given */
  ROW_ANY_OF = 4096,             /* at least one parameter besides those of the path */
  ROW_EITHER_FORM = 8192,  /* published in plain form only: what certainly refuses one form gets the other,
                              once */
  ROW_CHECKED = 32768,     /* what is wrong with its content, or needless, is not sent unless force = true */
  ROW_PLAIN_FIRST = 16384, /* the service itself carries it out, also for vehicles that require signing */
  ROW_UNPUBLISHED =
      65536, /* beyond the published interface: nothing written down apart from the row says it */
  ROW_BY_NAME_ONLY = 131072 /* the caller of a proxy or bridge may make it only where a list names it */
};

struct row {
  const char *name;   /* unique: "vehicles", "charging.history", "charge_start" */
  const char *handle; /* the object that carries the method: client vehicle site partner user charging */
  const char *method; /* the Lua word, one per handle */
  const char *verb;   /* GET POST DELETE */
  const char *path;   /* with {placeholders}, each of which is a parameter IN_PATH */
  const char *query;  /* fixed query, or NULL */
  const struct param *params; /* ends with a NULL name; NULL: none. What the handle knows (vin,
                                 energy_site_id), in path or query, is not in the signature of the method */
  const char *wrap; /* the body's parameters stand in an object under this member; NULL: at the top */
  enum token_kind tokens[4]; /* which token, in order of preference; ends with TOKEN_END */
  const char *scope;         /* what the token must have been granted, or NULL */
  enum billing billing;
  enum paging paging;
  const char *items; /* paged: member that holds the list when the reply is not wrapped ("data"), or NULL */
  unsigned value;    /* VALUE_ bits; 0: VALUE_OBJECT */
  const char
      *bare; /* a bare list, or null, means an object with this one member, a list; NULL: it does not */
  const char *begins;   /* VALUE_BYTES: what they must begin with, or NULL */
  const char *identity; /* VALUE_LIST: members that together tell its records apart, words; what holds none of
                           them is no record. NULL: any object is one */
  unsigned flags;
  const char *ids;     /* names of reply members, at any depth, that are ids: they arrive as strings; words */
  const char *settle;  /* how to see whether it was done, see "settling" above; NULL: cannot be settled */
  enum domain domain;  /* commands: who obeys */
  const char *message; /* commands: see "messages" above; NULL: plain only */
  const char *since, *until, *who; /* firmware from, firmware until, roles; NULL: any */
  const char *replacement;         /* deprecated: the command to use instead */
  const char *doc;                 /* one sentence */
  const char *example;             /* arguments of a sample call as Lua text, "" when it takes none */
  const char *reply; /* the body of a sample reply as JSON, with which the simulator answers a row that it
                        does not model; NULL: the least that a row of its kind may answer */
};

static inline unsigned row_value(const struct row *row) {
  unsigned value = row->value ? row->value : VALUE_OBJECT;
  return row->bare ? value | VALUE_LIST | VALUE_NOTHING : value;
}

extern const struct row endpoint_rows[]; /* each table ends with a NULL name */
extern const struct row command_rows[];
extern const size_t endpoint_count, command_count;
extern const struct billing_row billing_rows[];
extern const char *const billing_date, *const billing_source; /* of the prices and limits */
extern const struct status status_rows[];                     /* ends with the row that matches everything */
extern const struct reason reason_rows[];
extern const struct fault fault_rows[]; /* ends with a NULL name */
extern const struct kind_row kind_rows[];
extern const char *const proxy_prefixes[]; /* what the signing proxy puts before a reason; ends with NULL */
extern const char
    *const reason_prefixes[]; /* what may stand before a reason and says nothing; ends with NULL */
extern const struct choice day_choices[]; /* number: the bit, text: the wire's word; ends with a NULL name */

/* ---- the vendor: every name and address of the service, in one place ---- */

struct region {
  const char *name, *base_url, *auth_url, *token_url;
};

struct vendor {
  const char *name;
  const struct region *regions;    /* ends with a NULL name; the first is the default */
  const char *const *host_endings; /* whole labels that a 421 may name: ".tesla.com"; ends with NULL */
  const char *const
      *closed_hosts; /* of an interface that the vendor closed to applications; ends with NULL */
  const char *authorize_path, *consent_path; /* below auth_url */
  const char *token_path;                    /* below auth_url (open-source apps) or token_url (all others) */
  const char *health_path;                   /* below base_url, asked without a token */
  const char *key_path;                      /* where the public key is hosted below the domain */
  const char *pairing_url;                   /* followed by the domain, and ?vin= when one is meant */
  const char *invitation_url;                /* followed by the code */
  const char *jws_algorithm, *jws_audience;  /* "Tesla.SS256", "com.tesla" */
};

extern const struct vendor vendor_rows[];

/* ---- options of fleet.new, the command line, the environment, and of every call ---- */

/* For which rows an option of a call says something. */
enum option_rows {
  FOR_ALL,
  FOR_LIVE,    /* the vehicle must be awake */
  FOR_WRITES,  /* changes something */
  FOR_CHANGES, /* the reply says whether anything changed */
  FOR_FORCED,  /* refused here unless it is forced: by a rule or by a budget */
  FOR_SETTINGS /* an energy setting */
};

/* What else than its type an option of fleet.new takes. */
enum {
  ALSO_FUNCTION = 1,
  ALSO_TABLE = 2,
  ALSO_OBJECT = 4,
  ALSO_LINES = 8 /* control characters: PEM text */
};

struct option {
  const char *name;
  enum type type;
  const char *fallback; /* default as text, or NULL */
  const struct choice *choices;
  const char *environment; /* FLEET_..., or NULL */
  unsigned flags;          /* SECRET */
  bool lua_only;           /* a function or an object: not on the command line */
  const char *doc;
  double min, max;       /* of a number; both 0: unbounded */
  enum option_rows rows; /* of an option of a call */
  unsigned also;         /* ALSO_ bits of an option of fleet.new */
};

extern const struct option option_rows[];
extern const struct option call_option_rows[]; /* the last argument of every call; end with a NULL name */

/* ---- telemetry ---- */

enum delta { DELTA_UNKNOWN, DELTA_NO, DELTA_YES, DELTA_METRES };

enum field_kind {
  FIELD_ANY, /* not known: as it comes */
  FIELD_NUMBER,
  FIELD_INTEGER,
  FIELD_BOOLEAN,
  FIELD_TEXT,
  FIELD_TIME, /* UTC seconds */
  FIELD_ENUM,
  FIELD_LOCATION,
  FIELD_OBJECT
};

/* One row per field that a vehicle can stream; ends with a NULL name. */
struct telemetry_field {
  const char *name;
  const char *since;        /* first firmware, NULL: not published */
  enum delta minimum_delta; /* whether the option of that name is taken */
  int number;               /* on the wire */
  enum field_kind kind;     /* older firmware sends text for any of them */
  const char *prefix;       /* of FIELD_ENUM: what the names of its values begin with */
  const char *unit;         /* NULL: none, or not known */
  const char *counterpart;  /* paths in vehicle_data with spaces between them; NULL: none */
};

extern const struct telemetry_field telemetry_fields[];

/* One row per authority of vehicles' certificates; ends with a NULL name. */
struct vehicle_authority {
  const char *name;   /* common name */
  const char *sha256; /* of the certificate, lower-case hex */
};

extern const struct vehicle_authority vehicle_authorities[];

#endif
