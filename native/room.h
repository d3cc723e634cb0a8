/*
 * The room of a session's contained commands: namespaces of users, processes and network that outlast one command.
 *
 * A server that one command starts is reached, seen and ended by the next one. The room is held by its first process,
 * outside of every sandbox, which listens at a door in the state folder. Each supervisor keeps a connection to it. One that
 * ends without a goodbye has been killed, and may have left processes that nobody looks after: then the room ends, and the
 * kernel ends all of them. See docs/containment.md.
 */
#ifndef LOCKGATE_ROOM_H
#define LOCKGATE_ROOM_H

#include <stdbool.h>
#include <sys/types.h>

enum { ROOM_NAME = 32 };

struct room {
    int door;  /* the connection to the first process; -1: there is no room */
    int first; /* a pidfd of that process */
};

/* Whether this is the name of a room: so many hexadecimal digits. */
bool room_is_name(const char *name);

/*
 * Enters a room of a state folder, an absolute path, and makes it where there is none. False: there is none to be had.
 *
 * client: a pidfd of the process whose end may end the room; -1: nobody's. It is closed.
 */
bool room_enter(struct room *room, const char *state, const char *name, int client);

/* Says that the command has ended, and that processes of it go on. */
void room_stays(const struct room *room);

/* Leaves a room. goodbye: whether nothing of the command is left in it; else the room ends. */
void room_leave(struct room *room, bool goodbye);

/*
 * Forks a process into the room, a child of this one. There it is 0, and what it is given next are namespaces of its own
 * for all that the room does not share. Negative: that cannot be.
 */
pid_t room_fork(const struct room *room);

#endif
