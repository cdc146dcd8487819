#include "server/internal.h"

#include <stdlib.h>
#include <sys/socket.h>

struct visitor *connection_visitor(struct MHD_Connection *connection) {
  const union MHD_ConnectionInfo *info =
      MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
  return info ? info->socket_context : NULL;
}

int connection_socket(struct MHD_Connection *connection) {
  const union MHD_ConnectionInfo *info =
      connection ? MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD) : NULL;
  return info ? info->connect_fd : -1;
}

void connection_awaits(struct daemon *d, struct visitor *v) {
  v->due = poller_now() + d->limits.arrival;
  deadline_set(d, v->due);
}

/* The library notices and cleans up. */
void connection_turn_away(struct visitor *v) {
  v->due = 0;
  shutdown(connection_socket(v->connection), SHUT_RDWR);
}

static const double PATIENCE = 1; /* seconds, see connection_due */

/* When the maximum of connections is reached, one that sends nothing is closed after a second: idle clients
 * must not keep others out. */
double connection_due(const struct daemon *d, const struct visitor *v) {
  if (v->due <= 0 || d->count < d->limits.max_connections || d->limits.arrival <= PATIENCE) return v->due;
  return v->due - d->limits.arrival + PATIENCE;
}

static void welcome(struct daemon *d, struct MHD_Connection *connection, void **context) {
  struct visitor *v = *context = calloc(1, sizeof *v);
  if (!v) return; /* without a deadline of ours */
  v->connection = connection;
  v->after = d->visitors;
  if (v->after) v->after->before = v;
  d->visitors = v;
  d->count++;
  connection_awaits(d, v);
  if (d->count >= d->limits.max_connections) deadline_set(d, poller_now() + PATIENCE);
}

static void farewell(struct daemon *d, struct visitor *v) {
  d->left = true;
  if (!v) return;
  if (v->before)
    v->before->after = v->after;
  else
    d->visitors = v->after;
  if (v->after) v->after->before = v->before;
  d->count--;
  free(v);
}

void connection_notified(void *cls, struct MHD_Connection *connection, void **context,
                         enum MHD_ConnectionNotificationCode what) {
  if (what == MHD_CONNECTION_NOTIFY_STARTED)
    welcome(cls, connection, context);
  else
    farewell(cls, *context);
}
