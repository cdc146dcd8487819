/* A value as a tree of nodes in an arena. Checks, readers and writers of the core use it instead of a Lua
 * table or JSON text.
 *
 * Members of an object are sorted by name, and each name comes once. Elements of a list keep their order.
 * Texts are views of the JSON text, of Lua's strings or of the arena. Out of memory is sticky: node_new
 * returns NULL, which every function here accepts, and the caller checks arena->failed at the end.
 */
#ifndef FLEET_BASE_VALUE_H
#define FLEET_BASE_VALUE_H

#include "base/arena.h"
#include "base/buf.h"

enum node_type {
  NODE_NIL, /* null in JSON */
  NODE_BOOLEAN,
  NODE_INTEGER,
  NODE_NUMBER,
  NODE_TEXT,
  NODE_LIST,
  NODE_OBJECT,
  NODE_OTHER /* what JSON cannot say; text names it, as "function" */
};

/* The key of a node in its object or list. A Lua table with other keys than names or 1 to n is an object. */
enum key_type { KEY_INDEX, KEY_NAME, KEY_OTHER };

struct node {
  enum node_type type;
  enum key_type key;
  struct bytes name; /* KEY_OTHER: "1.5", "true", or the type of the key */
  int64_t index;     /* KEY_INDEX: in a list from 1 */
  struct node *next; /* the next member or element */
  struct bytes text; /* NODE_TEXT, NODE_OTHER; a number that was read from JSON: its digits */
  union {
    bool boolean;
    int64_t integer;
    double number;
    struct {
      struct node *first, *last; /* NODE_LIST, NODE_OBJECT */
    };
  };
};

struct node *node_new(struct arena *a, enum node_type type);
struct node *node_boolean(struct arena *a, bool value);
struct node *node_integer(struct arena *a, int64_t value);
struct node *node_real(struct arena *a, double value);      /* NODE_NUMBER */
struct node *node_number(struct arena *a, double value);    /* an integer where it is whole */
struct node *node_text(struct arena *a, struct bytes text); /* keeps the view */
/* These texts are in the arena, followed by a NUL that does not count. */
struct node *node_text_copy(struct arena *a, struct bytes text);
struct node *node_format(struct arena *a, const char *format, ...) __attribute__((format(printf, 2, 3)));
struct node *node_key(struct arena *a, const struct node *value);     /* what it is called */
struct node *node_written(struct arena *a, const struct node *value); /* as Lua's tostring writes it */
/* A copy that does not need what the texts of value were views of. */
struct node *node_copy(struct arena *a, const struct node *value);

void node_append(struct node *list, struct node *value);                  /* in the next place */
void node_set(struct node *object, const char *name, struct node *value); /* behind the other members */
void node_add(struct node *object, struct node *value);                   /* its key is set already */
/* In place of the member of this name, else behind the others. */
void node_put(struct node *object, const char *name, struct node *value);
/* Puts members in order, those of one key reduced to the last. Places come before names. */
void node_sort(struct node *object);

struct node *node_find(const struct node *object, const char *name);         /* NULL: absent */
const struct node *node_member(const struct node *object, const char *name); /* NULL: absent, or null */
const struct node *node_named(const struct node *object, struct bytes name); /* the same */
/* The elements 1 to n of a list, or of a table that has others beside them; NULL: there are no more. */
const struct node *first_element(const struct node *table);
const struct node *next_element(const struct node *element);
bool node_is(const struct node *value, enum node_type type);    /* false for NULL */
bool node_is_table(const struct node *value);                   /* a list or an object */
const char *node_type_name(const struct node *value);           /* as Lua names its type */
bool node_as_number(const struct node *value, double *number);  /* of an integer, too */
bool node_as_whole(const struct node *value, int64_t *integer); /* of 5.0, too */

/* JSON text. NULL: it is none, has more than JSON_DEPTH levels or a number that no double can hold, or out of
 * memory (a->failed). An integer beyond 64 bits is a NODE_NUMBER. fault may be NULL. */
struct json_fault {
  size_t at; /* where reading ended */
  const char *expected;
};
/* Bytes of nodes for one byte of text, at most: max_response limits how much a reply takes. */
enum { JSON_GROWTH = sizeof(struct node) };
struct node *json_read(struct arena *a, struct bytes text, struct json_fault *fault);
struct json_refusal {
  struct bytes what; /* "a number that is not finite" */
  struct bytes name; /* of the member that holds it; "value" for the whole */
};
/* Appends the text. An empty object is written as a list where the name of its member is one of the words in
 * lists. False: JSON cannot say it. */
bool json_write(const struct node *value, const char *lists, struct buf *out, struct json_refusal *refusal);

#endif
