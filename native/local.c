#include "local.h"

#include "gate.h"
#include "refusal.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern char **environ;

bool write_all(int descriptor, const void *data, size_t size)
{
    const uint8_t *next = data;
    while (size > 0) {
        ssize_t count = write(descriptor, next, size);
        if (count > 0) {
            next += count;
            size -= (size_t)count;
        } else if (count < 0 && errno == EAGAIN) {
            struct pollfd output = {.fd = descriptor, .events = POLLOUT};
            poll(&output, 1, -1);
        } else if (count == 0 || errno != EINTR) {
            return false;
        }
    }
    return true;
}

char *decimal(uint64_t number, char digits[DIGITS])
{
    char *digit = digits + DIGITS - 1;
    *digit = '\0';
    do {
        *--digit = (char)('0' + number % 10);
        number /= 10;
    } while (number > 0);
    return digit;
}

/* ---------------------------------------------------------------- the last resort */

_Noreturn void refuse(const char *why)
{
    /* For Claude Code. Every other client blocks on the exit code, or because this is no answer in its dialect. */
    static const char answer[] =
        "{\"hookSpecificOutput\": {\"hookEventName\": \"PreToolUse\", \"permissionDecision\": \"deny\", "
        "\"permissionDecisionReason\": \"Lockgate could not decide and blocks to be safe: its own code cannot be "
        "loaded. Run: lockgate doctor\"}}\n";
    static const char begin[] = "Lockgate blocks to be safe: ";
    signal(SIGPIPE, SIG_IGN);
    write_all(STDOUT_FILENO, answer, sizeof answer - 1);
    if (write_all(STDERR_FILENO, begin, sizeof begin - 1) && write_all(STDERR_FILENO, why, strlen(why)))
        write_all(STDERR_FILENO, "; run: lockgate doctor\n", 23);
    refusal_keep(why);
    _exit(2);
}

/* ---------------------------------------------------------------- the Python hook */

/* Writes what was read of stdin into a pipe, in a process of its own, for a reader that may be slow or never come. */
_Noreturn static void feed(const struct local *local, int pipe, size_t written)
{
    for (int stream = 0; stream <= 2; stream++)
        close(stream); /* whoever waits for the end of these streams waits for the hook, and not for this process */
    end_after(2 * WHOLE_MS);
    _exit(write_all(pipe, local->input + written, local->input_size - written) ? 0 : 1);
}

/* Puts what was read of stdin back into it. */
static bool replay(const struct local *local)
{
    int ends[2];
    if (pipe(ends) != 0)
        return false;
    int flags = fcntl(ends[1], F_GETFL);
    if (flags < 0 || fcntl(ends[1], F_SETFL, flags | O_NONBLOCK) != 0)
        return false;
    size_t written = 0;
    while (written < local->input_size) {
        ssize_t count = write(ends[1], local->input + written, local->input_size - written);
        if (count > 0)
            written += (size_t)count;
        else if (count < 0 && errno == EAGAIN)
            break;
        else if (count == 0 || errno != EINTR)
            return false;
    }
    if (written < local->input_size) {
        pid_t child = fork();
        if (child < 0)
            return false;
        if (child == 0) {
            close(ends[0]);
            feed(local, ends[1], written);
        }
    }
    return dup2(ends[0], STDIN_FILENO) == STDIN_FILENO && close(ends[0]) == 0 && close(ends[1]) == 0;
}

_Noreturn void decide_locally(const struct local *local)
{
    if (local->python[0] != '/' || local->script[0] != '/')
        refuse("its command line names no absolute paths");
    if (local->input != NULL && !replay(local))
        refuse("its input cannot be handed on");
    size_t count = 0;
    while (local->words[count] != NULL)
        count++;
    char **words = calloc(count + 9, sizeof *words);
    if (words == NULL)
        refuse("there is no memory");
    static char isolated[] = "-I", bare[] = "-S", asked[] = "--asked", missed[] = "--missed";
    static char forged[] = "--forged", yes[] = "yes";
    char **word = words;
    *word++ = local->python;
    *word++ = isolated;
    *word++ = bare;
    *word++ = local->script;
    *word++ = local->words[0];
    char digits[DIGITS];
    if (local->asked) {
        *word++ = local->gone ? missed : asked;
        *word++ = decimal((uint64_t)(clock_ms() - local->began), digits);
    }
    if (local->forged) {
        *word++ = forged;
        *word++ = yes;
    }
    for (size_t index = 1; index < count; index++)
        *word++ = local->words[index];
    end_after(0);
    signal(SIGPIPE, SIG_DFL);
    execve(local->python, words, environ);
    refuse("its interpreter cannot be started: install Lockgate again, then run lockgate install");
}
