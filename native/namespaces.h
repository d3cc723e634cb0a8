/* A plan built with the kernel's own calls: lockgate/containment/linux/namespaces.py once more. Linux 5.12 or newer. */
#ifndef LOCKGATE_NAMESPACES_H
#define LOCKGATE_NAMESPACES_H

#include "plan.h"

#include <signal.h>
#include <sys/types.h>

/* What is told of a sandbox: that it stands; that its command has ended while others go on, with its exit code behind. */
enum { NAMESPACES_STAND = 's', NAMESPACES_LEFT = 'l' };

/* Forks a process that is the first one of new namespaces. Negative: there are none for this user. */
pid_t namespaces_fork(void);

/*
 * In that process: builds the sandbox, starts the command and waits for it. This process ends as the command ended, and
 * all others in the sandbox with it.
 *
 * status: where NAMESPACES_STAND is written when the sandbox stands, right before the command is started.
 * keep: a descriptor from 3 on that the command gets; -1 for none.
 * orders: in a room, where a byte, or its end, tells to end every process of the command; else -1. In a room this process
 *   ends when the last of them has ended, and tells before that the command itself has.
 * mask: the signals that are blocked in the command.
 */
_Noreturn void namespaces_become(const struct plan *plan, int status, int keep, int orders, const sigset_t *mask);

/* Parts of it, for the first process of a room. They end this process where they cannot be done. */
void namespaces_map(unsigned int user, unsigned int group);
void namespaces_loopback(void);
void namespaces_drop(void);

/* Where the words are that this program was started with: what stays of it in a room is not found by them. */
void namespaces_know_words(char **words);
void namespaces_hide_words(void);

#endif
