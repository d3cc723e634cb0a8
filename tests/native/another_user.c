/* With -Dgeteuid=another_user: somebody else than who runs it. */
#include <sys/types.h>
#include <unistd.h>

#undef geteuid
uid_t geteuid(void);

uid_t another_user(void)
{
    return geteuid() + 1;
}
