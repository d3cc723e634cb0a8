/* What happens where the gate gives no answer: the Python hook decides in this process's place, or it is refused. */
#ifndef LOCKGATE_LOCAL_H
#define LOCKGATE_LOCAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct local {
    char *python;       /* the interpreter's absolute path */
    char *script;       /* the absolute path of lockgate/hook.py */
    char **words;       /* what the script is given: the client's name and its options, then NULL: not empty */
    int64_t began;      /* when this process began, by clock_ms() */
    bool asked;         /* whether a gate was looked for */
    bool gone;          /* whether there was none, or it has ended: then the script looks again */
    bool forged;        /* whether what answered has not proved that it is the gate */
    const uint8_t *input; /* what was read of stdin; NULL where nothing was */
    size_t input_size;
};

/* Becomes the Python hook; refuses where that cannot be. */
_Noreturn void decide_locally(const struct local *local);

/* Blocks the call, with a reason. */
_Noreturn void refuse(const char *why);

/* Writes it all. False: that is not possible. */
bool write_all(int descriptor, const void *data, size_t size);

enum { DIGITS = 24 };

/* A number in decimal, somewhere in the given place. */
char *decimal(uint64_t number, char digits[DIGITS]);

#endif
