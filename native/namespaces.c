#include "namespaces.h"

#include "confine.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef CLONE_NEWCGROUP
#define CLONE_NEWCGROUP 0x02000000
#endif

/* The headers of many machines are older than their kernels: mount_setattr(2), capset(2). */
enum { MOUNT_SETATTR = 442, RECURSIVE = 0x8000, READ_ONLY = 1, NO_SETUID = 2, NO_DEVICES = 4, NOT_RUN = 125 };
enum { CAPABILITIES = 0x20080522, BASE_MODE = 0755 };
static const char BASE[] = "/tmp"; /* any folder that is there: a file system in memory covers it at once */

_Noreturn static void fail(const char *what, const char *which)
{
    dprintf(STDERR_FILENO, "lockgate: cannot %s %s: %s\n", what, which, strerror(errno));
    _exit(NOT_RUN);
}

static void check(long done, const char *what, const char *which)
{
    if (done < 0)
        fail(what, which);
}

static void write_text(const char *path, const char *text)
{
    int file = open(path, O_WRONLY | O_CLOEXEC);
    check(file, "open", path);
    check(write(file, text, strlen(text)), "write to", path);
    close(file);
}

/* ---------------------------------------------------------------- the file system */

static void put_mount(const char *source, const char *target, const char *kind, unsigned long flags, const char *options)
{
    check(mount(source, target, kind, flags, options), "mount", target);
}

static void restrict_mount(const char *target, uint64_t flags)
{
    struct {
        uint64_t set, clear, propagation, users;
    } attributes = {.set = flags};
    check(syscall(MOUNT_SETATTR, AT_FDCWD, target, RECURSIVE, &attributes, sizeof attributes), "restrict", target);
}

/* Makes a folder with all that lie above it. */
static void make_folders(char *path)
{
    for (char *slash = path + 1; (slash = strchr(slash, '/')) != NULL; slash++) {
        *slash = '\0';
        mkdir(path, 0777);
        *slash = '/';
    }
    struct stat found;
    if (mkdir(path, 0777) != 0 && (errno != EEXIST || stat(path, &found) != 0 || !S_ISDIR(found.st_mode)))
        fail("make", path);
}

static void make_file(char *path)
{
    struct stat found;
    if (lstat(path, &found) == 0)
        return;
    char *last = strrchr(path, '/');
    *last = '\0';
    make_folders(path);
    *last = '/';
    int file = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    check(file, "make", path);
    close(file);
}

static void bind_mount(const char *source, char *target, bool read_only)
{
    struct stat found;
    if (stat(source, &found) == 0 && S_ISDIR(found.st_mode))
        make_folders(target);
    else
        make_file(target);
    put_mount(source, target, NULL, MS_BIND | MS_REC, NULL);
    restrict_mount(target, NO_SETUID | NO_DEVICES | (read_only ? READ_ONLY : 0));
}

