/*
 * Walking through folders in search of what could matter: of every entry it is asked by name alone, and without doubt
 * only in one direction. What is told may matter to nobody; what is not told matters to nobody for sure. Who knows more
 * (lockgate/containment/linux/native_launcher.py) says how to walk, and what became of it.
 *
 * How to walk, as words:
 *
 *   "walk 1"
 *   N, and for each of N folders: its path, levels to go down (0 where only programs are looked for), most entries to look at,
 *      "all" where everything in it is told and "some" otherwise,
 *      and for a walk near the surface of a home folder the project that is left out; else ""
 *   three lists (a number, and so many words): names that are never looked into; names that matter; globs that do
 *   N, and for each of N patterns: a name that such a path must have, and the pattern, its names joined by slashes
 *
 * What was seen, as pairs of words: "r" and a folder's number, "", before what is in it; then a kind ("d" folder, "l"
 * link, "s" socket or pipe, "f" anything else) and the path, and where a link leads. A folder's entries come before
 * those of the folders in it.
 */
#ifndef LOCKGATE_WALK_H
#define LOCKGATE_WALK_H

#include "bytes.h"
#include "words.h"


struct walk; /* how to walk */

/* Reads how to walk. NULL: it is not what was agreed. */
struct walk *walk_read(const uint8_t *data, size_t size);

/* How many of the folders may be written to: all but the last one, which is the home folder. */
size_t walk_roots(const struct walk *walk);

/* The path of one of them. */
const char *walk_root(const struct walk *walk, size_t index);

/* Whether it is only looked at for programs that others start: it lies in another one, and may be reached by a link. */
bool walk_is_for_programs(const struct walk *walk, size_t index);

/*
 * Walks through the first so many folders and appends what it sees.
 *
 * deep: levels to go down, where that is less than what was said; else -1.
 * most: entries to look at, where that is less; else 0. With it, a walk that would see more ends there.
 * watch: is told each folder that is gone through, and how deep it lies; or NULL.
 *
 * False: there is more than was said, or no memory.
 */
bool walk_through(const struct walk *walk, size_t folders, int deep, size_t most, struct bytes *seen,
                  void (*watch)(void *, const char *, int), void *watching);

/* Whether an entry could matter by its name alone. */
bool walk_is_suspect(const struct walk *walk, const char *name);

#endif
