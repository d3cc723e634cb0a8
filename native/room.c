#include "room.h"

#include "namespaces.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifndef CLONE_NEWCGROUP
#define CLONE_NEWCGROUP 0x02000000
#endif
#ifndef ROOM_IDLE_MS
#define ROOM_IDLE_MS (30 * 60 * 1000)
#endif

/* MOST: connections at a time; whoever comes then has no room. LOWEST: as for a sandbox. */
enum { MOST = 250, FIXED = 3, LOWEST = 20, READY_MS = 2000, CLOSE_RANGE = 436, PIDFD_OPEN = 434, AGAIN_MS = 60000 };

/* What is said at the door. */
enum said { CALLS = 'c', STAYS = 's', GOODBYE = 'g', END = 'e', ASKS = '?' };

bool room_is_name(const char *name)
{
    return strlen(name) == ROOM_NAME && strspn(name, "0123456789abcdef") == ROOM_NAME;
}

/* ---------------------------------------------------------------- the first process */

struct holder {
    struct pollfd polled[MOST + FIXED]; /* the door, the client, a spare one; then connections */
    char state[MOST + FIXED];           /* of a connection: what it said last; 0: nothing yet */
    size_t count;
    int64_t called;                     /* when a call began or ended last */
};

static int64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_BOOTTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static size_t count_of(const struct holder *holder, char state)
{
    size_t found = 0;
    for (size_t index = FIXED; index < holder->count; index++)
        found += holder->state[index] == state;
    return found;
}

static void drop(struct holder *holder, size_t index)
{
    close(holder->polled[index].fd);
    holder->count--;
    holder->polled[index] = holder->polled[holder->count];
    holder->state[index] = holder->state[holder->count];
}

