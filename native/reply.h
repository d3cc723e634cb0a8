/* What the gate says, read from bytes. Pure: no call into the system. */
#ifndef LOCKGATE_REPLY_H
#define LOCKGATE_REPLY_H

#include <stddef.h>
#include <stdint.h>

enum reply_kind {
    REPLY_PART,   /* the beginning of a frame */
    REPLY_WAIT,   /* "W": somebody is waited for */
    REPLY_ANSWER, /* "A": what to write, and the exit code */
    REPLY_NONE,   /* "N": the gate will not decide this one */
    REPLY_FORGED, /* what is said has not the proof of a gate with the installation's key: never of reply_read */
    REPLY_BAD     /* nothing that a gate says */
};

struct reply {
    enum reply_kind kind;
    size_t needs;          /* PART: bytes that the frame has at least. Others: bytes of the frame with its proof. */
    uint32_t milliseconds; /* WAIT: how much longer the next frame may take */
    uint8_t code;          /* ANSWER: the exit code */
    uint32_t out_size;     /* ANSWER: bytes of stdout, which begin at REPLY_HEADER */
    uint32_t err_size;     /* ANSWER: bytes of stderr, which follow them */
};

/* A wait and an answer have their proof behind them. */
enum { REPLY_HEADER = 10 }; /* bytes of an answer before stdout: "A", code, two sizes */

/* The most that an answer's two texts may come to: a payload of 32 MB, each of its bytes escaped. */
#define REPLY_MOST ((uint64_t)256 * 1024 * 1024)

/* Reads the first frame of what was received. An answer is the last thing that a gate says: bytes after it are bad. */
struct reply reply_read(const uint8_t *data, size_t size);

#endif
