/*
 * The process that a contained command's text starts, without an interpreter's start: the resident gate plans, and this
 * builds the sandbox, runs the command in it and ends as it ended. See docs/containment.md and docs/native-client.md.
 *
 *   lockgate-contain --python PYTHON --script CONTAIN_PY --home=H --state=S --config=C --workspace=W [--folder-to=3]
 *       [--background] [--room=NAME] (--shell COMMAND | -- PROGRAM ARGUMENT...)
 *   lockgate-contain --confine FOLDER... -- COMMAND ARGUMENT...     in the sandbox, started by bubblewrap
 *   lockgate-contain --about
 *   lockgate-contain --try                                          whether it can build a sandbox here
 *
 * Where the gate gives no plan, or anything else is not as it should be before the command runs, it becomes
 * `PYTHON -I -S CONTAIN_PY --home=...`, which does all of it by itself, and says what is wrong.
 */
#include "bytes.h"
#include "confine.h"
#include "gate.h"
#include "local.h"
#include "namespaces.h"
#include "places.h"
#include "plan.h"
#include "reply.h"
#include "request.h"
#include "room.h"
#include "supervise.h"
#include "trial.h"
#include "walk.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static const char ABOUT[] = "lockgate-contain LOCKGATE3 2\n";
/* A step of the gate ends after two seconds. */
enum { NOT_RUN = 125, MOST_PAYLOAD = 1024 * 1024, PLAN_MS = 2500 };

/* The kernel ends a sandbox whose supervisor has died; nobody is told when the last process in it has gone. */
enum { DYING_MS = 200 };

struct asked {
    char *python, *script; /* what this process becomes where it cannot go on */
    char **words;          /* what that is given */
    const char *state;
    const char *room;      /* the name of the session's room; NULL: none */
    int folder_to;         /* where the last folder is told; -1: nowhere */
};

/* ---------------------------------------------------------------- the Python program */

_Noreturn static void become_python(const struct asked *asked, bool again)
{
    static char isolated[] = "-I", bare[] = "-S", planned[] = "--again";
    size_t count = 0;
    while (asked->words[count] != NULL)
        count++;
    char **words = calloc(count + 6, sizeof *words);
    if (words != NULL) {
        char **word = words;
        *word++ = asked->python;
        *word++ = isolated;
        *word++ = bare;
        *word++ = asked->script;
        if (again)
            *word++ = planned;
        memcpy(word, asked->words, count * sizeof *words);
        execve(asked->python, words, environ);
    }
    say("the command was not run, because it cannot be contained: the interpreter cannot be started", "", "", "");
    _exit(NOT_RUN);
}

/* Finds the state folder and what else matters here. False: the Python program must say what is wrong. */
static bool read_words(struct asked *asked)
{
    static const char state[] = "--state=", folder[] = "--folder-to=", room[] = "--room=";
    asked->folder_to = -1;
    for (char **word = asked->words; *word != NULL; word++) {
        if (strcmp(*word, "--shell") == 0 || strcmp(*word, "--") == 0)
            return word[1] != NULL && asked->state != NULL && asked->state[0] == '/';
        if (strncmp(*word, state, sizeof state - 1) == 0) {
            asked->state = *word + sizeof state - 1;
        } else if (strncmp(*word, room, sizeof room - 1) == 0) {
            asked->room = *word + sizeof room - 1;
            if (!room_is_name(asked->room))
                return false;
        } else if (strncmp(*word, folder, sizeof folder - 1) == 0) {
            const char *number = *word + sizeof folder - 1;
            if (number[0] < '0' || number[0] > '9' || number[1] != '\0')
                return false;
            asked->folder_to = number[0] - '0';
        }
    }
    return false;
}

/* Whether a standard descriptor is there and leads nowhere out of a sandbox: no folder, no disk, no connection. */
static bool is_contained(int stream)
{
    struct stat found;
    if (fstat(stream, &found) != 0 || S_ISDIR(found.st_mode) || S_ISBLK(found.st_mode))
        return false;
    struct sockaddr address;
    socklen_t size = sizeof address;
    return !S_ISSOCK(found.st_mode) || (getsockname(stream, &address, &size) == 0 && address.sa_family == AF_UNIX);
}

static bool is_off(void)
{
    for (char **variable = environ; *variable != NULL; variable++)
        if (strcmp(*variable, "LOCKGATE_RESIDENT=off") == 0)
            return true;
    return false;
}

/* ---------------------------------------------------------------- asking the gate */

/* Puts a question; what is heard points into `heard`. False: there is no answer. */
static bool ask(const struct asked *asked, const char *question, const struct bytes *payload, struct bytes *heard,
                struct reply *reply)
{
    char folder[PATH_MAX];
    size_t count = 0;
    while (asked->words[count] != NULL)
        count++;
    char **words = calloc(count + 4, sizeof *words);
    int gate = words == NULL || getcwd(folder, sizeof folder) == NULL ? -1 : gate_connect(asked->state);
    if (gate < 0) {
        free(words);
        return false;
    }
    union {
        const char *given;
        char *wanted;
    } first = {.given = question};
    words[0] = first.wanted;
    words[1] = asked->script;
    words[2] = folder;
    memcpy(words + 3, asked->words, count * sizeof *words);
    struct bytes request = {0};
    uint8_t key[KEY_SIZE];
    bool whole = key_read(asked->state, key) && payload->size <= MOST_PAYLOAD && request_begin(&request, asked->script, words) &&
                 bytes_append(&request, payload->data, payload->size);
    if (whole) {
        bool gone;
        request_end(&request, payload->size);
        *reply = gate_ask(gate, key, &request, clock_ms(), PLAN_MS, heard, &gone);
    }
    close(gate);
    free(words);
    free(request.data);
    return whole && reply->kind == REPLY_ANSWER && reply->code == 0;
}

