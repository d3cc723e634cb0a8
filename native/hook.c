/*
 * The process that an agent client runs for every event, without an interpreter's start: it hands its stdin to the
 * resident gate and writes what that answers. See docs/native-client.md.
 *
 *   lockgate-hook --python PYTHON --script HOOK_PY CLIENT --home H --state S --config C [--event E] ...
 *   lockgate-hook --about
 *
 * Where it gets no answer it becomes `PYTHON -I -S HOOK_PY CLIENT --asked MILLISECONDS ...`, with the same stdin, which
 * decides by itself; `--missed` where no gate was there, or it has ended: then that process starts one, or asks the next.
 * MILLISECONDS is how long the agent client has waited already. `--forged yes` says that what answered is no gate.
 * Where not even that can be started, it refuses.
 */
#include "bytes.h"
#include "gate.h"
#include "local.h"
#include "proof.h"
#include "refusal.h"
#include "reply.h"
#include "request.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

extern char **environ;

static const char ABOUT[] = "lockgate-hook LOCKGATE3\n";
enum { MOST_INPUT = 32 * 1024 * 1024, CHUNK = 1 << 14 };

/* ---------------------------------------------------------------- the command line */

/* Finds the state folder. NULL: the gate is not to be asked, or hook.py must say what is wrong with the words. */
static const char *state_of(char **words)
{
    const char *state = NULL;
    if (words[0][0] == '-')
        return NULL; /* no client's name */
    for (char **options = words + 1; *options != NULL; options++) {
        const char *name = *options;
        size_t length = strcspn(name, "=");
        const char *value = name + length + 1;
        if (name[length] == '\0' && (value = *++options) == NULL)
            return NULL;
        if (length == 7 && memcmp(name, "--state", 7) == 0)
            state = value;
        if (strncmp(name, "--", 2) != 0 || (length == 8 && memcmp(name, "--remote", 8) == 0))
            return NULL;
    }
    return state != NULL && state[0] == '/' ? state : NULL;
}

/* Whether the streams are there. Where one is not, the next file would get its number: /dev/null gets it instead. */
static bool has_streams(void)
{
    bool all = true;
    for (int stream = 0; stream <= 2; stream++) {
        if (fcntl(stream, F_GETFD) >= 0)
            continue;
        all = false;
        /* Read-only, so that writing the answer to it fails, and that refuses. */
        if (open("/dev/null", O_RDONLY) != stream)
            _exit(2);
    }
    return all;
}

static bool is_off(void)
{
    static const char off[] = "LOCKGATE_RESIDENT=off";
    for (char **variable = environ; *variable != NULL; variable++)
        if (strcmp(*variable, off) == 0)
            return true;
    return false;
}

/* ---------------------------------------------------------------- the request */

enum input { INPUT_WHOLE, INPUT_PART, INPUT_UNREADABLE };

/* Appends stdin: all of it, or what came in time, or what shows that it is too much. */
static enum input put_stdin(struct bytes *request, size_t head, int64_t until)
{
    while (request->size - head <= MOST_INPUT) {
        if (!bytes_reserve(request, CHUNK))
            return INPUT_PART;
        struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
        int64_t left = until - clock_ms();
        int found = left > 0 ? poll(&input, 1, (int)left) : 0;
        if (found == 0)
            return INPUT_PART;
        ssize_t count = found > 0 ? read(STDIN_FILENO, request->data + request->size, request->room - request->size) : -1;
        if (count == 0)
            return INPUT_WHOLE;
        if (count > 0)
            request->size += (size_t)count;
        else if (errno != EINTR && errno != EAGAIN)
            return INPUT_UNREADABLE;
    }
    return INPUT_PART;
}

/* ---------------------------------------------------------------- the whole */

/* Writes what the gate answered, and ends. */
_Noreturn static void leave(const struct reply *reply, const struct bytes *heard)
{
    static const char unwritten[] = "Lockgate blocks to be safe: the answer could not be written\n";
    const uint8_t *out = heard->data + REPLY_HEADER;
    int code = reply->code;
    end_after(0);
    bool told = write_all(STDOUT_FILENO, out, reply->out_size);
    if (!told && reply->err_size == 0)
        write_all(STDERR_FILENO, unwritten, sizeof unwritten - 1);
    told = write_all(STDERR_FILENO, out + reply->out_size, reply->err_size) && told;
    _exit(told ? code : 2);
}

/* Time is up where no deadline is looked at. The exit code blocks the call. */
static void hung(int number)
{
    (void)number;
    refusal_keep("its deadline had passed");
    _exit(2);
}

int main(int count, char **words)
{
    int64_t began = clock_ms();
    if (count == 2 && strcmp(words[1], "--about") == 0)
        _exit(write_all(STDOUT_FILENO, ABOUT, sizeof ABOUT - 1) ? 0 : 1);
    struct local local = {.began = began};
    bool streams = has_streams();
    if (count < 6 || strcmp(words[1], "--python") != 0 || strcmp(words[3], "--script") != 0)
        refuse("its command line is not what an installation writes");
    local.python = words[2];
    local.script = words[4];
    local.words = words + 5;
    const char *state = state_of(local.words);
    if (!streams || state == NULL || is_off())
        decide_locally(&local);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGALRM, hung);
    refusal_in(state);
    end_after(WHOLE_MS + 1000);
    local.asked = true;
    gate_end_unread();

    int gate = gate_connect(state);
    if (gate < 0) {
        local.gone = true;
        decide_locally(&local);
    }
    uint8_t key[KEY_SIZE];
    if (!key_read(state, key))
        decide_locally(&local); /* no gate can prove that it is one; what is wrong with the key is said there */
    struct bytes request = {0}, heard = {0};
    if (!request_begin(&request, local.script, local.words))
        decide_locally(&local);
    size_t head = request.size;
    enum input input = put_stdin(&request, head, began + WHOLE_MS);
    if (input == INPUT_UNREADABLE)
        decide_locally(&local); /* which cannot read it either */
    local.input = request.data + head;
    local.input_size = request.size - head;
    if (input == INPUT_PART)
        decide_locally(&local); /* which finds that it is no payload */
    request_end(&request, local.input_size);
    struct reply reply = gate_ask(gate, key, &request, began, FIRST_MS, &heard, &local.gone);
    local.forged = reply.kind == REPLY_FORGED;
    if (reply.kind != REPLY_ANSWER) {
        close(gate);
        decide_locally(&local);
    }
    leave(&reply, &heard);
}
