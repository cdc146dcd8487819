/* What a Redis server answered, read by hiredis behind limits of our own. */
#ifndef FLEET_REDIS_REPLIES_H
#define FLEET_REDIS_REPLIES_H

#include "base/buf.h"
#include "base/err.h"

#include <hiredis/hiredis.h>
#include <stdbool.h>

enum {
  MOST_ELEMENTS = 65536, /* of all arrays of a reply: hiredis makes room for as many as are announced */
  LARGEST_REPLY = 4 * 1024 * 1024, /* bytes */
};

/* hiredis 1 counts elements as size_t, 0.14 as int. */
#if HIREDIS_MAJOR >= 1
typedef size_t reply_count;
#else
typedef int reply_count;
#endif

struct replies { /* must not be moved while it is open */
  redisReader *reader;
  redisReplyObjectFunctions make; /* hiredis's own, but for arrays */
  void *(*make_array)(const redisReadTask *task, reply_count count);
  size_t elements, bytes; /* of the reply that is not whole yet */
};

bool replies_open(struct replies *r, struct err *e);
void replies_close(struct replies *r);
bool replies_feed(struct replies *r, struct bytes data, struct err *e);
/* *reply is NULL where none is whole yet. */
bool replies_next(struct replies *r, redisReply **reply, struct err *e);
void replies_forget(redisReply *reply); /* wipes what it said; NULL too */

#endif
