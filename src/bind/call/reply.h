/* What came back: the reply of a finished transfer, or one that a host's own HTTP handed in. */
#ifndef FLEET_BIND_REPLY_H
#define FLEET_BIND_REPLY_H

#include "bind/http/shared.h"
#include "bind/lua/bind.h"
#include "http/transfer.h"

struct reply {
  struct http_response *response; /* of the transfer, or &own */
  struct http_transfer *transfer; /* NULL: own */
  struct shared_http *shared;
  struct http_response own;
};

extern const struct box_type reply_type;

#endif
