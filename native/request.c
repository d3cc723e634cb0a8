#include "request.h"

#include "local.h"

#include <limits.h>
#include <stdint.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

extern char **environ;

static const char MAGIC[] = "LOCKGATE3\n";
enum { MAGIC_SIZE = sizeof MAGIC - 1, SIZES = 8, NONCE_SIZE = 16 };

static void put_number(uint8_t *place, size_t number)
{
    for (int byte = 0; byte < 4; byte++)
        place[byte] = (uint8_t)(number >> (24 - 8 * byte));
}

static bool put_word(struct bytes *request, const char *word)
{
    return bytes_append(request, word, strlen(word) + 1);
}

static bool put_decimal(struct bytes *request, uint64_t number)
{
    char digits[DIGITS];
    return put_word(request, decimal(number, digits));
}

/* A number and a space. */
static bool put_fact(struct bytes *request, uint64_t number)
{
    char digits[DIGITS];
    char *text = decimal(number, digits);
    return bytes_append(request, text, strlen(text)) && bytes_append(request, " ", 1);
}

#ifdef __APPLE__
#define CHANGED(found) ((found)->st_mtimespec)
#define TOUCHED(found) ((found)->st_ctimespec)
#else
#define CHANGED(found) ((found)->st_mtim)
#define TOUCHED(found) ((found)->st_ctim)
#endif

static uint64_t nanoseconds(struct timespec moment)
{
    return (uint64_t)moment.tv_sec * 1000000000U + (uint64_t)moment.tv_nsec;
}

static bool put_facts(struct bytes *request, const struct stat *found)
{
    return put_fact(request, (uint64_t)found->st_dev) && put_fact(request, (uint64_t)found->st_ino) &&
           put_fact(request, (uint64_t)found->st_size) && put_fact(request, nanoseconds(CHANGED(found))) &&
           put_fact(request, nanoseconds(TOUCHED(found)));
}

/* Which code this is, as lockgate/system/code_identity.py tells it. */
static bool put_code(struct bytes *request, const char *script)
{
    static const char build[] = "build";
    static const struct stat missing;
    struct stat program, other;
    char path[PATH_MAX];
    const char *slash = strrchr(script, '/');
    size_t folder = slash == NULL ? 0 : (size_t)(slash - script) + 1;
    if (stat(script, &program) != 0 || folder + sizeof build > sizeof path)
        return false;
    memcpy(path, script, folder);
    memcpy(path + folder, build, sizeof build);
    const struct stat *second = stat(path, &other) == 0 ? &other : &missing;
    return put_facts(request, &program) && put_facts(request, second) && put_word(request, script);
}

/* What no other request has, so that the proof of an answer holds for this one alone. */
static bool put_nonce(struct bytes *request)
{
    static const char digits[] = "0123456789abcdef";
    uint8_t random[NONCE_SIZE];
    char text[2 * NONCE_SIZE + 1] = {0};
    if (getentropy(random, sizeof random) != 0)
        return false;
    for (size_t byte = 0; byte < sizeof random; byte++) {
        text[2 * byte] = digits[random[byte] >> 4];
        text[2 * byte + 1] = digits[random[byte] & 15];
    }
    return put_word(request, text);
}

bool request_begin(struct bytes *request, const char *script, char **words)
{
    static const uint8_t sizes[SIZES];
    uint64_t count = 0;
    while (words[count] != NULL)
        count++;
    bool whole = bytes_append(request, MAGIC, MAGIC_SIZE) && bytes_append(request, sizes, sizeof sizes);
    whole = whole && put_nonce(request) && put_decimal(request, (uint64_t)getppid()) && put_code(request, script);
    whole = whole && put_decimal(request, count);
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
