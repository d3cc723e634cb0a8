/*
 * The plan of a sandbox, as the gate hands it over. Pure: no call into the system.
 *
 * As words: "plan 2", the way ("bubblewrap" or "namespaces"), the program that builds it (or ""), the folder that the
 * command begins in, whether processes of it may outlast it in a room ("stays" or "ends"); then lists, each a number and so many words: options of that program; mounts, three words each
 * (kind, target, source); paths in /proc that are made read-only; what may be written to; the environment; the command.
 */
#ifndef LOCKGATE_PLAN_H
#define LOCKGATE_PLAN_H

#include "words.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct plan {
    bool by_program; /* whether bubblewrap builds it; else the kernel's own namespaces do */
    const char *program;
    const char *cwd;
    bool stays;      /* whether processes may outlast the command in a room */
    struct list options, mounts, settings, writable, environment, command;
    const uint8_t *filter; /* an array of struct sock_filter */
    size_t filter_size;
    unsigned int user, group; /* who runs it, outside and inside; not part of what is handed over */
};

/* Reads a plan, which then points into these very bytes. False: it is not what was agreed. */
bool plan_read(struct plan *plan, const uint8_t *data, size_t size, const uint8_t *filter, size_t filter_size);

#endif