static void make_devices(char *target)
{
    static const char *const nodes[] = {"null", "zero", "full", "random", "urandom", "tty"};
    static const char *const links[][2] = {
        {"/proc/self/fd/0", "stdin"}, {"/proc/self/fd/1", "stdout"}, {"/proc/self/fd/2", "stderr"},
        {"/proc/self/fd", "fd"},      {"pts/ptmx", "ptmx"},
    };
    make_folders(target);
    put_mount("tmpfs", target, "tmpfs", MS_NOSUID, "mode=0755");
    check(chdir(target), "go to", target);
    for (size_t index = 0; index < sizeof nodes / sizeof *nodes; index++) {
        char source[32];
        int node = open(nodes[index], O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
        check(node, "make", nodes[index]);
        close(node);
        snprintf(source, sizeof source, "/old/dev/%s", nodes[index]);
        put_mount(source, nodes[index], NULL, MS_BIND, NULL);
    }
    check(mkdir("shm", 0777), "make", "shm");
    check(mkdir("pts", 0777), "make", "pts");
    put_mount("devpts", "pts", "devpts", MS_NOSUID | MS_NOEXEC, "newinstance,ptmxmode=0666,mode=620");
    for (size_t index = 0; index < sizeof links / sizeof *links; index++)
        check(symlink(links[index][0], links[index][1]), "link", links[index][1]);
}

static void place(const char *kind, const char *where, const char *what)
{
    char target[PATH_MAX], source[PATH_MAX];
    int length = snprintf(target, sizeof target, "/new%s", where);
    int other = snprintf(source, sizeof source, "/old%s", what);
    if (length >= (int)sizeof target || other >= (int)sizeof source) {
        errno = ENAMETOOLONG;
        fail("mount", where);
    }
    while (length > 4 && target[length - 1] == '/')
        target[--length] = '\0';
    if (strcmp(kind, "read-only") == 0 || strcmp(kind, "writable") == 0) {
        bind_mount(source, target, kind[0] == 'r');
    } else if (strcmp(kind, "devices") == 0) {
        make_devices(target);
    } else if (strcmp(kind, "empty") == 0 || strcmp(kind, "shared") == 0) {
        make_folders(target);
        put_mount("tmpfs", target, "tmpfs", MS_NOSUID | MS_NODEV, kind[0] == 'e' ? "mode=0755" : "mode=1777");
    } else if (strcmp(kind, "queues") == 0) {
        make_folders(target);
        put_mount("mqueue", target, "mqueue", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL);
    } else if (strcmp(kind, "processes") == 0) {
        put_mount("proc", target, "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL);
    } else {
        errno = EINVAL;
        fail("mount a kind named", kind);
    }
}

static void pivot(const char *new_root, const char *put_old)
{
    check(syscall(SYS_pivot_root, new_root, put_old), "change", "the file system");
}

/* Builds the file system beside the old one, and changes to it for good. */
static void build(const struct list *mounts)
{
    put_mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL);
    put_mount("tmpfs", BASE, "tmpfs", MS_NOSUID | MS_NODEV, NULL);
    check(chdir(BASE), "go to", BASE);
    check(mkdir("old", BASE_MODE), "make", "old");
    check(mkdir("new", BASE_MODE), "make", "new");
    pivot(BASE, "old");
    for (size_t index = 0; index + 2 < mounts->count; index += 3)
        place(mounts->words[index], mounts->words[index + 1], mounts->words[index + 2]);
    check(chdir("/new"), "go to", "/new");
    pivot(".", ".");
    check(umount2(".", MNT_DETACH), "leave", "the old file system");
    check(chdir("/"), "go to", "/");
}

/* ---------------------------------------------------------------- privileges */

void namespaces_loopback(void)
{
    struct ifreq request = {.ifr_name = "lo"};
    int channel = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    check(channel, "make", "a socket");
    request.ifr_flags = IFF_UP | IFF_RUNNING;
    check(ioctl(channel, SIOCSIFFLAGS, &request), "bring up", "loopback");
    close(channel);
}

void namespaces_drop(void)
{
    int capability = 0;
    while (prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) == 0)
        capability++;
    check(capability > 0 ? 0 : -1, "drop", "capabilities");
    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
    struct {
        uint32_t version;
        int32_t pid;
    } header = {.version = CAPABILITIES};
    uint32_t nothing[6] = {0};
    check(syscall(SYS_capset, &header, nothing), "give up", "capabilities");
    check(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "refuse", "new privileges");
}

/* This process is a copy of the launcher, with the whole environment of the client in its memory: that is nobody's to read. */
static void hide_memory(void)
{
    check(prctl(PR_SET_DUMPABLE, 0, 0, 0, 0), "hide", "the memory of the first process");
}

static void filter_calls(const struct plan *plan)
{
    struct sock_filter code[4096];
    size_t count = plan->filter_size / sizeof *code;
    memcpy(code, plan->filter, count * sizeof *code);
    struct sock_fprog program = {.len = (unsigned short)count, .filter = code};
    check(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0), "filter", "system calls");
}

/* ---------------------------------------------------------------- processes */

static char *first_word;
static size_t words_size;

void namespaces_know_words(char **words)
{
    char *end = words[0];
    for (char **word = words; *word != NULL && *word == end; word++)
        end = *word + strlen(*word) + 1;
    first_word = words[0];
    words_size = (size_t)(end - words[0]);
}

void namespaces_hide_words(void)
{
    if (first_word != NULL)
        memset(first_word, 0, words_size);
}

