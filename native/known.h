/* What nobody has to be asked about again: what was there before the command ran, and what matters to nobody. */
#ifndef LOCKGATE_KNOWN_H
#define LOCKGATE_KNOWN_H

#include "bytes.h"
#include "names.h"

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

/*
 * Where the content of an entry lies: its file, or what its link leads to. A mount keeps a file from being changed or
 * replaced, and not the folders above it from being renamed: then another file can stand at the same path. It lies in
 * another folder.
 */
struct location {
    const char *link; /* where a link leads, as it is written */
    char *real;       /* the path that a link leads to; NULL: to nothing, or it is no link */
    dev_t device;     /* of the folder that the content lies in, with its inode; both 0: nobody can tell */
    ino_t folder;
};

struct known {
    struct bytes before; /* pairs of words: an entry with its kind, and where a link leads */
    struct location *locations;
    struct table numbers;  /* of the entries before, to find their locations */
    struct bytes harmless; /* pairs of words: what was judged by its path, which is all that counts */
    struct table links;    /* of the harmless entries, with where the second word begins */
};

/* The folder that was looked at last: entries of one folder come in a row. Begins with zeros, anew for each look. */
struct looked {
    char folder[PATH_MAX];
    struct stat found;
};

/* Goes through pairs of words. False: there are no more. */
bool next_pair(const struct bytes *pairs, size_t *at, const char **first, const char **second);

/* Begins with what there is before the command runs, which is taken over. False: there is no memory. */
bool known_begin(struct known *known, struct bytes before);

/* Adds what matters to nobody. False: there is no memory, and everything would seem to be new. */
bool known_add(struct known *known, const struct bytes *harmless);

/* Whether an entry was there before, and its content lies where it lay. */
bool known_stayed(const struct known *known, struct looked *last, const char *entry, const char *link);

bool known_harmless(const struct known *known, const char *entry, const char *link);

#endif
