/* Whether this process is a child of the one in which something was made.
 *
 * Asked for each request several times: a counter that fork itself moves costs nothing, a getpid is a system
 * call. A child made without fork's handlers (vfork, clone) runs no Lua.
 */
#ifndef FLEET_BASE_FORK_H
#define FLEET_BASE_FORK_H

/* Changes in every forked child. The first call must come before the fork. */
unsigned fork_generation(void);

#endif
