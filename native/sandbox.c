#include "sandbox.h"

#include "bytes.h"
#include "confine.h"
#include "local.h"
#include "namespaces.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* Descriptors of the process that builds the sandbox, and a number below which this one has none of its own. */
enum { ARGUMENTS = 10, FILTER = 11, STATUS = 12, ORDERS = 13, LOWEST = 20 };
enum { GONE_MS = 10000, ENDED_MS = 2000, CLOSE_RANGE = 436, PIDFD_OPEN = 434 };

/* Signals that this program handles, ignores or blocks, and a command does not expect to be so. */
static const int OWN_SIGNALS[] = {SIGPIPE, SIGXFSZ, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGALRM};

/* ---------------------------------------------------------------- starting */

static void close_from(unsigned int first, unsigned int last)
{
    if (syscall(CLOSE_RANGE, first, last, 0) == 0)
        return;
    for (unsigned int descriptor = first; descriptor <= last && descriptor < 1u << 16; descriptor++)
        close((int)descriptor);
}

static int raised(int descriptor)
{
    int high = descriptor < 0 ? -1 : fcntl(descriptor, F_DUPFD_CLOEXEC, LOWEST);
    if (descriptor >= 0)
        close(descriptor);
    return high;
}

/* A file in memory, read from its beginning. */
static int in_memory(const void *data, size_t size)
{
    int file = raised(memfd_create("lockgate", MFD_CLOEXEC));
    if (file >= 0 && write_all(file, data, size) && lseek(file, 0, SEEK_SET) == 0)
        return file;
    if (file >= 0)
        close(file);
    return -1;
}

static bool put_words(struct bytes *bytes, const struct list *list)
{
    bool whole = true;
    for (size_t index = 0; whole && index < list->count; index++)
        whole = bytes_append(bytes, list->words[index], strlen(list->words[index]) + 1);
    return whole;
}

/* The options of bubblewrap, in a file. */
static int options_of(const struct plan *plan)
{
    static const char own[] = "--seccomp\0" "11\0" "--json-status-fd\0" "12";
    struct bytes bytes = {0};
    int file = -1;
    if (bytes_append(&bytes, own, sizeof own) && put_words(&bytes, &plan->options))
        file = in_memory(bytes.data, bytes.size);
    free(bytes.data);
    return file;
}

/* The words that start bubblewrap, and in it this very program, and in that the command. */
static char **words_of(const struct plan *plan)
{
    static char self[PATH_MAX], given[] = "--args", number[] = "10", end[] = "--", confined[] = "--confine";
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    char **words = calloc(plan->writable.count + plan->command.count + 8, sizeof *words);
    if (words == NULL || length <= 0)
        return NULL;
    union {
        const char *given;
        char *wanted;
    } program = {.given = plan->program};
    char **word = words;
    *word++ = program.wanted;
    *word++ = given;
    *word++ = number;
    *word++ = end;
    *word++ = self;
    *word++ = confined;
    for (size_t index = 0; index < plan->writable.count; index++)
        *word++ = plan->writable.words[index];
    *word++ = end;
    for (size_t index = 0; index < plan->command.count; index++)
        *word++ = plan->command.words[index];
    return words;
}

static bool given_as(int descriptor, int number)
{
    return descriptor < 0 || dup2(descriptor, number) == number;
}

/* What bubblewrap says of itself is nothing that the command says: the command gets its own descriptor 2 back. Where no
 * sandbox is built, the Python program tries again, and says what is wrong. */
static bool set_errors_aside(void)
{
    int nothing = open("/dev/null", O_WRONLY | O_CLOEXEC);
    return nothing >= 0 && dup2(STDERR_FILENO, ERRORS_DESCRIPTOR) == ERRORS_DESCRIPTOR &&
           dup2(nothing, STDERR_FILENO) == STDERR_FILENO;
}

/* Whether the supervisor knows this process: one that it does not know must not run anything. */
static bool is_wanted(int orders)
{
    char begin;
    return orders < 0 || read(orders, &begin, 1) == 1;
}

