#include "walk.h"

#include "names.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { MOST_FOLDERS = 64, MOST_KEYS = 24, CHUNK = 1 << 15 };

struct pattern {
    const char *key;
    const char **names;
    size_t count;
};

struct place {
    const char *path;
    int deep;
    size_t most;
    bool all;
    const char *left_out; /* of a walk near the surface; empty for any other */
};

struct walk {
    struct place places[MOST_FOLDERS];
    size_t count;
    struct table closed, named, keyed;
    struct list globs;
    size_t *by_end;        /* the next glob that a name with the same last letter is asked about, plus one; 0: none */
    size_t first[256];     /* the first such glob for each last letter; under 0 those that end with a mark */
    struct pattern *patterns; /* those of one key in a row */
    size_t pattern_count;
};

/* ---------------------------------------------------------------- how to walk */

static bool read_patterns(struct walk *walk, struct words *words)
{
    walk->pattern_count = words_number(words, (size_t)(words->end - words->next));
    walk->patterns = calloc(walk->pattern_count + 1, sizeof *walk->patterns);
    if (walk->patterns == NULL || !table_make(&walk->keyed, walk->pattern_count))
        return false;
    for (size_t index = 0; index < walk->pattern_count && !words->bad; index++) {
        struct pattern *pattern = &walk->patterns[index];
        struct names split;
        pattern->key = words_next(words);
        char *text = strdup(words_next(words));
        if (text == NULL || !names_split(text, &split))
            return false;
        pattern->names = calloc(split.count, sizeof *pattern->names);
        if (pattern->names == NULL)
            return false;
        memcpy(pattern->names, split.names, split.count * sizeof *pattern->names);
        pattern->count = split.count;
        table_put(&walk->keyed, pattern->key, index);
    }
    return true;
}

static bool read_names(struct table *table, struct words *words)
{
    struct list list = words_list(words);
    if (!table_make(table, list.count))
        return false;
    for (size_t index = 0; index < list.count; index++)
        table_put(table, list.words[index], index);
    return true;
}

/* Puts globs in rows by their last letter: most names are asked about few of them. */
static bool order_globs(struct walk *walk)
{
    walk->by_end = calloc(walk->globs.count + 1, sizeof *walk->by_end);
    if (walk->by_end == NULL)
        return false;
    for (size_t index = 0; index < walk->globs.count; index++) {
        const char *glob = walk->globs.words[index];
        size_t length = strlen(glob);
        unsigned char end = length > 0 ? (unsigned char)glob[length - 1] : 0;
        if (end == '*' || end == '?' || end == ']')
            end = 0;
        walk->by_end[index] = walk->first[end];
        walk->first[end] = index + 1;
    }
    return true;
}

struct walk *walk_read(const uint8_t *data, size_t size)
{
    struct words words = words_in(data, size);
    struct walk *walk = calloc(1, sizeof *walk);
    if (walk == NULL || strcmp(words_next(&words), "walk 1") != 0)
        return NULL;
    walk->count = words_number(&words, MOST_FOLDERS);
    for (size_t index = 0; index < walk->count; index++) {
        struct place *place = &walk->places[index];
        place->path = words_next(&words);
        place->deep = (int)words_number(&words, 1000);
        place->most = words_number(&words, 1u << 30);
        place->all = strcmp(words_next(&words), "all") == 0;
        place->left_out = words_next(&words);
        words.bad = words.bad || place->path[0] != '/';
    }
    bool read = read_names(&walk->closed, &words) && read_names(&walk->named, &words);
    walk->globs = words_list(&words);
    return read && order_globs(walk) && read_patterns(walk, &words) && words_done(&words) && walk->count > 1 ? walk : NULL;
}

size_t walk_roots(const struct walk *walk)
{
    return walk->count - 1;
}

const char *walk_root(const struct walk *walk, size_t index)
{
    return walk->places[index].path;
}

bool walk_is_for_programs(const struct walk *walk, size_t index)
{
    return walk->places[index].deep == 0;
}

/* ---------------------------------------------------------------- what could matter */

/* A folder that is still to be gone through. */
struct folder {
    struct folder *next;
    int depth;
    bool all;                /* whether everything in it is told */
    size_t keys[MOST_KEYS];  /* where the patterns begin that its own names have the names for */
    size_t key_count;
    char path[];
};

/* Takes a name on a folder's way: which patterns may be met below it. */
static void take_name(const struct walk *walk, struct folder *folder, const char *name)
{
    char folded[LONGEST_NAME + 1];
    const size_t *first = name_fold(name, folded) ? table_find(&walk->keyed, folded) : NULL;
    if (!name_fold(name, folded) || (first != NULL && folder->key_count >= MOST_KEYS))
        folder->all = true;
    else if (first != NULL)
        folder->keys[folder->key_count++] = *first;
}

