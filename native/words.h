/* Words, each with a zero byte at its end: how the gate tells the launcher anything. Pure: no call into the system. */
#ifndef LOCKGATE_WORDS_H
#define LOCKGATE_WORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct words {
    const char *next; /* the first one that was not read yet */
    const char *end;  /* behind the last zero byte */
    bool bad;         /* whether something was missing, or no number: then nothing that was read counts */
};

/* Some words in a row. */
struct list {
    char **words; /* NULL at its end */
    size_t count;
};

/* Begins to read. What does not end with a zero byte is bad. */
struct words words_in(const uint8_t *data, size_t size);

/* The next word; an empty one where there is none. */
const char *words_next(struct words *words);

/* The next word, which is a number in decimal, and at most so much. */
size_t words_number(struct words *words, size_t most);

/* A number, and so many words. */
struct list words_list(struct words *words);

/* Whether all of it was read, and well. */
bool words_done(const struct words *words);

#endif
