/* Prints the BLAKE2b of stdin: hash_bytes SIZE KEY PERSON, both in hexadecimal and maybe empty. */
#include "proof.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static size_t bytes_of(const char *text, uint8_t *bytes)
{
    size_t size = strlen(text) / 2;
    for (size_t index = 0; index < size; index++) {
        unsigned value = 0;
        if (sscanf(text + 2 * index, "%2x", &value) != 1)
            exit(1);
        bytes[index] = (uint8_t)value;
    }
    return size;
}

int main(int count, char **words)
{
    uint8_t key[DIGEST_MOST], person[PERSON_SIZE], digest[DIGEST_MOST], part[97];
    if (count != 4)
        return 1;
    struct blake2b_key with = {.key = key, .size = bytes_of(words[2], key)};
    if (bytes_of(words[3], person) == PERSON_SIZE)
        with.person = person;
    struct blake2b hash;
    blake2b_begin(&hash, (size_t)atoi(words[1]), with);
    for (size_t read; (read = fread(part, 1, sizeof part, stdin)) > 0;)
        blake2b_add(&hash, part, read);
    blake2b_end(&hash, digest);
    for (size_t index = 0; index < hash.size; index++)
        printf("%02x", digest[index]);
    return 0;
}