_Noreturn static void be_sandbox(const struct plan *plan, char **words, int options, int filter, int status,
                                 int folder_to, int orders, const sigset_t *mask)
{
    /* The other ends of its pipes are closed by numbers, before it waits for anything. */
    bool in_room = orders >= 0;
    for (size_t index = 0; index < sizeof OWN_SIGNALS / sizeof *OWN_SIGNALS; index++)
        signal(OWN_SIGNALS[index], SIG_DFL);
    sigprocmask(SIG_SETMASK, mask, NULL);
    bool quiet = !plan->by_program || set_errors_aside();
    bool given = quiet && given_as(folder_to, FOLDER_DESCRIPTOR) && given_as(options, ARGUMENTS) && given_as(filter, FILTER) &&
                 given_as(status, STATUS) && given_as(orders, ORDERS) && chdir("/") == 0;
    if (!given || prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) != 0)
        _exit(127);
    struct pollfd parent = {.fd = status, .events = POLLOUT};
    if (poll(&parent, 1, 0) != 1 || parent.revents & (POLLERR | POLLHUP))
        _exit(127); /* it died before, and nobody would end this one */
    close_from(3, ERRORS_DESCRIPTOR - 1);
    if (!plan->by_program)
        close(ERRORS_DESCRIPTOR);
    if (folder_to < 0)
        close(FOLDER_DESCRIPTOR);
    close_from(in_room ? ORDERS + 1 : ORDERS, UINT_MAX);
    if (!is_wanted(in_room ? ORDERS : -1))
        _exit(127);
    if (plan->by_program)
        execve(plan->program, words, plan->environment.words);
    else
        namespaces_become(plan, STATUS, folder_to >= 0 ? FOLDER_DESCRIPTOR : -1, in_room ? ORDERS : -1, mask);
    static const char why[] = "lockgate: the program that builds the sandbox cannot be started\n";
    write_all(STDERR_FILENO, why, sizeof why - 1);
    _exit(127);
}

/* Forks the process that builds the sandbox: in the room, where there is one that takes it. */
static pid_t fork_in(struct sandbox *sandbox, const struct plan *plan, int *orders)
{
    int ends[2];
    if (plan->by_program || sandbox->room.door < 0) {
        room_leave(&sandbox->room, true);
        return plan->by_program ? fork() : namespaces_fork();
    }
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0) {
        sandbox->orders = raised(ends[0]);
        *orders = raised(ends[1]);
        pid_t pid = room_fork(&sandbox->room);
        if (pid >= 0)
            return pid;
        close(sandbox->orders);
        close(*orders);
        sandbox->orders = *orders = -1;
    }
    room_leave(&sandbox->room, true);
    return namespaces_fork();
}

bool sandbox_start(struct sandbox *sandbox, const struct plan *plan, int folder_to, const sigset_t *mask,
                   struct room room)
{
    static const char begin = 'b';
    int ends[2], options = -1, filter = -1, orders = -1;
    char **words = NULL;
    *sandbox = (struct sandbox){.ended = -1, .told = -1, .gone = -1, .room = room, .orders = -1, .code = -1};
    if (plan->by_program) {
        words = words_of(plan);
        options = options_of(plan);
        filter = in_memory(plan->filter, plan->filter_size);
        if (words == NULL || options < 0 || filter < 0)
            return false;
    }
    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0)
        return false;
    ends[0] = raised(ends[0]);
    ends[1] = raised(ends[1]);
    folder_to = folder_to < 0 ? -1 : raised(dup(folder_to));
    pid_t pid = fork_in(sandbox, plan, &orders);
    if (pid == 0)
        be_sandbox(plan, words, options, filter, ends[1], folder_to, orders, mask);
    close(ends[1]);
    close(options);
    close(filter);
    close(folder_to);
    close(orders);
    free(words);
    if (pid < 0)
        return false;
    sandbox->pid = pid;
    sandbox->by_program = plan->by_program;
    sandbox->first = plan->by_program ? 0 : pid;
    sandbox->told = ends[0];
    sandbox->ended = (int)syscall(PIDFD_OPEN, pid, 0);
    if (sandbox->ended >= 0 && (sandbox->orders < 0 || write(sandbox->orders, &begin, 1) == 1))
        return true;
    sandbox_kill(sandbox);
    return false;
}

/* ---------------------------------------------------------------- looking after it */

