#include "known.h"

#include <stdlib.h>
#include <string.h>

bool next_pair(const struct bytes *pairs, size_t *at, const char **first, const char **second)
{
    if (*at >= pairs->size)
        return false;
    *first = (const char *)pairs->data + *at;
    *second = *first + strlen(*first) + 1;
    *at = (size_t)(*second + strlen(*second) + 1 - (const char *)pairs->data);
    return true;
}

static size_t count_pairs(const struct bytes *pairs)
{
    const char *first, *second;
    size_t count = 0;
    for (size_t at = 0; next_pair(pairs, &at, &first, &second);)
        count++;
    return count;
}

/* ---------------------------------------------------------------- locations */

/* Looks at the folder that a path lies in. */
static void look_above(struct looked *last, const char *path)
{
    size_t length = (size_t)(strrchr(path, '/') - path);
    if (length == 0)
        length = 1; /* the root */
    if (strncmp(last->folder, path, length) == 0 && last->folder[length] == '\0')
        return;
    *last->folder = '\0';
    last->found = (struct stat){0};
    if (length >= sizeof last->folder)
        return;
    memcpy(last->folder, path, length);
    last->folder[length] = '\0';
    if (stat(last->folder, &last->found) != 0)
        last->found = (struct stat){0};
}

static struct location location_of(struct looked *last, const char *entry, const char *link)
{
    struct location location = {.link = link};
    if (*entry == 'l' && (location.real = realpath(entry + 1, NULL)) == NULL)
        return location;
    look_above(last, location.real != NULL ? location.real : entry + 1);
    location.device = last->found.st_dev;
    location.folder = last->found.st_ino;
    return location;
}

static bool is_same(const struct location *one, const struct location *other)
{
    if (one->device != other->device || one->folder != other->folder || strcmp(one->link, other->link) != 0)
        return false;
    if (one->real == NULL || other->real == NULL)
        return one->real == other->real;
    return strcmp(one->real, other->real) == 0;
}

/* ---------------------------------------------------------------- what is known */

bool known_begin(struct known *known, struct bytes before)
{
    struct looked last = {0};
    const char *entry, *link;
    size_t number = 0, count = count_pairs(&before);
    *known = (struct known){.before = before, .locations = calloc(count + 1, sizeof *known->locations)};
    if (known->locations == NULL || !table_make(&known->numbers, count) || !table_make(&known->links, 0))
        return false;
    for (size_t at = 0; next_pair(&known->before, &at, &entry, &link); number++) {
        if (*entry != 'r')
            known->locations[number] = location_of(&last, entry, link);
        table_put(&known->numbers, entry, number);
    }
    return true;
}

bool known_add(struct known *known, const struct bytes *harmless)
{
    const char *entry, *link;
    if (!bytes_append(&known->harmless, harmless->data, harmless->size))
        return false;
    free(known->links.words);
    free(known->links.numbers);
    if (!table_make(&known->links, count_pairs(&known->harmless)))
        return false;
    for (size_t at = 0; next_pair(&known->harmless, &at, &entry, &link);)
        table_put(&known->links, entry, (size_t)(link - (const char *)known->harmless.data));
    return true;
}

bool known_stayed(const struct known *known, struct looked *last, const char *entry, const char *link)
{
    const size_t *number = table_find(&known->numbers, entry);
    if (number == NULL)
        return false;
    struct location now = location_of(last, entry, link);
    bool same = is_same(&known->locations[*number], &now);
    free(now.real);
    return same;
}

bool known_harmless(const struct known *known, const char *entry, const char *link)
{
    const size_t *other = table_find(&known->links, entry);
    return other != NULL && strcmp((const char *)known->harmless.data + *other, link) == 0;
}
