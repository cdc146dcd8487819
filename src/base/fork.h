/* Whether this process is a child of the one in which something was made, and whether one may have a copy of
 * it.
 *
 * Asked for each request several times: a counter that fork itself moves costs nothing, a getpid is a system
 * call. A child made without fork's handlers (vfork, clone) runs no Lua.
 */
#ifndef FLEET_BASE_FORK_H
#define FLEET_BASE_FORK_H

/* The first call of either must come before the fork. */
unsigned fork_generation(void); /* changes in every forked child */
unsigned fork_count(void);      /* changes in the parent, too: a child has a copy of what was open before */

#endif
