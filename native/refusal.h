/* Word of a refusal that no Python process has given, for the audit: see src/lockgate/store/audit/refusals.py. */
#ifndef LOCKGATE_REFUSAL_H
#define LOCKGATE_REFUSAL_H

/* Names the state folder, an absolute path. Before, nothing is kept. */
void refusal_in(const char *state);

/* Leaves a file that says so. May be called in a signal's handler, and never fails: the refusal itself matters more. */
void refusal_keep(const char *why);

#endif
