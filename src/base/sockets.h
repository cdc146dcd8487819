/* Sockets as this module wants them, in the form that the system has: closed on exec, and without waiting
 * where it says so. */
#ifndef FLEET_BASE_SOCKETS_H
#define FLEET_BASE_SOCKETS_H

#include <stdbool.h>
#include <sys/socket.h>
#include <sys/types.h>

int socket_open(int family, int type, int protocol); /* -1: errno says why; likewise the next two */
int socket_open_async(int family, int type);         /* its calls never wait */
int socket_accept_async(int listener, struct sockaddr *from, socklen_t *size);
ssize_t socket_send(int fd, const void *data, size_t size); /* raises no SIGPIPE */
long socket_user(int fd); /* of the process at the other end of a Unix socket; -1: unknown */
void socket_keep_alive(int fd, int idle, int interval, int count); /* seconds; where the system can */

#endif
