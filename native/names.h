/*
 * Names and patterns of paths, asked so that a doubtful answer is yes: whoever asks here asks again where it counts.
 * Letters of ASCII match in either case; a name with any other byte could be folded to anything. Pure.
 */
#ifndef LOCKGATE_NAMES_H
#define LOCKGATE_NAMES_H

#include "words.h"

#include <stdbool.h>
#include <stddef.h>

enum { LONGEST_NAME = 255, MOST_NAMES = 256 };

/* A table of words, with a number for each. */
struct table {
    const char **words;
    size_t *numbers;
    size_t mask;
};

/* Makes an empty table for so many words. False: there is no memory. */
bool table_make(struct table *table, size_t count);

/* Puts a word in; one that is there keeps its number. */
void table_put(struct table *table, const char *word, size_t number);

/* The place of a word's number; NULL: it is not there. */
const size_t *table_find(const struct table *table, const char *word);

/* A name in small letters. False: it is too long, or not plain ASCII. */
bool name_fold(const char *name, char folded[LONGEST_NAME + 1]);

/* Whether a folded name is matched by a glob; a class of characters stands for any one. */
bool glob_matches(const char *glob, const char *name);

/* A path's names, or a pattern's. */
struct names {
    const char *names[MOST_NAMES]; /* of a path: folded; NULL where one could be folded to anything */
    size_t count;
};

/* Splits a pattern's text at its slashes; the text is changed. False: there are too many names. */
bool names_split(char *text, struct names *names);

/* Whether a pattern matches a path. "**" stands for any number of names. */
bool names_match(const char *const *pattern, size_t count, const struct names *path);

#endif
