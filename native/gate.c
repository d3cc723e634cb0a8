#include "gate.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/types.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#ifndef MSG_NOSIGNAL
#define MSG_NOSIGNAL 0 /* macOS; SIGPIPE is ignored anyway */
#endif
#ifndef O_PATH
#define O_PATH O_RDONLY
#endif

/* After the deadline: for what no deadline is looked at, like a file system that hangs. */
/* LOOK_MS: between two looks at whether the parent is still there. */
enum { GRACE_MS = 1000, LOOK_MS = 1000, CHUNK = 1 << 16 };

int64_t clock_ms(void)
{
    struct timespec now;
    if (clock_gettime(CLOCK_MONOTONIC, &now) != 0)
        _exit(1); /* without a clock there is no deadline; the shell around this process blocks */
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

void end_after(int64_t milliseconds)
{
    struct itimerval timer = {.it_value = {.tv_sec = (time_t)(milliseconds / 1000),
                                           .tv_usec = (suseconds_t)(milliseconds % 1000 * 1000)}};
    setitimer(ITIMER_REAL, &timer, NULL);
}

/* ---------------------------------------------------------------- connecting */

static bool is_this_user(int gate)
{
#ifdef __linux__
    struct ucred peer;
    socklen_t size = sizeof peer;
    if (getsockopt(gate, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0 || size != sizeof peer)
        return false;
    return peer.uid == geteuid();
#else
    uid_t uid;
    gid_t gid;
    return getpeereid(gate, &uid, &gid) == 0 && uid == geteuid();
#endif
}

/* Connects by a path that a socket's address holds; a longer one does not fit. */
static bool connect_by(int gate, const char *folder, const char *name)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t length = strlen(folder), more = strlen(name) + 1;
    if (length >= sizeof address.sun_path || more > sizeof address.sun_path - length) {
        errno = ENAMETOOLONG;
        return false;
    }
    memcpy(address.sun_path, folder, length);
    memcpy(address.sun_path + length, name, more);
    socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length + more);
    return connect(gate, (const struct sockaddr *)&address, size) == 0;
}

/* The same from within the folder, for a path that is too long; this process's folder is what it was, afterwards. */
static bool connect_within(int gate, const char *state)
{
    int here = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (here < 0)
        return false;
    bool connected = chdir(state) == 0 && connect_by(gate, "run", "/gate.sock");
    if (fchdir(here) != 0)
        _exit(2); /* whoever decides now would look for the project in the wrong place */
    close(here);
    return connected;
}

int gate_connect(const char *state)
{
#ifdef SOCK_CLOEXEC
    int gate = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
#else
    int gate = socket(AF_UNIX, SOCK_STREAM, 0);
    if (gate >= 0)
        fcntl(gate, F_SETFD, FD_CLOEXEC);
#endif
    if (gate < 0)
        return -1;
    /* On Linux a connection waits while the gate has too many that it has not accepted. */
    struct timeval most = {.tv_sec = FIRST_MS / 1000};
    setsockopt(gate, SOL_SOCKET, SO_SNDTIMEO, &most, sizeof most);
    bool connected = connect_by(gate, state, "/run/gate.sock") || (errno == ENAMETOOLONG && connect_within(gate, state));
    if (connected && is_this_user(gate))
        return gate;
    close(gate);
    return -1;
}

/* ---------------------------------------------------------------- asking */

static pid_t parent; /* 0: nobody minds who reads */

void gate_end_unread(void)
{
    parent = getppid();
}

static void end_where_unread(short seen)
{
    if (parent != 0 && ((seen & (POLLERR | POLLHUP)) != 0 || getppid() != parent))
        _exit(2);
}