/* What is told in a room: one byte, and later perhaps two. */
static void hear_from_room(struct sandbox *sandbox)
{
    unsigned char said[4];
    ssize_t size = read(sandbox->told, said, sizeof said);
    if (size < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    for (ssize_t index = 0; index < size; index++) {
        if (said[index] == NAMESPACES_STAND && !sandbox->stands) {
            sandbox->stands = true;
        } else if (said[index] == NAMESPACES_LEFT && sandbox->stands && index + 1 < size) {
            sandbox->code = said[index + 1];
            size = 0;
        }
    }
    if (size <= 0) {
        close(sandbox->told);
        sandbox->told = -1;
    }
}

/* Bubblewrap tells of its first process before it mounts anything, and of an exit code only where it started the command. */
static void hear_from_program(struct sandbox *sandbox, const char *text)
{
    static const char name[] = "\"child-pid\"", code[] = "\"exit-code\"";
    const char *found = sandbox->first > 0 ? NULL : strstr(text, name);
    if (found != NULL) {
        found += sizeof name - 1;
        sandbox->first = (pid_t)strtol(found + strspn(found, ": "), NULL, 10);
        sandbox->gone = sandbox->first > 0 ? (int)syscall(PIDFD_OPEN, sandbox->first, 0) : -1;
        sandbox->stands = sandbox->first > 0;
    }
    sandbox->begun = sandbox->begun || strstr(text, code) != NULL;
}

void sandbox_hear(struct sandbox *sandbox)
{
    char text[256];
    if (sandbox->told >= 0 && sandbox->orders >= 0)
        hear_from_room(sandbox);
    bool heard = sandbox->stands && !(sandbox->by_program && sandbox->reaped);
    if (sandbox->told < 0 || heard || sandbox->orders >= 0)
        return;
    /* It is less than a pipe takes at once, and written at once. More may follow, so that the pipe stays open. */
    ssize_t size = read(sandbox->told, text, sizeof text - 1);
    if (size < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    text[size > 0 ? size : 0] = '\0';
    if (sandbox->by_program)
        hear_from_program(sandbox, text);
    else
        sandbox->stands = strchr(text, NAMESPACES_STAND) != NULL;
    if (size <= 0)
        sandbox->told = -1;
}

bool sandbox_signal(struct sandbox *sandbox, int number)
{
    char path[64], text[4096];
    sandbox_hear(sandbox);
    if (!sandbox->stands)
        return false;
    snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)sandbox->first, (int)sandbox->first);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t size = file < 0 ? 0 : read(file, text, sizeof text - 1);
    if (file >= 0)
        close(file);
    text[size > 0 ? size : 0] = '\0';
    bool sent = false;
    for (char *next = text; *next >= '0' && *next <= '9'; next += strspn(next, " ")) {
        pid_t child = (pid_t)strtol(next, &next, 10);
        if (child > 1 && kill(-child, number) != 0)
            kill(child, number);
        sent = true;
    }
    return sent;
}

static void reap(struct sandbox *sandbox)
{
    while (!sandbox->reaped && waitpid(sandbox->pid, &sandbox->status, 0) < 0 && errno == EINTR)
        continue;
    sandbox->reaped = true;
}

/* Has the process that looks after a command in a room end all of it. Whoever does not end is ended with the room. */
static void end_in_room(struct sandbox *sandbox)
{
    close(sandbox->orders);
    struct pollfd ended = {.fd = sandbox->ended, .events = POLLIN};
    if (!sandbox->reaped && (sandbox->ended < 0 || poll(&ended, 1, ENDED_MS) != 1))
        kill(sandbox->pid, SIGKILL);
    reap(sandbox);
    sandbox_hear(sandbox);
    /* One that was killed leaves what it looked after: if it stood already, there is somebody's command. */
    room_leave(&sandbox->room, WIFEXITED(sandbox->status) || !sandbox->stands);
    sandbox->orders = -1;
}

void sandbox_kill(struct sandbox *sandbox)
{
    if (sandbox->pid <= 0)
        return;
    sandbox_hear(sandbox);
    if (sandbox->orders >= 0)
        end_in_room(sandbox);
    if (!sandbox->reaped) {
        kill(sandbox->pid, SIGKILL);
        reap(sandbox);
    }
    if (sandbox->gone >= 0) {
        struct pollfd gone = {.fd = sandbox->gone, .events = POLLIN};
        poll(&gone, 1, GONE_MS);
    }
}

int sandbox_wait(struct sandbox *sandbox)
{
    reap(sandbox);
    sandbox_hear(sandbox);
    bool begun = sandbox->stands && (!sandbox->by_program || sandbox->begun || WIFSIGNALED(sandbox->status));
    if (!begun)
        return -1;
    return WIFSIGNALED(sandbox->status) ? 128 + WTERMSIG(sandbox->status) : WEXITSTATUS(sandbox->status);
}
