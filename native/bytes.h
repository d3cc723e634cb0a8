/* A growing run of bytes. */
#ifndef LOCKGATE_BYTES_H
#define LOCKGATE_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bytes {
    uint8_t *data;
    size_t size; /* bytes that are in use */
    size_t room; /* bytes that are allocated */
};

/* Makes room for at least so many bytes beyond those in use. False: there is no memory, and nothing changed. */
bool bytes_reserve(struct bytes *bytes, size_t more);

/* Appends bytes. False: there is no memory, and nothing changed. */
bool bytes_append(struct bytes *bytes, const void *data, size_t size);

/* Takes bytes away from the front; there are at least so many. */
void bytes_drop(struct bytes *bytes, size_t size);

#endif
