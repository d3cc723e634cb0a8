/* A sandbox that runs: starting it, ending it, sending it signals. */
#ifndef LOCKGATE_SANDBOX_H
#define LOCKGATE_SANDBOX_H

#include "plan.h"
#include "room.h"

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

/* Where the shell in a sandbox tells its last folder. No other process of the command has it. */
enum { FOLDER_DESCRIPTOR = 9 };

struct sandbox {
    pid_t pid;    /* the process that builds it and ends as the command ends */
    int ended;    /* readable when that process has ended */
    int told;     /* readable when the sandbox stands; -1 where that never comes */
    bool stands;  /* whether it was told: from then on the command may run */
    bool by_program; /* whether bubblewrap builds it */
    bool begun;   /* by bubblewrap: whether it has told that it started the command, which it does at the end */
    pid_t first;  /* the first process inside, by its number outside; 0 until it is known */
    int gone;     /* readable when that one has ended, where it is another than `pid`; else -1 */
    bool reaped;
    int status;   /* as waitpid(2) gives it, once it is reaped */
    struct room room; /* the room that it is in; none: its door is -1 */
    int orders;   /* in a room: what ends every process of the command when it is closed; else -1 */
    int code;     /* in a room: the command's exit code, where it has ended and others go on; else -1 */
};

/*
 * Starts a sandbox with this process's descriptors 0 to 2.
 *
 * folder_to: a descriptor that the command gets as FOLDER_DESCRIPTOR; -1 for none.
 * mask: the signals that are blocked in it.
 * room: the room that it is built in, entered; it is taken over. None: its door is -1. Where the room does not take it, it
 *   is built without.
 *
 * False: that cannot be.
 */
bool sandbox_start(struct sandbox *sandbox, const struct plan *plan, int folder_to, const sigset_t *mask,
                   struct room room);

/* Hears which process is the first one, where it can be known. */
void sandbox_hear(struct sandbox *sandbox);

/* Sends a signal to the command. False: there is none yet. */
bool sandbox_signal(struct sandbox *sandbox, int number);

/* Ends every process in it, and waits until none is left. Where one cannot be ended in a room, the room is. */
void sandbox_kill(struct sandbox *sandbox);

/* The exit status, as a shell gives it. Negative: it could not be built, and nothing was run. */
int sandbox_wait(struct sandbox *sandbox);

#endif
