#include "refusal.h"

#include "local.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static char folder[PATH_MAX];

/* Appends a text to another; false: there is no room. */
static bool append(char *text, size_t room, const char *more)
{
    size_t length = strlen(text), added = strlen(more);
    if (added >= room - length)
        return false;
    memcpy(text + length, more, added + 1);
    return true;
}

void refusal_in(const char *state)
{
    struct stat found;
    if (stat(state, &found) == 0 && found.st_uid != geteuid())
        return; /* what this user leaves there would keep its owner out */
    if (!append(folder, sizeof folder, state) || !append(folder, sizeof folder, "/refusals/"))
        folder[0] = '\0';
}

/* The name begins with the time in nanoseconds, 20 digits, and is like no other process's. */
static bool named(char *name, size_t room, const char *dot)
{
    struct timespec now;
    char digits[DIGITS], zeros[] = "00000000000000000000";
    if (clock_gettime(CLOCK_REALTIME, &now) != 0)
        return false;
    char *seconds = decimal((uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec, digits);
    size_t length = strlen(seconds);
    zeros[length < 20 ? 20 - length : 0] = '\0';
    name[0] = '\0';
    bool fits = append(name, room, folder) && append(name, room, dot) && append(name, room, zeros);
    fits = fits && append(name, room, seconds) && append(name, room, "-");
    return fits && append(name, room, decimal((uint64_t)getpid(), digits)) && append(name, room, "-native");
}

void refusal_keep(const char *why)
{
    char draft[PATH_MAX], name[PATH_MAX];
    if (folder[0] != '/' || !named(draft, sizeof draft, ".") || !named(name, sizeof name, ""))
        return;
    mkdir(folder, 0700); /* else it is there, or nothing can be opened in it */
    int file = open(draft, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (file < 0)
        return;
    static const char begin[] = "{\"by\": \"native client\", \"because\": \"", end[] = "\"}";
    bool whole = write_all(file, begin, sizeof begin - 1) && write_all(file, why, strlen(why));
    whole = whole && write_all(file, end, sizeof end - 1);
    close(file);
    if (!whole || rename(draft, name) != 0)
        unlink(draft);
}
