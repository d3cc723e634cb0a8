#include "places.h"

#include "known.h"
#include "local.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { SHALLOW = 2, MOST_SHALLOW = 5000, MOST_MOVED = 20, SAID = 5, MOST_KEPT = 1000, MOST_SHOWN = 1000 };
static const char SUFFIX[] = ".kept-by-lockgate";

struct places {
    const struct walk *walk;
    struct known known;
    struct events events;
    places_judge judge;
    void *asking;
    struct bytes moved;  /* words: a path, and the name it has now */
    size_t moved_count;  /* how many of these there are */
    size_t count;        /* how often something was to be moved */
    char problem[PATH_MAX];
    struct timespec began;
    bool blind;          /* whether something could not be looked at */
};

/* ---------------------------------------------------------------- saying */

/* Appends a text with what could do anything to a terminal as numbers. */
static bool put_shown(struct bytes *line, const char *text)
{
    static const char digits[] = "0123456789abcdef";
    bool whole = true;
    for (size_t index = 0; whole && text[index] != '\0' && index < MOST_SHOWN; index++) {
        unsigned char byte = (unsigned char)text[index];
        const char number[] = {'\\', 'x', digits[byte >> 4], digits[byte & 15]};
        whole = byte < 0x20 || byte >= 0x7f ? bytes_append(line, number, sizeof number) : bytes_append(line, &byte, 1);
    }
    return whole;
}

void say(const char *before, const char *text, const char *middle, const char *other)
{
    struct bytes line = {0};
    bool whole = bytes_append(&line, "lockgate: ", 10) && bytes_append(&line, before, strlen(before));
    whole = whole && put_shown(&line, text) && bytes_append(&line, middle, strlen(middle)) && put_shown(&line, other);
    if (whole && bytes_append(&line, "\n", 1))
        write_all(STDERR_FILENO, line.data, line.size);
    free(line.data);
}

/* ---------------------------------------------------------------- the begin */

struct places *places_begin(const struct walk *walk, struct bytes seen, struct events events, places_judge judge,
                            void *asking)
{
    struct places *places = calloc(1, sizeof *places);
    if (places == NULL)
        return NULL;
    *places = (struct places){.walk = walk, .events = events, .judge = judge, .asking = asking};
    /* The clock of files is the coarse one, which is behind. */
    clock_gettime(CLOCK_REALTIME_COARSE, &places->began);
    return known_begin(&places->known, seen) ? places : NULL;
}

/* ---------------------------------------------------------------- another name */

/* Opens a folder without following a link behind the folder that the path begins with. */
static int open_folder(const char *root, const char *path)
{
    enum { FLAGS = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC };
    int folder = open(root, FLAGS);
    const char *rest = path + strlen(root);
    while (folder >= 0) {
        char name[LONGEST_NAME + 1];
        rest += strspn(rest, "/");
        size_t length = strcspn(rest, "/");
        if (rest[length] == '\0')
            return folder; /* what is left is the entry's own name */
        if (length > LONGEST_NAME) {
            close(folder);
            return -1;
        }
        memcpy(name, rest, length);
        name[length] = '\0';
        int below = openat(folder, name, FLAGS);
        close(folder);
        folder = below;
        rest += length;
    }
    return -1;
}

static bool free_name(int folder, const char *name, char kept[LONGEST_NAME + 1])
{
    struct stat found;
    for (int number = 0; number < MOST_KEPT; number++) {
        int length = number == 0 ? snprintf(kept, LONGEST_NAME + 1, "%s%s", name, SUFFIX)
                                 : snprintf(kept, LONGEST_NAME + 1, "%s%s.%d", name, SUFFIX, number);
        if (length > LONGEST_NAME)
            return false;
        if (fstatat(folder, kept, &found, AT_SYMLINK_NOFOLLOW) != 0)
            return errno == ENOENT;
    }
    return false;
}

static void move_away(struct places *places, const char *root, const char *path)
{
    char kept[LONGEST_NAME + 1];
    const char *name = strrchr(path, '/') + 1;
    places->count++;
    int folder = open_folder(root, path);
    if (folder < 0)
        return; /* it is gone */
    if (free_name(folder, name, kept) && renameat(folder, name, folder, kept) == 0) {
        places->moved_count++;
        bytes_append(&places->moved, path, strlen(path) + 1);
        bytes_append(&places->moved, kept, strlen(kept) + 1);
    } else if (errno != ENOENT) {
        snprintf(places->problem, sizeof places->problem, "%s", path);
    }
    close(folder);
}

/* ---------------------------------------------------------------- looking */

static const char *root_of(const struct walk *walk, const char *path)
{
    const char *longest = NULL;
    for (size_t index = 0; index < walk_roots(walk); index++) {
        const char *root = walk_root(walk, index);
        size_t length = strlen(root);
        bool below = strncmp(path, root, length) == 0 && path[length] == '/';
        /* A link may lead to where programs are looked for: from the folder around it none is followed. */
        if (below && !walk_is_for_programs(walk, index) && (longest == NULL || length > strlen(longest)))
            longest = root;
    }
    return longest;
}

