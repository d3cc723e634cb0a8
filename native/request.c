#include "request.h"

#include "local.h"

#include <stdint.h>
#include <string.h>
#include <unistd.h>

extern char **environ;

static const char MAGIC[] = "LOCKGATE1\n";
enum { MAGIC_SIZE = sizeof MAGIC - 1, SIZES = 8 };

static void put_number(uint8_t *place, size_t number)
{
    for (int byte = 0; byte < 4; byte++)
        place[byte] = (uint8_t)(number >> (24 - 8 * byte));
}

static bool put_word(struct bytes *request, const char *word)
{
    return bytes_append(request, word, strlen(word) + 1);
}

static bool put_decimal(struct bytes *request, unsigned long number)
{
    char digits[DIGITS];
    return put_word(request, decimal(number, digits));
}

bool request_begin(struct bytes *request, char **words)
{
    static const uint8_t sizes[SIZES];
    unsigned long count = 0;
    while (words[count] != NULL)
        count++;
    bool whole = bytes_append(request, MAGIC, MAGIC_SIZE) && bytes_append(request, sizes, sizeof sizes);
    whole = whole && put_decimal(request, (unsigned long)getppid()) && put_decimal(request, count);
    for (char **word = words; whole && *word != NULL; word++)
        whole = put_word(request, *word);
    for (char **variable = environ; whole && *variable != NULL; variable++)
        whole = put_word(request, *variable);
    if (whole)
        put_number(request->data + MAGIC_SIZE, request->size - MAGIC_SIZE - SIZES);
    return whole;
}

void request_end(struct bytes *request, size_t payload)
{
    put_number(request->data + MAGIC_SIZE + 4, payload);
}
