/* Reads replies from stdin, each after its size (four bytes), and prints what reply_read makes of each, frame by frame. */
#include "reply.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void told(const struct reply *reply)
{
    switch (reply->kind) {
    case REPLY_PART:
        printf("part %zu", reply->needs);
        break;
    case REPLY_WAIT:
        printf("wait %lu, ", (unsigned long)reply->milliseconds);
        break;
    case REPLY_ANSWER:
        printf("answer %u %lu %lu", reply->code, (unsigned long)reply->out_size, (unsigned long)reply->err_size);
        break;
    case REPLY_NONE:
        printf("none");
        break;
    case REPLY_FORGED:
    case REPLY_BAD:
        printf("bad");
        break;
    }
}

int main(void)
{
    unsigned char size_bytes[4];
    while (fread(size_bytes, 1, sizeof size_bytes, stdin) == sizeof size_bytes) {
        size_t size = 0;
        for (size_t index = 0; index < sizeof size_bytes; index++)
            size = size << 8 | size_bytes[index];
        /* Of exactly that size, so that reading one byte beyond it is seen. */
        unsigned char *data = malloc(size > 0 ? size : 1);
        if (data == NULL || fread(data, 1, size, stdin) != size)
            return 1;
        size_t read = 0;
        struct reply reply;
        do {
            unsigned char *rest = malloc(size - read > 0 ? size - read : 1);
            if (rest == NULL)
                return 1;
            memcpy(rest, data + read, size - read);
            reply = reply_read(rest, size - read);
            free(rest);
            told(&reply);
            read += reply.needs;
        } while (reply.kind == REPLY_WAIT);
        printf("\n");
        free(data);
    }
    return 0;
}
