/* The last step before a contained command: what it may open for writing (Landlock), and becoming it. */
#ifndef LOCKGATE_CONFINE_H
#define LOCKGATE_CONFINE_H

#include <stdbool.h>
#include <stddef.h>

/* The command's descriptor 2, until bubblewrap has built its sandbox. */
enum { ERRORS_DESCRIPTOR = 8 };

/*
 * Lets this process, and all that it starts, open files for writing in some folders only, and under the names of its
 * standard descriptors. There is no way back. A kernel that cannot do it does nothing, which is no error.
 *
 * False: the kernel could, and did not; errno says why.
 */
bool confine(char *const *folders, size_t count);

/* Becomes a command, which is looked for as a shell does; ends with a shell's status where there is none. */
_Noreturn void become(char *const *command, char *const *environment);

/* The program `lockgate-contain --confine FOLDER... -- COMMAND ARGUMENT...`, which bubblewrap starts: words behind it. */
_Noreturn void confine_and_become(char **words);

#endif
