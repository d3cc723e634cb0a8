#include "names.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* ---------------------------------------------------------------- tables */

static size_t hash(const char *word)
{
    size_t value = 14695981039346656037u; /* FNV-1a */
    for (; *word != '\0'; word++)
        value = (value ^ (unsigned char)*word) * 1099511628211u;
    return value ^ value >> 32;
}

bool table_make(struct table *table, size_t count)
{
    size_t room = 16;
    while (room / 2 < count) {
        if (room > SIZE_MAX / 4)
            return false;
        room *= 2;
    }
    table->words = calloc(room, sizeof *table->words);
    table->numbers = calloc(room, sizeof *table->numbers);
    table->mask = room - 1;
    return table->words != NULL && table->numbers != NULL;
}

static size_t place_of(const struct table *table, const char *word)
{
    size_t place = hash(word) & table->mask;
    while (table->words[place] != NULL && strcmp(table->words[place], word) != 0)
        place = (place + 1) & table->mask;
    return place;
}

void table_put(struct table *table, const char *word, size_t number)
{
    size_t place = place_of(table, word);
    if (table->words[place] != NULL)
        return;
    table->words[place] = word;
    table->numbers[place] = number;
}

const size_t *table_find(const struct table *table, const char *word)
{
    size_t place = place_of(table, word);
    return table->words[place] == NULL ? NULL : &table->numbers[place];
}

/* ---------------------------------------------------------------- names */

bool name_fold(const char *name, char folded[LONGEST_NAME + 1])
{
    size_t length = 0;
    for (; name[length] != '\0'; length++) {
        unsigned char byte = (unsigned char)name[length];
        if (length >= LONGEST_NAME || byte >= 0x80)
            return false;
        folded[length] = (char)(byte >= 'A' && byte <= 'Z' ? byte + ('a' - 'A') : byte);
    }
    folded[length] = '\0';
    return true;
}

/* What stands behind a mark of a glob: a class is taken for any one character. */
static const char *behind(const char *glob)
{
    if (*glob != '[')
        return glob + 1;
    const char *end = glob + 1;
    if (*end == '!')
        end++;
    if (*end == ']')
        end++;
    while (*end != '\0' && *end != ']')
        end++;
    return *end == ']' ? end + 1 : NULL; /* without an end it stands for itself */
}

bool glob_matches(const char *glob, const char *name)
{
    const char *star = NULL, *back = NULL;
    while (*name != '\0') {
        const char *next;
        if (*glob == '*') {
            star = ++glob;
            back = name;
        } else if (*glob == '?' || (*glob == '[' && behind(glob) != NULL)) {
            next = behind(glob);
            glob = next;
            name++;
        } else if (*glob == *name) {
            glob++;
            name++;
        } else if (star != NULL) {
            glob = star;
            name = ++back;
        } else {
            return false;
        }
    }
    while (*glob == '*')
        glob++;
    return *glob == '\0';
}

static bool is_wild(const char *name)
{
    return strpbrk(name, "*?[") != NULL;
}

bool names_split(char *text, struct names *names)
{
    names->count = 0;
    for (char *next = text; next != NULL;) {
        char *name = next;
        next = strchr(name, '/');
        if (next != NULL)
            *next++ = '\0';
        if (names->count >= MOST_NAMES)
            return false;
        names->names[names->count++] = name;
    }
    return true;
}

static bool name_matches(const char *pattern, const char *name)
{
    if (name == NULL || strcmp(pattern, name) == 0)
        return true;
    return is_wild(pattern) && glob_matches(pattern, name);
}

bool names_match(const char *const *pattern, size_t count, const struct names *path)
{
    /* Row by row: whether the pattern so far matches the path up to each name. */
    bool row[MOST_NAMES + 1] = {true};
    for (size_t item = 0; item < count; item++) {
        bool any = strcmp(pattern[item], "**") == 0;
        bool before = row[0]; /* without this item, and one name less */
        row[0] = row[0] && any;
        for (size_t at = 0; at < path->count; at++) {
            bool without = row[at + 1];
            row[at + 1] = any ? without || row[at] : before && name_matches(pattern[item], path->names[at]);
            before = without;
        }
    }
    return row[path->count];
}
