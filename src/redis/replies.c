#include "redis/replies.h"

static void *make_array(const redisReadTask *task, reply_count count) {
  struct replies *r = task->privdata;
  if (count > MOST_ELEMENTS - (reply_count)r->elements) return NULL;
  if (count > 0) r->elements += (size_t)count;
  return r->make_array(task, count);
}

bool replies_open(struct replies *r, struct err *e) {
  r->reader = redisReaderCreate();
  if (!r->reader) return err_out_of_memory(e);
  r->make = *r->reader->fn;
  r->make_array = r->make.createArray;
  r->make.createArray = make_array;
  r->reader->fn = &r->make;
  r->reader->privdata = r;
  return true;
}

void replies_close(struct replies *r) {
  if (!r->reader) return;
  if (r->reader->buf) wipe(r->reader->buf, r->reader->len);
  redisReaderFree(r->reader);
  r->reader = NULL;
}

static bool not_understood(const struct replies *r, struct err *e) {
  return err_set(e, KIND_store, "what answers is no Redis server, or says too much: %s", r->reader->errstr);
}

bool replies_feed(struct replies *r, struct bytes data, struct err *e) {
  r->bytes += data.size;
  if (r->bytes > LARGEST_REPLY)
    return err_set(e, KIND_store, "Redis sent a reply of more than %d bytes", LARGEST_REPLY);
  if (redisReaderFeed(r->reader, (const char *)data.data, data.size) == REDIS_OK) return true;
  return not_understood(r, e);
}

bool replies_next(struct replies *r, redisReply **reply, struct err *e) {
  void *made = NULL;
  *reply = NULL;
  if (redisReaderGetReply(r->reader, &made) != REDIS_OK) return not_understood(r, e);
  *reply = made;
  if (!made) return true;
  if (r->reader->buf) wipe(r->reader->buf, r->reader->pos);
  r->elements = 0;
  r->bytes = r->reader->len - r->reader->pos;
  return true;
}

static void wipe_reply(redisReply *reply) {
  if (!reply) return;
  if (reply->str) wipe(reply->str, reply->len);
  if (reply->type != REDIS_REPLY_ARRAY) return;
  for (size_t i = 0; i < reply->elements; i++) wipe_reply(reply->element[i]);
}

void replies_forget(redisReply *reply) {
  wipe_reply(reply);
  if (reply) freeReplyObject(reply);
}
