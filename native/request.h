/* The beginning of a request to the gate: what hooks and the launcher of contained commands say alike. */
#ifndef LOCKGATE_REQUEST_H
#define LOCKGATE_REQUEST_H

#include "bytes.h"

#include <stdbool.h>
#include <stddef.h>

/*
 * Appends everything before the payload: sizes, a nonce, the parent's process id, which code this is, some words, the environment.
 *
 * script: the Python program of this installation: a gate of other code does not answer. False: it is not there, or
 * there is no memory, or nothing random.
 */
bool request_begin(struct bytes *request, const char *script, char **words);

/* Puts in how long the payload is, once it is known. */
void request_end(struct bytes *request, size_t payload);

#endif
