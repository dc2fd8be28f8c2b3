/* SPDX-License-Identifier: Apache-2.0 */
/* Events: changes of the topology, of hosts' status and of the schema (section 4.2.6). */
#include "responses.h"

#include <string.h>

static bool equals(struct vvcql_bytes bytes, const char *text)
{
    return bytes.size == strlen(text) && memcmp(bytes.data, text, bytes.size) == 0;
}

/* [inet] */
static void read_address(struct vvcql_reader *reader, struct vvcql_event *event)
{
    uint8_t size = vvcql_read_u8(reader);
    event->address = vvcql_read_bytes(reader, size);
    uint32_t port = vvcql_read_u32(reader);
    if ((size != 4 && size != 16) || port > UINT16_MAX) {
        vvcql_reader_fail(reader);
    }
    event->port = (uint16_t)port;
}

static enum vvcql_event_kind change_of(struct vvcql_bytes change)
{
    static const struct {
        const char *name;
        enum vvcql_event_kind kind;
    } changes[] = {
        {"NEW_NODE", VVCQL_EVENT_NEW_NODE},
        {"REMOVED_NODE", VVCQL_EVENT_REMOVED_NODE},
        {"MOVED_NODE", VVCQL_EVENT_MOVED_NODE},
        {"UP", VVCQL_EVENT_UP},
        {"DOWN", VVCQL_EVENT_DOWN},
    };
    for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
        if (equals(change, changes[i].name)) {
            return changes[i].kind;
        }
    }
    return VVCQL_EVENT_OTHER;
}

enum vvcql_status vvcql_decode_event(struct vvcql_bytes body, struct vvcql_event *event_out,
                                     struct vvcql_error *error)
{
    struct vvcql_reader reader = vvcql_reader_of(body);
    struct vvcql_event event = {.kind = VVCQL_EVENT_OTHER};
    struct vvcql_bytes type = vvcql_read_string(&reader);
    if (equals(type, "TOPOLOGY_CHANGE") || equals(type, "STATUS_CHANGE")) {
        event.kind = change_of(vvcql_read_string(&reader));
        read_address(&reader, &event);
    } else if (equals(type, "SCHEMA_CHANGE")) {
        event.kind = VVCQL_EVENT_SCHEMA;
        vvcql_read_string(&reader); /* created, updated or dropped */
        vvcql_read_string(&reader); /* what */
        event.keyspace = vvcql_read_string(&reader);
    }
    if (reader.failed) {
        *event_out = (struct vvcql_event){.kind = VVCQL_EVENT_OTHER};
        return vvcql_error_set(error, VVCQL_PROTOCOL, "an event of %zu bytes can't be read",
                               body.size);
    }
    *event_out = event;
    return VVCQL_OK;
}
