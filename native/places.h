/*
 * What a contained command made in places where it may make nothing, taken out of force.
 *
 * A mount keeps what exists from being changed. What does not exist has nothing to mount on: so while a command runs, and
 * when it has ended, what is new in such a place gets another name, beside where it was. Nothing is removed. Which of the
 * new files those are, the gate or the Python program says; this only finds what is new and could be one of them.
 */
#ifndef LOCKGATE_PLACES_H
#define LOCKGATE_PLACES_H

#include "bytes.h"
#include "walk.h"

#include <stdbool.h>
#include <stddef.h>

/* Says which of what was seen are protected: appends their paths as words. False: nobody can tell. */
typedef bool (*places_judge)(void *asking, const struct bytes *seen, struct bytes *found);

/* What the kernel tells of, by inotify(7). */
struct events {
    int descriptor; /* -1: of nothing */
    int left;       /* how many more folders are watched */
};

enum { MOST_WATCHED = 4000 };

struct places;

/*
 * Begins with what there is before the command runs.
 *
 * seen: what a walk through the folders that may be written to has seen; it is taken over.
 * events: what watches the upper levels of these folders.
 * NULL: there is no memory.
 */
struct places *places_begin(const struct walk *walk, struct bytes seen, struct events events, places_judge judge,
                            void *asking);

/* Has the kernel tell of what is made in a folder, where it lies near the surface; `events` are such. */
void places_watch(void *events, const char *folder, int depth);

/* What is readable when the kernel tells of something; -1 where it tells nothing, and has to be looked for. */
int places_events(const struct places *places);

/* Has nothing told to this process any more, where another one is told. */
void places_let_go(struct places *places);

/* Hears what the kernel tells, and looks at the upper levels where something could matter. True: the command has to be
 * ended, since it does so again and again. */
bool places_look(struct places *places);

/* Looks at the upper levels without being told, for where the kernel tells nothing. */
bool places_look_anyway(struct places *places);

/* Looks at everything. */
void places_finish(struct places *places);

/* Says what was found, on standard error. False: what was made could not be looked at. */
bool places_say(const struct places *places);

/* Says something to the agent and the person: our words and others', by turns. Of the latter what could do anything to a
 * terminal is shown as a number. */
void say(const char *before, const char *text, const char *middle, const char *other);

#endif
