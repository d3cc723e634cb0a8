#include "supervise.h"

#include "gate.h"
#include "local.h"
#include "sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static const int PASSED_ON[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2};
enum { LOOK_MS = 100, LOOKS_SHARE = 20, SIGNAL_MS = 10, MOST_DUE = 64, ENDED_BY_FAULT = 125, CLOSE_RANGE = 436 };
/* How often all is looked at while only what a command has left behind goes on. */
enum { LEFT_LOOK_MS = 10000 };

/* ---------------------------------------------------------------- the supervisor */

struct watching {
    struct sandbox sandbox;
    struct places *places;
    int channel;
    uint8_t due[MOST_DUE]; /* signals that came before the command was there */
    size_t due_count;
    int64_t next_look;     /* before that, nothing new is looked at */
};

/* Hears signals to pass on. False: the process that the client waited for is gone. */
static bool hear_signals(struct watching *watching)
{
    size_t room = MOST_DUE - watching->due_count;
    uint8_t other[MOST_DUE];
    ssize_t count = room > 0 ? recv(watching->channel, watching->due + watching->due_count, room, MSG_DONTWAIT)
                             : recv(watching->channel, other, sizeof other, MSG_DONTWAIT);
    if (count > 0 && room > 0)
        watching->due_count += (size_t)count;
    return count > 0 || (count < 0 && (errno == EAGAIN || errno == EINTR));
}

static void pass_on(struct watching *watching)
{
    size_t left = 0;
    for (size_t index = 0; index < watching->due_count; index++)
        if (!sandbox_signal(&watching->sandbox, watching->due[index]))
            watching->due[left++] = watching->due[index];
    watching->due_count = left;
}

/* Looks at what the command makes; true: it has to be ended. */
static bool look(struct watching *watching, bool told)
{
    int64_t began = clock_ms();
    bool again = told ? places_look(watching->places) : places_look_anyway(watching->places);
    int64_t now = clock_ms(), pause = LOOKS_SHARE * (now - began);
    watching->next_look = now + (pause > LOOK_MS ? pause : LOOK_MS);
    return again;
}

static int least(int64_t one, int64_t other)
{
    if (one < 0 || (other >= 0 && other < one))
        one = other;
    return one > 60000 ? 60000 : (int)one;
}

/* Until the command has ended, or its process has while others go on in a room: passes signals on, and looks at what it does, each as the kernel tells of it. */
static void watch(struct watching *watching)
{
    for (;;) {
        int64_t rest = watching->next_look - clock_ms();
        bool rests = rest > 0;
        int events = places_events(watching->places);
        struct pollfd polled[] = {
            {.fd = watching->sandbox.ended, .events = POLLIN},
            {.fd = watching->channel, .events = POLLIN},
            {.fd = watching->sandbox.stands && watching->sandbox.orders < 0 ? -1 : watching->sandbox.told,
             .events = POLLIN},
            /* A command that makes many files does not wake this process for each of them. */
            {.fd = rests ? -1 : events, .events = POLLIN},
        };
        /* Without events there is nothing but to look again; with them, only a rest ends by itself. */
        bool wakes = events < 0 || rests;
        int wait = least(wakes ? (rests ? rest : 0) : -1, watching->due_count > 0 ? SIGNAL_MS : -1);
        if (poll(polled, sizeof polled / sizeof *polled, wait) < 0) {
            if (errno != EINTR)
                return;
            continue;
        }
        if (polled[0].revents != 0)
            return;
        if (polled[1].revents != 0 && !hear_signals(watching))
            return;
        if (polled[2].revents != 0)
            sandbox_hear(&watching->sandbox);
        if (watching->sandbox.code >= 0)
            return;
        pass_on(watching);
        bool told = polled[3].fd >= 0 && polled[3].revents != 0;
        if ((told || (events < 0 && clock_ms() >= watching->next_look)) && look(watching, told)) {
            say("this command made what it may not make again and again; it was ended", "", "", "");
            return;
        }
    }
}

static void hear_folder(int told, char folder[PATH_MAX])
{
    ssize_t size = read(told, folder, PATH_MAX);
    if (size > 0 && size < PATH_MAX && folder[size - 1] == '\n')
        size--;
    if (size <= 0 || size >= PATH_MAX || folder[0] != '/' || memchr(folder, '\0', (size_t)size) != NULL)
        size = 0;
    folder[size] = '\0';
}

/* Whoever waits for the end of a stream waits for the command, and not for this process. The number stays in use. */
static void let_go(int stream)
{
    int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (nothing < 0 || dup2(nothing, stream) != stream)
        close(stream);
    if (nothing >= 0)
        close(nothing);
}

