/* The conversation with the resident gate of a state folder. */
#ifndef LOCKGATE_GATE_H
#define LOCKGATE_GATE_H

#include "bytes.h"
#include "proof.h"
#include "reply.h"

#include <stdbool.h>
#include <stdint.h>

/* How long the gate may be silent before it has said anything, and how long the whole may take, in milliseconds. */
enum { FIRST_MS = 1000, WHOLE_MS = 3000 };

/* How long it may take with all that others are waited for: agent clients wait an hour for a person, and no longer. */
enum { PATIENCE_MS = 3630 * 1000 };

/*
 * Has this process end, blocking, when nobody reads its output any more or its parent is gone, while it hears a gate:
 * what a person says must not be used up for a client that was killed.
 */
void gate_end_unread(void);

/* Milliseconds of a clock that only goes forward. */
int64_t clock_ms(void);

/* Connects to the gate whose state folder this is, an absolute path. Negative: there is none of this very user. */
int gate_connect(const char *state);

/*
 * Puts a request to the gate and hears its answer.
 *
 * key: the installation's; the answer has to prove that it is of a process that has it.
 * began: when this process began, by clock_ms().
 * first_ms: how long the gate may be silent once it was asked, where that is less than is left of WHOLE_MS.
 * heard: receives the answer, whole; its texts are found with what is returned.
 * gone: receives whether the gate has ended meanwhile.
 *
 * The kind is REPLY_ANSWER; REPLY_FORGED, where what is said has no proof; or another where nothing came in time.
 */
struct reply gate_ask(int gate, const uint8_t key[KEY_SIZE], const struct bytes *request, int64_t began,
                      int64_t first_ms, struct bytes *heard, bool *gone);

/* Ends this process, by a signal, should it still run after so many milliseconds. 0: not any more. */
void end_after(int64_t milliseconds);

#endif