/* Waits until a socket can be read or written. False: the time is up. */
static bool ready(int gate, short events, int64_t until)
{
    for (;;) {
        int64_t left = until - clock_ms();
        if (left <= 0)
            return false;
        /* Of the output only errors are told: that its reader has gone. */
        struct pollfd watched[] = {{.fd = gate, .events = events}, {.fd = parent != 0 ? STDOUT_FILENO : -1}};
        int found = poll(watched, 2, left > LOOK_MS ? LOOK_MS : (int)left);
        if (found > 0 && watched[0].revents != 0)
            return true;
        end_where_unread(watched[1].revents);
        if (found > 0)
            return false; /* an output that cannot be waited for */
        if (found < 0 && errno != EINTR)
            return false;
    }
}

static bool again(void)
{
    return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
}

enum passed { PASSED, LATE, GONE };

/* Sends it all. The gate must take some of it every FIRST_MS, and all of it in time. */
static enum passed send_all(int gate, const struct bytes *request, int64_t until)
{
    size_t sent = 0;
    while (sent < request->size) {
        ssize_t count = send(gate, request->data + sent, request->size - sent, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (count > 0) {
            sent += (size_t)count;
            continue;
        }
        if (count < 0 && !again())
            return GONE;
        int64_t silent = clock_ms() + FIRST_MS;
        if (!ready(gate, POLLOUT, silent < until ? silent : until))
            return LATE;
    }
    return PASSED;
}

/* Receives some more. */
static enum passed receive(int gate, struct bytes *heard, size_t more, int64_t until)
{
    if (!bytes_reserve(heard, more))
        return LATE;
    for (;;) {
        if (!ready(gate, POLLIN, until))
            return LATE;
        ssize_t count = recv(gate, heard->data + heard->size, heard->room - heard->size, MSG_DONTWAIT);
        if (count > 0) {
            heard->size += (size_t)count;
            return PASSED;
        }
        if (count == 0 || !again())
            return GONE;
    }
}

/* The later of two times, and none after the last. */
static int64_t later(int64_t one, int64_t other, int64_t last)
{
    int64_t chosen = one > other ? one : other;
    return chosen < last ? chosen : last;
}

/* Whether an answer is whole but for its proof. A gate sends both at once. */
static bool lacks_proof(const struct bytes *heard, const struct reply *reply)
{
    return heard->size == reply->needs - PROOF_SIZE && heard->size >= REPLY_HEADER && heard->data[0] == 'A';
}

struct reply gate_ask(int gate, const uint8_t key[KEY_SIZE], const struct bytes *request, int64_t began,
                      int64_t first_ms, struct bytes *heard, bool *gone)
{
    const struct reply nothing = {.kind = REPLY_NONE}, forged = {.kind = REPLY_FORGED};
    struct blake2b proof;
    int64_t until = began + WHOLE_MS;
    enum passed passed = send_all(gate, request, until);
    *gone = passed == GONE;
    if (passed != PASSED)
        return nothing;
    proof_begin(&proof, key, request->data, request->size); /* while the gate decides */
    int64_t first = clock_ms() + first_ms;
    int64_t limit = first < until ? first : until;
    for (;;) {
        struct reply reply = reply_read(heard->data, heard->size);
        if (reply.kind == REPLY_PART) {
            size_t missing = reply.needs - heard->size;
            passed = receive(gate, heard, missing > CHUNK ? missing : CHUNK, limit);
            *gone = passed == GONE;
            if (passed != PASSED && lacks_proof(heard, &reply)) {
                *gone = false;
                return forged;
            }
            if (passed != PASSED)
                return nothing;
            limit = until;
            continue;
        }
        if (reply.kind != REPLY_WAIT && reply.kind != REPLY_ANSWER)
            return reply;
        if (!proof_holds(&proof, heard->data, reply.needs - PROOF_SIZE))
            return forged;
        if (reply.kind == REPLY_ANSWER)
            return reply;
        bytes_drop(heard, reply.needs);
        until = later(until, clock_ms() + reply.milliseconds + FIRST_MS, began + PATIENCE_MS);
        limit = until;
        end_after(until - clock_ms() + GRACE_MS);
    }
}
