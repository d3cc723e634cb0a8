#include "confine.h"

#include "local.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

extern char **environ;

/* See landlock(7); the headers of many machines are older than their kernels. */
enum { CREATE = 444, ADD = 445, RESTRICT = 446, VERSION = 1, BENEATH = 1, LEAST = 2, NOT_RUN = 125 };
static const uint64_t WRITE_FILE = 1 << 1, REFER = 1 << 13;

struct ruleset {
    uint64_t handled;
};

struct __attribute__((packed)) rule {
    uint64_t allowed;
    int32_t folder;
};

static long allow(int rules, int descriptor, uint64_t access)
{
    struct rule rule = {.allowed = access, .folder = descriptor};
    return syscall(ADD, rules, BENEATH, &rule, 0);
}

static bool allow_path(int rules, const char *path)
{
    struct stat found;
    int descriptor = open(path, O_PATH | O_CLOEXEC);
    if (descriptor < 0 || fstat(descriptor, &found) != 0)
        return false;
    bool done = allow(rules, descriptor, S_ISDIR(found.st_mode) ? WRITE_FILE | REFER : WRITE_FILE) == 0;
    close(descriptor);
    return done;
}

bool confine(char *const *folders, size_t count)
{
    if (syscall(CREATE, NULL, 0, VERSION) < LEAST)
        return true;
    struct ruleset handled = {.handled = WRITE_FILE | REFER};
    int rules = (int)syscall(CREATE, &handled, sizeof handled, 0);
    if (rules < 0)
        return false;
    for (size_t index = 0; index < count; index++)
        if (!allow_path(rules, folders[index]))
            return false;
    for (int stream = 0; stream <= 2; stream++)
        allow(rules, stream, WRITE_FILE); /* a pipe or a socket is in no folder and needs no rule */
    bool done = prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && syscall(RESTRICT, rules, 0) == 0;
    close(rules);
    return done;
}

static void say(const char *before, const char *what, const char *after)
{
    if (write_all(STDERR_FILENO, before, strlen(before)) && write_all(STDERR_FILENO, what, strlen(what)))
        write_all(STDERR_FILENO, after, strlen(after));
}

static const char *value_of(char *const *environment, const char *name)
{
    size_t length = strlen(name);
    for (; *environment != NULL; environment++)
        if (strncmp(*environment, name, length) == 0 && (*environment)[length] == '=')
            return *environment + length + 1;
    return NULL;
}

_Noreturn void become(char *const *command, char *const *environment)
{
    int code = 127;
    const char *program = command[0], *folders = value_of(environment, "PATH");
    if (strchr(program, '/') != NULL) {
        execve(program, command, environment);
        code = errno == EACCES || errno == EPERM ? 126 : 127;
        folders = NULL;
    } else if (folders == NULL) {
        folders = "/bin:/usr/bin";
    }
    while (folders != NULL) {
        char path[PATH_MAX];
        size_t length = strcspn(folders, ":"), more = strlen(program) + 1;
        if (length + more + 2 <= sizeof path) {
            memcpy(path, length > 0 ? folders : ".", length > 0 ? length : 1);
            size_t end = length > 0 ? length : 1;
            path[end] = '/';
            memcpy(path + end + 1, program, more);
            execve(path, command, environment);
            code = errno == EACCES || errno == EPERM ? 126 : code;
        }
        folders = folders[length] == ':' ? folders + length + 1 : NULL;
    }
    say("lockgate: cannot run '", program, "'\n");
    _exit(code);
}

_Noreturn void confine_and_become(char **words)
{
    size_t count = 0;
    dup2(ERRORS_DESCRIPTOR, STDERR_FILENO);
    close(ERRORS_DESCRIPTOR);
    while (words[count] != NULL && strcmp(words[count], "--") != 0)
        count++;
    if (words[count] == NULL || words[count + 1] == NULL || !confine(words, count)) {
        say("lockgate: the command was not run: cannot restrict what is written to: ", strerror(errno), "\n");
        _exit(NOT_RUN);
    }
    become(words + count + 1, environ);
}
