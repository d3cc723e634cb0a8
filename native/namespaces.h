/* A plan built with the kernel's own calls: lockgate/containment/linux/namespaces.py once more. Linux 5.12 or newer. */
#ifndef LOCKGATE_NAMESPACES_H
#define LOCKGATE_NAMESPACES_H

#include "plan.h"

#include <sys/types.h>

enum { NAMESPACES_STAND = 's' };

/* Forks a process that is the first one of new namespaces. Negative: there are none for this user. */
pid_t namespaces_fork(void);

/*
 * In that process: builds the sandbox, starts the command and waits for it. This process ends as the command ended, and
 * all others in the sandbox with it.
 *
 * status: where NAMESPACES_STAND is written when the sandbox stands, right before the command is started.
 * keep: a descriptor from 3 on that the command gets; -1 for none.
 */
_Noreturn void namespaces_become(const struct plan *plan, int status, int keep);

#endif