static bool meets(const struct walk *walk, size_t first, const struct names *path)
{
    const char *key = walk->patterns[first].key;
    for (size_t index = first; index < walk->pattern_count; index++) {
        const struct pattern *pattern = &walk->patterns[index];
        if (strcmp(pattern->key, key) != 0)
            break;
        if (names_match(pattern->names, pattern->count, path))
            return true;
    }
    return false;
}

/* A path's names, folded in a place that holds them. False: there are too many, or one could be anything. */
static bool fold_path(const char *path, char folded[PATH_MAX], struct names *names)
{
    size_t length = strlen(path);
    if (length == 0 || length >= PATH_MAX)
        return false;
    for (size_t index = 0; index <= length; index++) {
        unsigned char byte = (unsigned char)path[index];
        if (byte >= 0x80)
            return false;
        folded[index] = (char)(byte >= 'A' && byte <= 'Z' ? byte + ('a' - 'A') : byte);
    }
    return names_split(folded + 1, names);
}

static bool meets_glob(const struct walk *walk, unsigned char end, const char *folded)
{
    for (size_t next = walk->first[end]; next > 0; next = walk->by_end[next - 1])
        if (glob_matches(walk->globs.words[next - 1], folded))
            return true;
    return false;
}

static bool named_so(const struct walk *walk, const char *folded)
{
    size_t length = strlen(folded);
    if (length > 0 && meets_glob(walk, (unsigned char)folded[length - 1], folded))
        return true;
    return meets_glob(walk, 0, folded) || table_find(&walk->named, folded) != NULL;
}

bool walk_is_suspect(const struct walk *walk, const char *name)
{
    char folded[LONGEST_NAME + 1];
    return !name_fold(name, folded) || named_so(walk, folded) || table_find(&walk->keyed, folded) != NULL;
}

static bool is_suspect(const struct walk *walk, const struct folder *folder, const char *name, const char *path)
{
    char folded[LONGEST_NAME + 1], whole[PATH_MAX];
    if (folder->all || !name_fold(name, folded) || named_so(walk, folded))
        return true;
    const size_t *own = table_find(&walk->keyed, folded);
    if (own == NULL && folder->key_count == 0)
        return false;
    struct names names;
    if (!fold_path(path, whole, &names) || (own != NULL && meets(walk, *own, &names)))
        return true;
    for (size_t index = 0; index < folder->key_count; index++)
        if (meets(walk, folder->keys[index], &names))
            return true;
    return false;
}

/* ---------------------------------------------------------------- walking */

/* One walk. */
struct going {
    const struct walk *walk;
    const struct place *place;
    struct bytes *seen;
    struct folder *todo;
    int deep;
    size_t left; /* entries */
    bool bad;
};

static struct folder *push(struct going *going, const struct folder *above, const char *path, const char *name)
{
    size_t size = strlen(path) + 1;
    struct folder *folder = calloc(1, sizeof *folder + size);
    if (folder == NULL) {
        going->bad = true;
        return NULL;
    }
    memcpy(folder->path, path, size);
    if (above != NULL) {
        folder->depth = above->depth + 1;
        folder->all = above->all;
        folder->key_count = above->key_count;
        memcpy(folder->keys, above->keys, sizeof folder->keys);
        take_name(going->walk, folder, name);
    }
    folder->next = going->todo;
    going->todo = folder;
    return folder;
}

static char kind_of(int folder, const char *name, unsigned char type)
{
    struct stat found;
    if (type == DT_UNKNOWN) {
        if (fstatat(folder, name, &found, AT_SYMLINK_NOFOLLOW) != 0)
            return 'f';
        type = (unsigned char)((found.st_mode & S_IFMT) >> 12); /* as the kernel makes it: IFTODT */
    }
    return type == DT_DIR ? 'd' : type == DT_LNK ? 'l' : type == DT_SOCK || type == DT_FIFO ? 's' : 'f';
}

/* Whether a folder holds what git numbers and records by itself. */
static bool is_gits_own(const char *folder, const char *name)
{
    const char *last = strrchr(folder, '/');
    if (strcmp(name, "logs") == 0 || strcmp(name, "refs") == 0 || strcmp(name, "lfs") == 0)
        return last != NULL && strcmp(last + 1, ".git") == 0;
    if (last == NULL || strcmp(last + 1, "objects") != 0 || strcmp(name, "info") == 0)
        return false;
    char head[PATH_MAX];
    size_t length = (size_t)(last - folder);
    if (length + sizeof "/HEAD" > sizeof head)
        return false;
    memcpy(head, folder, length);
    memcpy(head + length, "/HEAD", sizeof "/HEAD");
    return access(head, F_OK) == 0;
}