/* Looks at what the command made, says what was found, and hears where it ended. */
static void conclude(struct watching *watching, int told, struct outcome *outcome)
{
    places_finish(watching->places);
    if (!places_say(watching->places)) {
        say("what this contained command made could not be looked at", "", "", "");
        outcome->status = ENDED_BY_FAULT;
    }
    if (told >= 0)
        hear_folder(told, outcome->folder);
}

static void be_supervisor(const struct plan *plan, struct watching *watching, struct room room, bool tell_folder,
                          const sigset_t *mask, struct outcome *outcome)
{
    int ends[2] = {-1, -1};
    outcome->status = STATUS_NOT_BUILT;
    if (tell_folder && pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0)
        return;
    if (tell_folder)
        fcntl(ends[1], F_SETFL, 0); /* for the command it is a pipe like any other */
    bool started = sandbox_start(&watching->sandbox, plan, ends[1], mask, room);
    let_go(STDIN_FILENO);
    let_go(STDOUT_FILENO);
    close(ends[1]);
    if (!started)
        return;
    watch(watching);
    struct pollfd ended = {.fd = watching->sandbox.ended, .events = POLLIN};
    if (poll(&ended, 1, 0) == 0 && watching->sandbox.code >= 0) {
        outcome->status = watching->sandbox.code;
        room_stays(&watching->sandbox.room);
        conclude(watching, ends[0], outcome);
        return;
    }
    if (poll(&ended, 1, 0) == 0)
        sandbox_kill(&watching->sandbox);
    outcome->status = sandbox_wait(&watching->sandbox);
    sandbox_kill(&watching->sandbox);
    watching->sandbox.code = -1;
    if (outcome->status != STATUS_NOT_BUILT)
        conclude(watching, ends[0], outcome);
}

/* ---------------------------------------------------------------- what a command has left behind in a room */

static int by_number(const void *one, const void *other)
{
    return *(const int *)one - *(const int *)other;
}

/* Holds nothing open any more that somebody may wait for the end of: only what is needed here, and something harmless as
 * the standard descriptors. */
static void hold_only(const struct watching *watching)
{
    const struct sandbox *sandbox = &watching->sandbox;
    int kept[] = {2, sandbox->ended, sandbox->orders, sandbox->room.door, sandbox->room.first, places_events(watching->places)};
    let_go(STDERR_FILENO);
    qsort(kept, sizeof kept / sizeof *kept, sizeof *kept, by_number);
    int last = 2;
    for (size_t index = 0; index < sizeof kept / sizeof *kept; index++) {
        if (kept[index] > last + 1)
            syscall(CLOSE_RANGE, last + 1, kept[index] - 1, 0);
        last = kept[index] > last ? kept[index] : last;
    }
    syscall(CLOSE_RANGE, last + 1, UINT_MAX, 0);
}

/* Goes on to look at what the processes make that a command has left, until the last of them has ended. */
static void stay(struct watching *watching)
{
    int64_t next_whole = clock_ms() + LEFT_LOOK_MS;
    hold_only(watching);
    watching->sandbox.told = -1;
    for (;;) {
        int64_t rest = watching->next_look - clock_ms();
        int events = places_events(watching->places);
        struct pollfd polled[] = {
            {.fd = watching->sandbox.ended, .events = POLLIN},
            {.fd = rest > 0 ? -1 : events, .events = POLLIN},
        };
        int64_t until = next_whole - clock_ms();
        int found = poll(polled, 2, least(until > 0 ? until : 0, events >= 0 && rest > 0 ? rest : -1));
        if ((found < 0 && errno != EINTR) || polled[0].revents != 0)
            break;
        if (found > 0 && polled[1].revents != 0 && look(watching, true))
            break;
        if (clock_ms() < next_whole)
            continue;
        int64_t began = clock_ms();
        places_finish(watching->places);
        int64_t now = clock_ms(), pause = LOOKS_SHARE * (now - began);
        next_whole = now + (pause > LEFT_LOOK_MS ? pause : LEFT_LOOK_MS);
    }
    sandbox_kill(&watching->sandbox);
    places_finish(watching->places);
}

/* ---------------------------------------------------------------- the process that the client waits for */

