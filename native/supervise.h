/*
 * Running a plan: a supervisor that outlives the client's patience, and the process that the client waits for.
 *
 * The process that the client started passes signals on and ends as the command ended. It may be killed at any moment, so
 * the sandbox is the child of a supervisor in a session of its own, which ends the sandbox when that process is gone and
 * then looks at what the command left behind.
 */
#ifndef LOCKGATE_SUPERVISE_H
#define LOCKGATE_SUPERVISE_H

#include "places.h"
#include "plan.h"

#include <limits.h>
#include <stdbool.h>

enum { STATUS_NOT_BUILT = -1, STATUS_DIED = -2 };

struct outcome {
    int status;            /* as a shell gives it; or one of those above */
    char folder[PATH_MAX]; /* where the command ended; empty where it did not say */
};

/* A session's room: its name, NULL for none, and the state folder. */
struct place_of_room {
    const char *state, *name;
};

/*
 * Runs a plan and waits for it, in a room where one is named: then processes may outlast the command, and the supervisor
 * goes on to look at what they make. Where it could not be built nothing was run, and this process is as it was before.
 *
 * tell_folder: whether the command says, on FOLDER_DESCRIPTOR, in which folder it ended.
 */
struct outcome supervise(const struct plan *plan, struct places *places, const struct place_of_room *where,
                         bool tell_folder);

#endif
