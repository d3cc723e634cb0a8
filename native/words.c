#include "words.h"

#include <stdlib.h>
#include <string.h>

struct words words_in(const uint8_t *data, size_t size)
{
    const char *first = (const char *)data;
    struct words words = {.next = first, .end = first == NULL ? first : first + size};
    words.bad = size == 0 || data[size - 1] != '\0';
    return words;
}

const char *words_next(struct words *words)
{
    if (words->bad || words->next == words->end) {
        words->bad = true;
        return "";
    }
    const char *word = words->next;
    words->next += strlen(word) + 1;
    return word;
}

size_t words_number(struct words *words, size_t most)
{
    const char *word = words_next(words);
    size_t number = 0;
    for (const char *digit = word; *digit != '\0'; digit++) {
        if (*digit < '0' || *digit > '9' || number > (SIZE_MAX - 9) / 10)
            words->bad = true;
        else
            number = number * 10 + (size_t)(*digit - '0');
    }
    if (*word == '\0' || number > most)
        words->bad = true;
    return words->bad ? 0 : number;
}

struct list words_list(struct words *words)
{
    struct list list = {.count = words_number(words, (size_t)(words->end - words->next))};
    list.words = calloc(list.count + 1, sizeof *list.words);
    if (list.words == NULL) {
        words->bad = true;
        list.count = 0;
        return list;
    }
    for (size_t index = 0; index < list.count; index++) {
        /* Only execve(2) wants them writable; nobody writes to them. */
        union {
            const char *given;
            char *wanted;
        } word = {.given = words_next(words)};
        list.words[index] = word.wanted;
    }
    return list;
}

bool words_done(const struct words *words)
{
    return !words->bad && words->next == words->end;
}