static void wait_for(int channel, int signals, struct outcome *outcome)
{
    size_t heard = 0;
    int last = 0;
    uint8_t *into = (uint8_t *)outcome;
    struct pollfd polled[] = {{.fd = channel, .events = POLLIN}, {.fd = signals, .events = POLLIN}};
    for (;;) {
        if (poll(polled, 2, -1) < 0) {
            if (errno != EINTR)
                break;
            continue;
        }
        struct signalfd_siginfo signalled;
        if (polled[1].revents != 0 && read(signals, &signalled, sizeof signalled) == sizeof signalled) {
            uint8_t number = (uint8_t)signalled.ssi_signo;
            send(channel, &number, 1, MSG_NOSIGNAL | MSG_DONTWAIT);
            last = number;
        }
        if (polled[0].revents == 0)
            continue;
        ssize_t count = recv(channel, into + heard, sizeof *outcome - heard, MSG_DONTWAIT);
        if (count > 0)
            heard += (size_t)count;
        else if (count == 0 || (errno != EAGAIN && errno != EINTR))
            break;
        if (heard < sizeof *outcome)
            continue;
        /* The command has not begun, and must not begin: it was ended before. */
        if (outcome->status == STATUS_NOT_BUILT && last > 0)
            outcome->status = 128 + last;
        return;
    }
    *outcome = (struct outcome){.status = STATUS_DIED};
}

/* The client's process, as far as it can be told: the first one above this that is no shell. */
static int client_of(void)
{
    static const char *const shells[] = {"sh", "bash", "dash", "zsh"};
    enum { MOST_ABOVE = 8, PIDFD_OPEN = 434 };
    pid_t pid = getppid();
    for (int above = 0; above < MOST_ABOVE && pid > 1; above++) {
        char path[32], text[256], *name, *rest;
        bool is_shell = false;
        snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
        int file = open(path, O_RDONLY | O_CLOEXEC);
        ssize_t size = file < 0 ? 0 : read(file, text, sizeof text - 1);
        if (file >= 0)
            close(file);
        text[size > 0 ? size : 0] = '\0';
        name = strchr(text, '(');
        rest = strrchr(text, ')');
        if (name == NULL || rest == NULL || strlen(rest) < 5)
            return -1;
        *rest = '\0';
        for (size_t index = 0; index < sizeof shells / sizeof *shells; index++)
            is_shell = is_shell || strcmp(name + 1, shells[index]) == 0;
        if (!is_shell)
            return (int)syscall(PIDFD_OPEN, pid, 0);
        pid = (pid_t)strtol(rest + 4, NULL, 10);
    }
    return -1;
}

struct outcome supervise(const struct plan *plan, struct places *places, const struct place_of_room *where, bool tell_folder)
{
    struct outcome outcome = {.status = STATUS_NOT_BUILT};
    struct watching watching = {.places = places};
    int ends[2];
    sigset_t passed, mask;
    sigemptyset(&passed);
    for (size_t index = 0; index < sizeof PASSED_ON / sizeof *PASSED_ON; index++)
        sigaddset(&passed, PASSED_ON[index]);
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        return outcome;
    sigprocmask(SIG_BLOCK, &passed, &mask);
    int signals = signalfd(-1, &passed, SFD_CLOEXEC | SFD_NONBLOCK);
    int client = where->name == NULL || plan->by_program ? -1 : client_of();
    pid_t middle = signals < 0 ? -1 : fork();
    if (middle == 0) {
        /* Forked twice: no leader of its session, and no child of a process that a client may look for. */
        setsid();
        if (fork() != 0)
            _exit(0);
        close(ends[0]);
        close(signals);
        for (size_t index = 0; index < sizeof PASSED_ON / sizeof *PASSED_ON; index++)
            signal(PASSED_ON[index], SIG_IGN);
        signal(SIGPIPE, SIG_IGN);
        watching.channel = ends[1];
        struct room room = {.door = -1, .first = -1};
        if (where->name != NULL && !plan->by_program)
            room_enter(&room, where->state, where->name, client);
        be_supervisor(plan, &watching, room, tell_folder, &mask, &outcome);
        send(ends[1], &outcome, sizeof outcome, MSG_NOSIGNAL);
        if (watching.sandbox.code >= 0 && outcome.status != STATUS_NOT_BUILT)
            stay(&watching);
        else
            room_leave(&watching.sandbox.room, true);
        _exit(0);
    }
    close(ends[1]);
    if (client >= 0)
        close(client);
    /* Whoever has it last waits until the kernel has dropped all watches, which can take 10 ms: not this process. */
    places_let_go(places);
    if (middle > 0) {
        wait_for(ends[0], signals, &outcome);
        while (waitpid(middle, NULL, 0) < 0 && errno == EINTR)
            continue;
    }
    close(ends[0]);
    close(signals);
    if (outcome.status == STATUS_NOT_BUILT)
        sigprocmask(SIG_SETMASK, &mask, NULL);
    return outcome;
}
