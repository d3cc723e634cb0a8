#include "reply.h"

#include "proof.h"

static uint32_t number(const uint8_t *data)
{
    return (uint32_t)data[0] << 24 | (uint32_t)data[1] << 16 | (uint32_t)data[2] << 8 | (uint32_t)data[3];
}

static struct reply answer(const uint8_t *data, size_t size)
{
    struct reply reply = {.kind = REPLY_PART, .needs = REPLY_HEADER};
    if (size < REPLY_HEADER)
        return reply;
    reply.code = data[1];
    reply.out_size = number(data + 2);
    reply.err_size = number(data + 6);
    uint64_t texts = (uint64_t)reply.out_size + reply.err_size;
    if (texts > REPLY_MOST) {
        reply.kind = REPLY_BAD;
        return reply;
    }
    reply.needs = REPLY_HEADER + (size_t)texts + PROOF_SIZE;
    if (size > reply.needs)
        reply.kind = REPLY_BAD;
    else if (size == reply.needs)
        reply.kind = REPLY_ANSWER;
    return reply;
}

struct reply reply_read(const uint8_t *data, size_t size)
{
    struct reply reply = {.kind = REPLY_PART, .needs = 1};
    if (size == 0)
        return reply;
    switch (data[0]) {
    case 'A':
        return answer(data, size);
    case 'W':
        reply.needs = 5 + PROOF_SIZE;
        if (size >= reply.needs) {
            reply.kind = REPLY_WAIT;
            reply.milliseconds = number(data + 1);
        }
        return reply;
    case 'N':
        reply.kind = REPLY_NONE;
        return reply;
    default:
        reply.kind = REPLY_BAD;
        return reply;
    }
}
