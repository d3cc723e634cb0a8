#include "plan.h"

#include <string.h>

enum { INSTRUCTION = 8, MOST_INSTRUCTIONS = 4096 };

bool plan_read(struct plan *plan, const uint8_t *data, size_t size, const uint8_t *filter, size_t filter_size)
{
    struct words words = words_in(data, size);
    bool known = strcmp(words_next(&words), "plan 2") == 0;
    const char *way = words_next(&words);
    plan->by_program = strcmp(way, "bubblewrap") == 0;
    plan->program = words_next(&words);
    plan->cwd = words_next(&words);
    const char *outlasting = words_next(&words);
    plan->stays = strcmp(outlasting, "stays") == 0;
    known = known && (plan->stays || strcmp(outlasting, "ends") == 0);
    plan->options = words_list(&words);
    plan->mounts = words_list(&words);
    plan->settings = words_list(&words);
    plan->writable = words_list(&words);
    plan->environment = words_list(&words);
    plan->command = words_list(&words);
    plan->filter = filter;
    plan->filter_size = filter_size;
    if (!known || !words_done(&words) || plan->cwd[0] != '/' || plan->command.count == 0 || plan->writable.count == 0)
        return false;
    if (filter_size == 0 || filter_size % INSTRUCTION != 0 || filter_size > INSTRUCTION * MOST_INSTRUCTIONS)
        return false;
    if (plan->by_program)
        return plan->program[0] == '/' && plan->options.count > 0;
    return strcmp(way, "namespaces") == 0 && plan->mounts.count > 0 && plan->mounts.count % 3 == 0;
}