static void admit(struct holder *holder)
{
    int found = accept4(holder->polled[0].fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (found < 0)
        return;
    if (holder->count == MOST + FIXED) {
        close(found);
        return;
    }
    holder->polled[holder->count] = (struct pollfd){.fd = found, .events = POLLIN};
    holder->state[holder->count++] = 0;
}

/* Hears one byte, and the client's pidfd where one comes with it. Negative: the connection has ended. */
static int hear(struct holder *holder, int connection)
{
    char said;
    union {
        char room[CMSG_SPACE(sizeof(int))];
        struct cmsghdr aligned;
    } control;
    struct iovec part = {.iov_base = &said, .iov_len = 1};
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = control.room, .msg_controllen = sizeof control.room};
    ssize_t size = recvmsg(connection, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (size < 0 && (errno == EAGAIN || errno == EINTR))
        return 0;
    if (size <= 0)
        return -1;
    struct cmsghdr *with = CMSG_FIRSTHDR(&message);
    if (with != NULL && with->cmsg_type == SCM_RIGHTS && with->cmsg_len == CMSG_LEN(sizeof(int))) {
        if (holder->polled[1].fd >= 0)
            close(holder->polled[1].fd);
        memcpy(&holder->polled[1].fd, CMSG_DATA(with), sizeof(int));
    }
    return said;
}

static void tell(const struct holder *holder, int connection)
{
    char text[128];
    int size = snprintf(text, sizeof text, "{\"calls\": %zu, \"left\": %zu, \"idle\": %lld}\n", count_of(holder, CALLS),
                        count_of(holder, STAYS), (long long)((now_ms() - holder->called) / 1000));
    send(connection, text, (size_t)size, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static void serve(struct holder *holder, size_t index)
{
    int said = hear(holder, holder->polled[index].fd);
    if (said == 0)
        return;
    bool held = holder->state[index] == CALLS || holder->state[index] == STAYS;
    if (said == END || (said < 0 && held))
        _exit(0); /* the kernel ends every process in here */
    if (said == CALLS || held)
        holder->called = now_ms();
    if (said == CALLS || said == STAYS)
        holder->state[index] = (char)said;
    else if (said == ASKS)
        tell(holder, holder->polled[index].fd);
    else
        drop(holder, index);
}

/* Whether nobody needs the room any more: no call for so long, and nobody there who could make one, or nothing left. */
static bool is_over(const struct holder *holder)
{
    if (count_of(holder, CALLS) > 0 || now_ms() - holder->called < ROOM_IDLE_MS)
        return false;
    struct pollfd client = {.fd = holder->polled[1].fd, .events = POLLIN};
    bool gone = client.fd < 0 || (poll(&client, 1, 0) == 1 && client.revents != 0);
    return gone || count_of(holder, STAYS) == 0;
}

_Noreturn static void hold(int door)
{
    static struct holder holder;
    holder.polled[0] = (struct pollfd){.fd = door, .events = POLLIN};
    holder.polled[1].fd = holder.polled[2].fd = -1;
    holder.count = FIXED;
    holder.called = now_ms();
    for (;;) {
        int64_t left = ROOM_IDLE_MS - (now_ms() - holder.called);
        int wait = left > AGAIN_MS ? AGAIN_MS : left > 0 ? (int)left : ROOM_IDLE_MS > AGAIN_MS ? AGAIN_MS : ROOM_IDLE_MS;
        holder.polled[1].events = 0; /* its end is looked at when it matters */
        if (is_over(&holder))
            _exit(0);
        int client = holder.polled[1].fd;
        holder.polled[1].fd = -1;
        int found = poll(holder.polled, holder.count, wait);
        holder.polled[1].fd = client;
        if (found < 0 && errno != EINTR)
            _exit(1);
        if (found <= 0)
            continue;
        for (size_t index = holder.count; index-- > FIXED;)
            if (holder.polled[index].revents != 0)
                serve(&holder, index);
        if (holder.polled[0].revents != 0)
            admit(&holder);
    }
}

static void close_all_but(int one, int other)
{
    int low = one < other ? one : other, high = one < other ? other : one;
    if (low > 0)
        syscall(CLOSE_RANGE, 0, low - 1, 0);
    if (high > low + 1)
        syscall(CLOSE_RANGE, low + 1, high - 1, 0);
    syscall(CLOSE_RANGE, high + 1, UINT_MAX, 0);
}

/* Nobody is told that it stands before it listens: then its number is that of whoever listens, by SO_PEERCRED. */
_Noreturn static void be_first(int door, int ready, unsigned int user, unsigned int group)
{
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, NULL);
    signal(SIGCHLD, SIG_IGN); /* what is left to it is reaped by the kernel */
    close_all_but(door, ready);
    for (int stream = 0; stream <= 2; stream++)
        open("/dev/null", O_RDWR);
    setsid();
    namespaces_hide_words();
    namespaces_map(user, group);
    namespaces_loopback();
    namespaces_drop();
    if (chdir("/") != 0 || listen(door, MOST) != 0 || write(ready, "r", 1) != 1)
        _exit(1);
    close(ready);
    hold(door);
}

/* ---------------------------------------------------------------- entering */

static int raised(int descriptor)
{
    int high = descriptor < 0 ? -1 : fcntl(descriptor, F_DUPFD_CLOEXEC, LOWEST);
    if (descriptor >= 0)
        close(descriptor);
    return high;
}

/* The folder of the doors, which is this user's alone. */
static int open_doors(const char *state)
{
    char path[PATH_MAX];
    struct stat found;
    if (snprintf(path, sizeof path, "%s/rooms", state) >= (int)sizeof path || (mkdir(path, 0700) != 0 && errno != EEXIST))
        return -1;
    int folder = open(path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (folder >= 0 && fstat(folder, &found) == 0 && found.st_uid == geteuid() && (found.st_mode & 077) == 0)
        return folder;
    if (folder >= 0)
        close(folder);
    return -1;
}

static struct sockaddr_un address_of(int folder, const char *name)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "/proc/self/fd/%d/%s", folder, name);
    return address;
}

static int connect_to(int folder, const char *name)
{
    struct sockaddr_un address = address_of(folder, name);
    int door = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (door >= 0 && connect(door, (const struct sockaddr *)&address, sizeof address) == 0)
        return door;
    if (door >= 0)
        close(door);
    return -1;
}

/* Makes the room. This process is not its parent: it may end, and the room stays. */
static bool make(int folder, const char *name)
{
    struct sockaddr_un address = address_of(folder, name);
    int door = raised(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)), ends[2];
    unsigned int user = getuid(), group = getgid();
    unlinkat(folder, name, 0);
    if (door < 0)
        return false;
    if (bind(door, (const struct sockaddr *)&address, sizeof address) != 0 || pipe2(ends, O_CLOEXEC) != 0) {
        close(door);
        return false;
    }
    ends[1] = raised(ends[1]);
    pid_t between = fork();
    if (between == 0) {
        const unsigned long shared = CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET;
        if (syscall(SYS_clone, shared | SIGCHLD, NULL, NULL, NULL, NULL) == 0)
            be_first(door, ends[1], user, group);
        _exit(0);
    }
    close(door);
    close(ends[1]);
    char ready;
    struct pollfd polled = {.fd = ends[0], .events = POLLIN};
    bool made = between > 0 && poll(&polled, 1, READY_MS) == 1 && read(ends[0], &ready, 1) == 1;
    close(ends[0]);
    while (between > 0 && waitpid(between, NULL, 0) < 0 && errno == EINTR)
        continue;
    return made;
}