/* Whether a path is, or lies in, what git keeps of a rebase, a cherry-pick or an `am` that has not ended. */
static bool is_unfinished(const char *path)
{
    static const char *const folders[] = {"rebase-merge", "rebase-apply", "sequencer"};
    const char *name = strstr(path, "/.git/");
    name = name == NULL ? NULL : strchr(name + 1, '/');
    for (; name != NULL; name = strchr(name, '/')) {
        size_t length = strcspn(++name, "/");
        for (size_t index = 0; index < sizeof folders / sizeof *folders; index++)
            if (strlen(folders[index]) == length && memcmp(folders[index], name, length) == 0)
                return true;
    }
    return false;
}

static bool changed_since(const char *path, struct timespec when)
{
    struct stat found;
    if (lstat(path, &found) != 0)
        return false; /* it is gone */
    struct timespec changed = found.st_ctim;
    return changed.tv_sec > when.tv_sec || (changed.tv_sec == when.tv_sec && changed.tv_nsec >= when.tv_nsec);
}

/*
 * Whether something is not to be asked about. What git does takes its time, so what it keeps of it is asked about when the
 * command has ended, and by its content: again where it was there before and has been changed.
 */
static bool is_settled(const struct places *places, struct looked *last, const char *entry, const char *link, bool ended)
{
    if (is_unfinished(entry + 1) && !ended)
        return true;
    bool stayed = known_stayed(&places->known, last, entry, link);
    if (is_unfinished(entry + 1))
        return stayed && !changed_since(entry + 1, places->began);
    return stayed || known_harmless(&places->known, entry, link);
}

/* Of what was seen, what is new. False: there is no memory. */
static bool put_new(const struct places *places, const struct bytes *seen, bool ended, struct bytes *fresh, bool *any)
{
    struct looked last = {0};
    const char *entry, *link;
    for (size_t at = 0; next_pair(seen, &at, &entry, &link);) {
        if (*entry != 'r' && is_settled(places, &last, entry, link, ended))
            continue;
        *any = *any || *entry != 'r';
        if (!bytes_append(fresh, entry, strlen(entry) + 1) || !bytes_append(fresh, link, strlen(link) + 1))
            return false;
    }
    return true;
}

static void move_all(struct places *places, const struct bytes *found)
{
    struct words words = words_in(found->data, found->size);
    while (found->size > 0 && !words.bad && words.next != words.end) {
        const char *path = words_next(&words), *root = root_of(places->walk, path);
        if (root != NULL)
            move_away(places, root, path);
    }
}

static void look(struct places *places, int deep, size_t most)
{
    struct bytes seen = {0}, fresh = {0}, found = {0};
    bool any = false;
    places->events.left = MOST_WATCHED;
    bool whole = walk_through(places->walk, walk_roots(places->walk), deep, most, &seen,
                              deep >= 0 ? places_watch : NULL, &places->events);
    whole = put_new(places, &seen, deep < 0, &fresh, &any) && (whole || deep < 0 || most > 0);
    if (whole && any) {
        whole = places->judge(places->asking, &fresh, &found);
        if (whole) {
            move_all(places, &found);
            /* What is protected has another name by now, and is new where it comes again. */
            if (found.size == 0)
                whole = known_add(&places->known, &fresh);
        }
    }
    places->blind = places->blind || !whole;
    free(seen.data);
    free(fresh.data);
    free(found.data);
}

void places_watch(void *events, const char *folder, int depth)
{
    enum { MADE = IN_CREATE | IN_MOVED_TO | IN_ONLYDIR | IN_DONT_FOLLOW };
    struct events *watched = events;
    if (depth > SHALLOW || watched->descriptor < 0 || watched->left-- <= 0)
        return; /* all is looked at in the end */
    if (inotify_add_watch(watched->descriptor, folder, MADE) >= 0 || errno == ENOENT || errno == ENOTDIR || errno == EACCES)
        return;
    close(watched->descriptor); /* the user has too many: what is made has to be looked for */
    watched->descriptor = -1;
}

int places_events(const struct places *places)
{
    return places->events.descriptor;
}

void places_let_go(struct places *places)
{
    if (places->events.descriptor >= 0)
        close(places->events.descriptor);
    places->events.descriptor = -1;
}

bool places_look(struct places *places)
{
    _Alignas(struct inotify_event) char room[1 << 14];
    bool matters = false;
    for (;;) {
        ssize_t size = read(places->events.descriptor, room, sizeof room);
        if (size <= 0)
            break;
        for (ssize_t at = 0; at < size;) {
            const struct inotify_event *event = (const struct inotify_event *)(const void *)(room + at);
            at += (ssize_t)(sizeof *event + event->len);
            if (event->mask & (IN_Q_OVERFLOW | IN_ISDIR) || (event->len > 0 && walk_is_suspect(places->walk, event->name)))
                matters = true;
        }
    }
    return matters && places_look_anyway(places);
}

bool places_look_anyway(struct places *places)
{
    look(places, SHALLOW, MOST_SHALLOW);
    return places->count > MOST_MOVED;
}

void places_finish(struct places *places)
{
    look(places, -1, 0);
}

bool places_say(const struct places *places)
{
    const char *path, *kept;
    size_t said = 0;
    for (size_t at = 0; said < SAID && next_pair(&places->moved, &at, &path, &kept); said++)
        say("", path, " is a place that later sessions or other programs act on; it is kept as ", kept);
    if (places->moved_count > SAID) {
        char digits[DIGITS];
        say("and ", decimal(places->moved_count - SAID, digits), " more", "");
    }
    if (places->problem[0] != '\0')
        say("", places->problem, " could not be taken out of force", "");
    return !places->blind;
}