/* ---------------------------------------------------------------- what is new */

/* Asks the Python program, where there is no gate any more. */
static bool ask_python(const struct asked *asked, const struct bytes *seen, struct bytes *found)
{
    static char isolated[] = "-I", bare[] = "-S", places[] = "--places";
    size_t count = 0;
    while (asked->words[count] != NULL)
        count++;
    char **words = calloc(count + 6, sizeof *words);
    int given = memfd_create("lockgate-new", MFD_CLOEXEC), told = memfd_create("lockgate-told", MFD_CLOEXEC);
    bool done = false;
    if (words != NULL && given >= 0 && told >= 0 && write_all(given, seen->data, seen->size) && lseek(given, 0, SEEK_SET) == 0) {
        char *const first[] = {asked->python, isolated, bare, asked->script, places};
        memcpy(words, first, sizeof first);
        memcpy(words + 5, asked->words, count * sizeof *words);
        pid_t child = fork();
        if (child == 0) {
            if (dup2(given, STDIN_FILENO) == STDIN_FILENO && dup2(told, STDOUT_FILENO) == STDOUT_FILENO)
                execve(asked->python, words, environ);
            _exit(NOT_RUN);
        }
        int status = -1;
        while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
            continue;
        off_t size = child > 0 && status == 0 ? lseek(told, 0, SEEK_END) : -1;
        if (size >= 0 && bytes_reserve(found, (size_t)size + 1)) {
            ssize_t count_read = pread(told, found->data, (size_t)size, 0);
            done = count_read == (ssize_t)size;
            found->size = done ? (size_t)size : 0;
        }
    }
    if (given >= 0)
        close(given);
    if (told >= 0)
        close(told);
    free(words);
    return done;
}

static bool judge_places(void *asking, const struct bytes *seen, struct bytes *found)
{
    const struct asked *asked = asking;
    struct bytes heard = {0};
    struct reply reply;
    if (!ask(asked, "@contain-places", seen, &heard, &reply)) {
        free(heard.data);
        return ask_python(asked, seen, found);
    }
    bool whole = bytes_append(found, heard.data + REPLY_HEADER, reply.out_size);
    free(heard.data);
    return whole;
}

/* ---------------------------------------------------------------- the whole */

_Noreturn static void leave(const struct asked *asked, const struct outcome *outcome, struct places *places)
{
    if (outcome->status == STATUS_NOT_BUILT)
        become_python(asked, true);
    if (outcome->status == STATUS_DIED) {
        say("the supervisor of this contained command died, and the command with it", "", "", "");
        poll(NULL, 0, DYING_MS);
        places_finish(places);
        places_say(places);
        _exit(NOT_RUN);
    }
    if (asked->folder_to >= 0) {
        char here[PATH_MAX];
        struct stat found;
        const char *folder = outcome->folder;
        if (*folder == '\0' || stat(folder, &found) != 0 || !S_ISDIR(found.st_mode))
            folder = getcwd(here, sizeof here);
        if (folder != NULL)
            write_all(asked->folder_to, folder, strlen(folder));
    }
    _exit(outcome->status);
}

static void run(struct asked *asked)
{
    struct bytes how = {0}, seen = {0}, planned = {0}, nothing = {0};
    struct reply reply;
    struct plan plan;
    if (!ask(asked, "@contain-walk", &nothing, &how, &reply))
        return;
    struct walk *walk = walk_read(how.data + REPLY_HEADER, reply.out_size);
    if (walk == NULL)
        return;
    struct events events = {.descriptor = inotify_init1(IN_CLOEXEC | IN_NONBLOCK), .left = MOST_WATCHED};
    if (!walk_through(walk, walk_roots(walk) + 1, -1, 0, &seen, places_watch, &events))
        return;
    if (!ask(asked, "@contain-plan", &seen, &planned, &reply))
        return;
    const uint8_t *out = planned.data + REPLY_HEADER;
    if (!plan_read(&plan, out, reply.out_size, out + reply.out_size, reply.err_size))
        return;
    plan.user = getuid();
    plan.group = getgid();
    struct places *places = places_begin(walk, seen, events, judge_places, asked);
    if (places == NULL)
        return;
    const struct place_of_room where = {.state = asked->state, .name = asked->room};
    struct outcome outcome = supervise(&plan, places, &where, asked->folder_to >= 0);
    leave(asked, &outcome, places);
}

int main(int count, char **words)
{
    if (count == 2 && strcmp(words[1], "--about") == 0)
        _exit(write_all(STDOUT_FILENO, ABOUT, sizeof ABOUT - 1) ? 0 : 1);
    if (count == 2 && strcmp(words[1], "--try") == 0)
        trial();
    if (count > 1 && strcmp(words[1], "--confine") == 0)
        confine_and_become(words + 2);
    if (count < 6 || strcmp(words[1], "--python") != 0 || strcmp(words[3], "--script") != 0 || words[2][0] != '/' ||
        words[4][0] != '/') {
        say("the command was not run, because it cannot be contained: this is not what the gate writes", "", "", "");
        _exit(NOT_RUN);
    }
    namespaces_know_words(words);
    struct asked asked = {.python = words[2], .script = words[4], .words = words + 5};
    bool streams = is_contained(STDIN_FILENO) && is_contained(STDOUT_FILENO) && is_contained(STDERR_FILENO);
    if (streams && read_words(&asked) && !is_off())
        run(&asked);
    become_python(&asked, false);
}
