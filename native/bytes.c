#include "bytes.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_ROOM = 1 << 14 };

bool bytes_reserve(struct bytes *bytes, size_t more)
{
    if (more > SIZE_MAX / 4 || bytes->size > SIZE_MAX / 4)
        return false;
    size_t wanted = bytes->size + more;
    if (wanted <= bytes->room)
        return true;
    size_t room = bytes->room > 0 ? bytes->room : FIRST_ROOM;
    while (room < wanted)
        room *= 2;
    uint8_t *data = realloc(bytes->data, room);
    if (data == NULL)
        return false;
    bytes->data = data;
    bytes->room = room;
    return true;
}

bool bytes_append(struct bytes *bytes, const void *data, size_t size)
{
    if (!bytes_reserve(bytes, size))
        return false;
    if (size > 0)
        memcpy(bytes->data + bytes->size, data, size);
    bytes->size += size;
    return true;
}

void bytes_drop(struct bytes *bytes, size_t size)
{
    bytes->size -= size;
    if (bytes->size > 0)
        memmove(bytes->data, bytes->data + size, bytes->size);
}
