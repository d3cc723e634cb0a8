/* Whether this very program can build a sandbox from the kernel's own namespaces here: it builds one and looks. */
#ifndef LOCKGATE_TRIAL_H
#define LOCKGATE_TRIAL_H

/* Prints the name of the network inside of a sandbox, and ends with 0; with 125 and a reason where none can be built. */
_Noreturn void trial(void);

#endif