/* Connects, and makes the room where nobody answers: one process at a time, or two would be made. */
static int come_to(int folder, const char *name)
{
    char guarded[ROOM_NAME + 8];
    int door = connect_to(folder, name);
    if (door >= 0)
        return door;
    snprintf(guarded, sizeof guarded, "%s.lock", name);
    int lock = raised(openat(folder, guarded, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (lock < 0 || flock(lock, LOCK_EX) != 0)
        return -1;
    door = connect_to(folder, name);
    if (door < 0 && make(folder, name))
        door = connect_to(folder, name);
    close(lock);
    return door;
}

static bool say_calls(int door, int client)
{
    char said = CALLS;
    union {
        char room[CMSG_SPACE(sizeof(int))];
        struct cmsghdr aligned;
    } control = {.room = {0}};
    struct iovec part = {.iov_base = &said, .iov_len = 1};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    if (client >= 0) {
        message.msg_control = control.room;
        message.msg_controllen = sizeof control.room;
        struct cmsghdr *with = CMSG_FIRSTHDR(&message);
        with->cmsg_level = SOL_SOCKET;
        with->cmsg_type = SCM_RIGHTS;
        with->cmsg_len = CMSG_LEN(sizeof(int));
        memcpy(CMSG_DATA(with), &client, sizeof(int));
    }
    return sendmsg(door, &message, MSG_NOSIGNAL) == 1;
}

/* The process behind the door. That it still has its end open once its pidfd is there proves that it is this very one. */
static int first_of(int door)
{
    struct ucred peer;
    socklen_t size = sizeof peer;
    if (getsockopt(door, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0 || peer.uid != geteuid() || peer.pid <= 1)
        return -1;
    int first = raised((int)syscall(PIDFD_OPEN, peer.pid, 0));
    struct pollfd polled[] = {{.fd = door, .events = POLLIN}, {.fd = first, .events = POLLIN}};
    if (first >= 0 && poll(polled, 2, 0) == 0)
        return first;
    if (first >= 0)
        close(first);
    return -1;
}

bool room_enter(struct room *room, const char *state, const char *name, int client)
{
    *room = (struct room){.door = -1, .first = -1};
    int folder = room_is_name(name) ? open_doors(state) : -1;
    if (folder >= 0) {
        room->door = raised(come_to(folder, name));
        close(folder);
    }
    if (room->door >= 0 && say_calls(room->door, client))
        room->first = first_of(room->door);
    if (client >= 0)
        close(client);
    if (room->first >= 0)
        return true;
    room_leave(room, true);
    return false;
}

static void say_at(int door, enum said what)
{
    char said = (char)what;
    send(door, &said, 1, MSG_NOSIGNAL);
}

void room_stays(const struct room *room)
{
    say_at(room->door, STAYS);
}

void room_leave(struct room *room, bool goodbye)
{
    if (room->door >= 0 && goodbye)
        say_at(room->door, GOODBYE);
    if (room->door >= 0)
        close(room->door);
    if (room->first >= 0)
        close(room->first);
    *room = (struct room){.door = -1, .first = -1};
}

pid_t room_fork(const struct room *room)
{
    const unsigned long own = CLONE_NEWNS | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP;
    pid_t pid = -1;
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        return -1;
    pid_t between = fork();
    if (between == 0) {
        if (setns(room->first, CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET) != 0)
            _exit(1);
        /* Who is in a namespace of processes is decided at birth; its parent is the supervisor, outside. */
        pid = (pid_t)syscall(SYS_clone, own | CLONE_PARENT | SIGCHLD, NULL, NULL, NULL, NULL);
        if (pid == 0)
            return 0;
        _exit(write(ends[1], &pid, sizeof pid) == (ssize_t)sizeof pid ? 0 : 1);
    }
    close(ends[1]);
    if (between < 0 || read(ends[0], &pid, sizeof pid) != (ssize_t)sizeof pid)
        pid = -1;
    close(ends[0]);
    while (between > 0 && waitpid(between, NULL, 0) < 0 && errno == EINTR)
        continue;
    return pid;
}