static int code_of(int status)
{
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/* Reaps every process that is left to the first one, until the command has ended. */
_Noreturn static void wait_for(pid_t command)
{
    int status = 0;
    for (;;) {
        pid_t pid = wait(&status);
        if (pid == command)
            _exit(code_of(status));
        if (pid < 0 && errno != EINTR)
            _exit(NOT_RUN);
    }
}

/* Ends the processes that were left to this one. None of their numbers is another's before it is waited for. */
static void kill_children(void)
{
    char text[4096];
    int file = open("/proc/thread-self/children", O_RDONLY | O_CLOEXEC);
    ssize_t size = file < 0 ? 0 : read(file, text, sizeof text - 1);
    if (file >= 0)
        close(file);
    text[size > 0 ? size : 0] = '\0';
    for (char *next = text; *next >= '0' && *next <= '9'; next += strspn(next, " ")) {
        long child = strtol(next, &next, 10);
        if (child > 1 && (*next == ' ' || *next == '\0'))
            kill((pid_t)child, SIGKILL);
    }
}

/* The same in a room, where other commands are too: reaps what is left of this one, and ends it where that is told. */
_Noreturn static void look_after(pid_t command, int orders, int status, bool stays)
{
    enum { AGAIN_MS = 2 };
    sigset_t ends;
    sigemptyset(&ends);
    sigaddset(&ends, SIGCHLD);
    int children = signalfd(-1, &ends, SFD_CLOEXEC | SFD_NONBLOCK);
    bool ended = false, told = false, ending = children < 0;
    unsigned char news[] = {NAMESPACES_LEFT, NOT_RUN};
    for (;;) {
        int how;
        pid_t pid;
        while ((pid = waitpid(-1, &how, WNOHANG)) > 0) {
            if (pid == command) {
                ended = true;
                news[1] = (unsigned char)code_of(how);
            }
        }
        if (pid < 0 && errno == ECHILD)
            _exit(news[1]);
        if (ended && !told)
            ending = ending || !stays || write(status, news, sizeof news) != (ssize_t)sizeof news;
        told = ended;
        if (ending)
            kill_children();
        struct pollfd polled[] = {{.fd = ending ? -1 : orders, .events = POLLIN}, {.fd = children, .events = POLLIN}};
        poll(polled, 2, ending ? AGAIN_MS : -1);
        ending = ending || polled[0].revents != 0;
        struct signalfd_siginfo signalled;
        while (children >= 0 && read(children, &signalled, sizeof signalled) > 0)
            continue;
    }
}

pid_t namespaces_fork(void)
{
    const unsigned long new = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS |
                              CLONE_NEWCGROUP;
    return (pid_t)syscall(SYS_clone, new | SIGCHLD, NULL, NULL, NULL, NULL);
}

/* Is the same user inside, who is nobody else. */
void namespaces_map(unsigned int user, unsigned int group)
{
    char map[64];
    write_text("/proc/self/setgroups", "deny");
    snprintf(map, sizeof map, "%u %u 1", user, user);
    write_text("/proc/self/uid_map", map);
    snprintf(map, sizeof map, "%u %u 1", group, group);
    write_text("/proc/self/gid_map", map);
}

/*
 * A user namespace of the command's own, below the one that the file system was built in. So no command of a room may look
 * into a process of another one. And the mounts are locked to each other: through a descriptor of a folder that another
 * command was given, what is read-only or hidden below it stays so, also when this command has ended.
 */
static void part(const struct plan *plan)
{
    check(unshare(CLONE_NEWUSER | CLONE_NEWNS), "part", "the command from others");
    namespaces_map(plan->user, plan->group);
}

_Noreturn void namespaces_become(const struct plan *plan, int status, int keep, int orders, const sigset_t *mask)
{
    static const char stands = NAMESPACES_STAND;
    bool in_room = orders >= 0;
    if (in_room) {
        sigset_t all;
        sigfillset(&all);
        sigprocmask(SIG_BLOCK, &all, NULL);
        namespaces_hide_words();
    } else {
        namespaces_map(plan->user, plan->group);
        namespaces_loopback();
    }
    build(&plan->mounts);
    part(plan);
    write_text("/proc/sys/user/max_user_namespaces", "0");
    for (size_t index = 0; index < plan->settings.count; index++) {
        put_mount(plan->settings.words[index], plan->settings.words[index], NULL, MS_BIND | MS_REC, NULL);
        restrict_mount(plan->settings.words[index], READ_ONLY);
    }
    namespaces_drop();
    hide_memory();
    if (!confine(plan->writable.words, plan->writable.count))
        fail("restrict", "what is written to");
    filter_calls(plan);
    check(in_room ? prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) : 0, "look after", "what the command leaves");
    check(write(status, &stands, 1), "say that", "the sandbox stands");
    if (!in_room)
        close(status);
    pid_t command = fork();
    check(command, "start", "the command");
    if (command == 0) {
        if (in_room) {
            close(status);
            close(orders);
            sigprocmask(SIG_SETMASK, mask, NULL);
        }
        setsid();
        check(chdir(plan->cwd), "go to", plan->cwd);
        become(plan->command.words, plan->environment.words);
    }
    for (int stream = 0; stream <= 2; stream++)
        close(stream);
    if (keep >= 0)
        close(keep);
    if (in_room)
        look_after(command, orders, status, plan->stays);
    wait_for(command);
}