static void tell(struct going *going, int folder, char kind, const char *path, const char *name)
{
    char link[PATH_MAX + 1];
    ssize_t length = kind == 'l' ? readlinkat(folder, name, link, PATH_MAX) : 0;
    link[length > 0 ? length : 0] = '\0';
    if (!bytes_append(going->seen, &kind, 1) || !bytes_append(going->seen, path, strlen(path) + 1) ||
        !bytes_append(going->seen, link, strlen(link) + 1))
        going->bad = true;
}

static bool goes_into(const struct going *going, const struct folder *above, const char *path, const char *name)
{
    if (above->depth >= going->deep || table_find(&going->walk->closed, name) != NULL)
        return false;
    return *going->place->left_out == '\0' || (*name != '.' && strcmp(path, going->place->left_out) != 0);
}

static void see(struct going *going, const struct folder *folder, int descriptor, const char *name, unsigned char type)
{
    char path[PATH_MAX + LONGEST_NAME + 2];
    size_t above = strlen(folder->path), length = strlen(name);
    if (above > 0 && folder->path[above - 1] == '/')
        above--;
    if (above >= PATH_MAX || length > LONGEST_NAME || is_gits_own(folder->path, name))
        return;
    if (going->left == 0) {
        going->bad = true;
        return;
    }
    going->left--;
    memcpy(path, folder->path, above);
    path[above] = '/';
    memcpy(path + above + 1, name, length + 1);
    char kind = kind_of(descriptor, name, type);
    if (kind == 's' || is_suspect(going->walk, folder, name, path))
        tell(going, descriptor, kind, path, name);
    if (kind == 'd' && goes_into(going, folder, path, name))
        push(going, folder, path, name);
}

/* What getdents64(2) fills in. */
struct entry {
    uint64_t number;
    int64_t offset;
    unsigned short size;
    unsigned char type;
    char name[];
};

static void go_through(struct going *going, const struct folder *folder)
{
    _Alignas(struct entry) char room[CHUNK];
    /* Who looks for programs follows links. Only names are read. */
    int follow = going->place->deep > 0 ? O_NOFOLLOW : 0;
    int descriptor = open(folder->path, O_RDONLY | O_DIRECTORY | O_NONBLOCK | O_CLOEXEC | follow);
    if (descriptor < 0)
        return;
    for (;;) {
        long size = syscall(SYS_getdents64, descriptor, room, sizeof room);
        if (size <= 0)
            break;
        for (long at = 0; at < size && !going->bad;) {
            const struct entry *entry = (const struct entry *)(const void *)(room + at);
            at += entry->size;
            if (strcmp(entry->name, ".") != 0 && strcmp(entry->name, "..") != 0)
                see(going, folder, descriptor, entry->name, entry->type);
        }
    }
    close(descriptor);
}

/* The folder that a walk begins in, with what its own names begin to meet. */
static void begin(struct going *going)
{
    struct folder *first = push(going, NULL, going->place->path, "");
    char names[PATH_MAX];
    struct names split;
    size_t size = strlen(going->place->path) + 1;
    if (first == NULL)
        return;
    first->all = going->place->all || size > sizeof names;
    if (first->all)
        return;
    memcpy(names, going->place->path, size);
    first->all = !names_split(names, &split);
    for (size_t index = 0; index < split.count && !first->all; index++)
        take_name(going->walk, first, split.names[index]);
}

static bool mark(struct bytes *seen, size_t number)
{
    char digit[] = {'r', (char)('0' + number / 10), (char)('0' + number % 10), '\0', '\0'};
    return bytes_append(seen, digit, sizeof digit);
}

bool walk_through(const struct walk *walk, size_t folders, int deep, size_t most, struct bytes *seen,
                  void (*watch)(void *, const char *, int), void *watching)
{
    for (size_t index = 0; index < folders; index++) {
        const struct place *place = &walk->places[index];
        bool near = *place->left_out != '\0' || (most > 0 && most < place->most);
        struct going going = {
            .walk = walk,
            .place = place,
            .seen = seen,
            .deep = deep >= 0 && deep < place->deep ? deep : place->deep,
            .left = most > 0 && most < place->most ? most : place->most,
        };
        if (!mark(seen, index))
            return false;
        begin(&going);
        while (going.todo != NULL) {
            struct folder *folder = going.todo;
            going.todo = folder->next;
            if (!going.bad) {
                if (watch != NULL && *place->left_out == '\0')
                    watch(watching, folder->path, folder->depth);
                go_through(&going, folder);
            }
            free(folder);
        }
        if (going.bad && (!near || going.left > 0))
            return false;
    }
    return true;
}
