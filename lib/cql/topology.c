/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of system tables read as hosts and keyspaces. */
#include "topology.h"

#include "address.h"
#include "wire.h"

#include <stdlib.h>
#include <string.h>

#define NO_COLUMN SIZE_MAX
#define HOSTS_MAX 4096 /* further ones are left out */

static size_t column_of(const struct vvcql_result *result, const char *name)
{
    size_t n = vvcql_result_columns(result);
    for (size_t i = 0; i < n; i++) {
        struct vvcql_bytes column = vvcql_column_name(result, i);
        if (column.size == strlen(name) && memcmp(column.data, name, column.size) == 0)
            return i;
    }
    return NO_COLUMN;
}

/* false: null, empty or no such column. */
static bool bytes_of(const struct vvcql_result *result, const char *name,
                     struct vvcql_bytes *bytes_out)
{
    size_t column = column_of(result, name);
    return column != NO_COLUMN && vvcql_get_bytes(result, column, bytes_out) && bytes_out->size > 0;
}

static bool text_of(const struct vvcql_result *result, const char *name, char *text_out,
                    size_t capacity)
{
    struct vvcql_bytes bytes;
    text_out[0] = '\0';
    if (!bytes_of(result, name, &bytes))
        return false;
    vvcql_copy_text(text_out, capacity, bytes);
    return text_out[0] != '\0';
}

static bool port_of(const struct vvcql_result *result, const char *name, uint16_t *port_out)
{
    int32_t port;
    size_t column = column_of(result, name);
    if (column == NO_COLUMN || !vvcql_get_int(result, column, &port) || port < 1 ||
        port > UINT16_MAX)
        return false;
    *port_out = (uint16_t)port;
    return true;
}

/* false also for 0.0.0.0, which is where a host listens and not where it can be reached. */
static bool address_of(const struct vvcql_result *result, const char *name, uint16_t port,
                       struct sockaddr_storage *address_out)
{
    struct vvcql_bytes bytes;
    return bytes_of(result, name, &bytes) && vvcql_address_set(address_out, bytes, port) &&
           !vvcql_address_is_any(address_out);
}

static bool parse_token(struct vvcql_bytes text, int64_t *token_out)
{
    bool negative = text.size > 0 && text.data != NULL && text.data[0] == '-';
    size_t at = negative ? 1 : 0;
    uint64_t value = 0;
    if (text.data == NULL || text.size == at || text.size - at > 19)
        return false;
    for (; at < text.size; at++) {
        if (text.data[at] < '0' || text.data[at] > '9')
            return false;
        value = value * 10 + (uint64_t)(text.data[at] - '0');
    }
    if (value > (uint64_t)INT64_MAX + (negative ? 1 : 0))
        return false;
    *token_out = (int64_t)(negative ? 0 - value : value);
    return true;
}

/* false: no memory. */
static bool read_tokens(const struct vvcql_result *result, struct vvcql_found_host *host)
{
    struct vvcql_elements elements;
    struct vvcql_bytes element;
    size_t column = column_of(result, "tokens");
    size_t capacity = 0;
    if (column == NO_COLUMN || !vvcql_get_elements(result, column, &elements))
        return true;
    while (vvcql_next_element(&elements, &element)) {
        int64_t token;
        if (!parse_token(element, &token))
            continue;
        if (host->n_tokens == capacity) {
            capacity = capacity == 0 ? 16 : capacity * 2;
            int64_t *tokens = realloc(host->tokens, capacity * sizeof(*tokens));
            if (tokens == NULL)
                return false;
            host->tokens = tokens;
        }
        host->tokens[host->n_tokens++] = token;
    }
    return true;
}

static bool has_host(const struct vvcql_topology *topology, const uint8_t id[16])
{
    for (size_t i = 0; i < topology->n_hosts; i++) {
        if (memcmp(topology->hosts[i].id, id, 16) == 0)
            return true;
    }
    return false;
}

/* Reads what hosts have in either table. false: the row names no host, no data centre, or a host
 * that is there already. */
static bool read_host(const struct vvcql_topology *topology, const struct vvcql_result *result,
                      struct vvcql_found_host *host)
{
    size_t id = column_of(result, "host_id");
    if (topology->n_hosts == HOSTS_MAX || id == NO_COLUMN ||
        !vvcql_get_uuid(result, id, host->id) || has_host(topology, host->id) ||
        !text_of(result, "data_center", host->datacenter, sizeof(host->datacenter)))
        return false;
    text_of(result, "rack", host->rack, sizeof(host->rack));
    text_of(result, "release_version", host->release, sizeof(host->release));
    return true;
}

/* Takes the host's tokens. */
static enum vvcql_status add_host(struct vvcql_topology *topology,
                                  const struct vvcql_result *result, struct vvcql_found_host *host,
                                  struct vvcql_error *error)
{
    if (topology->n_hosts == topology->hosts_capacity) {
        size_t capacity = topology->hosts_capacity == 0 ? 8 : topology->hosts_capacity * 2;
        struct vvcql_found_host *hosts = realloc(topology->hosts, capacity * sizeof(*hosts));
        if (hosts == NULL)
            return vvcql_error_set(error, VVCQL_NO_MEMORY, "out of memory");
        topology->hosts = hosts;
        topology->hosts_capacity = capacity;
    }
    if (!topology->has_no_tokens && !read_tokens(result, host)) {
        free(host->tokens);
        return vvcql_error_set(error, VVCQL_NO_MEMORY, "out of memory");
    }
    topology->hosts[topology->n_hosts++] = *host;
    return VVCQL_OK;
}

static bool is_murmur3(const struct vvcql_result *result)
{
    static const char name[] = "Murmur3Partitioner";
    struct vvcql_bytes bytes;
    if (!bytes_of(result, "partitioner", &bytes))
        return false;
    size_t size = sizeof(name) - 1;
    return bytes.size >= size && memcmp(bytes.data + bytes.size - size, name, size) == 0;
}

enum vvcql_status vvcql_topology_add_local(struct vvcql_topology *topology,
                                           struct vvcql_result *result,
                                           const struct sockaddr_storage *control, uint16_t port,
                                           struct vvcql_error *error)
{
    struct vvcql_found_host host = {.is_control = true};
    if (!vvcql_next_row(result))
        return vvcql_error_set(error, VVCQL_PROTOCOL, "its table system.local has no row");
    if (!read_host(topology, result, &host))
        return vvcql_error_set(error, VVCQL_PROTOCOL,
                               "its table system.local lacks host_id or data_center");
    (void)(port_of(result, "native_port", &port) || port_of(result, "rpc_port", &port));
    if (!address_of(result, "native_address", port, &host.address) &&
        !address_of(result, "rpc_address", port, &host.address) &&
        !address_of(result, "broadcast_address", port, &host.address))
        host.address = *control;
    topology->has_no_tokens = !is_murmur3(result);
    return add_host(topology, result, &host, error);
}

static enum vvcql_status add_peer(struct vvcql_topology *topology,
                                  const struct vvcql_result *result, uint16_t port,
                                  struct vvcql_error *error)
{
    struct vvcql_found_host host = {.is_control = false};
    if (!read_host(topology, result, &host))
        return VVCQL_OK;
    (void)port_of(result, "native_port", &port);
    if (!address_of(result, "native_address", port, &host.address) &&
        !address_of(result, "rpc_address", port, &host.address) &&
        !address_of(result, "peer", port, &host.address))
        return VVCQL_OK;
    return add_host(topology, result, &host, error);
}

enum vvcql_status vvcql_topology_add_peers(struct vvcql_topology *topology,
                                           struct vvcql_result *result, uint16_t port,
                                           struct vvcql_error *error)
{
    enum vvcql_status status = VVCQL_OK;
    while (status == VVCQL_OK && vvcql_next_row(result))
        status = add_peer(topology, result, port, error);
    return status;
}

/* Appends one pair of the replication map. false: no memory. */
static bool add_pair(struct vvcql_found_keyspace *keyspace, struct vvcql_bytes key,
                     struct vvcql_bytes value)
{
    size_t n = keyspace->n + 1;
    char **keys = realloc(keyspace->keys, n * sizeof(*keys));
    if (keys == NULL)
        return false;
    keyspace->keys = keys;
    char **values = realloc(keyspace->values, n * sizeof(*values));
    if (values == NULL)
        return false;
    keyspace->values = values;
    keys[n - 1] = vvcql_duplicate(key);
    values[n - 1] = vvcql_duplicate(value);
    keyspace->n = n;
    return keys[n - 1] != NULL && values[n - 1] != NULL;
}

static void keyspace_deinit(struct vvcql_found_keyspace *keyspace)
{
    for (size_t i = 0; i < keyspace->n; i++) {
        free(keyspace->keys[i]);
        free(keyspace->values[i]);
    }
    free(keyspace->keys);
    free(keyspace->values);
    free(keyspace->name);
}

/* false: no memory; what was read is the caller's to free either way. */
static bool read_keyspace(const struct vvcql_result *result, struct vvcql_found_keyspace *keyspace)
{
    struct vvcql_bytes name;
    struct vvcql_bytes key;
    struct vvcql_bytes value;
    struct vvcql_elements elements;
    size_t column = column_of(result, "replication");
    if (!bytes_of(result, "keyspace_name", &name) || column == NO_COLUMN ||
        !vvcql_get_elements(result, column, &elements))
        return true;
    while (vvcql_next_element(&elements, &key) && vvcql_next_element(&elements, &value)) {
        if (!add_pair(keyspace, key, value))
            return false;
    }
    keyspace->name = vvcql_duplicate(name);
    return keyspace->name != NULL;
}

enum vvcql_status vvcql_topology_add_keyspaces(struct vvcql_topology *topology,
                                               struct vvcql_result *result,
                                               struct vvcql_error *error)
{
    size_t n = vvcql_result_rows(result);
    if (n == 0)
        return VVCQL_OK;
    topology->keyspaces = calloc(n, sizeof(*topology->keyspaces));
    if (topology->keyspaces == NULL)
        return vvcql_error_set(error, VVCQL_NO_MEMORY, "out of memory");
    while (topology->n_keyspaces < n && vvcql_next_row(result)) {
        struct vvcql_found_keyspace keyspace = {0};
        bool has_memory = read_keyspace(result, &keyspace);
        if (!has_memory || keyspace.name == NULL)
            keyspace_deinit(&keyspace);
        else
            topology->keyspaces[topology->n_keyspaces++] = keyspace;
        if (!has_memory)
            return vvcql_error_set(error, VVCQL_NO_MEMORY, "out of memory");
    }
    return VVCQL_OK;
}

void vvcql_topology_deinit(struct vvcql_topology *topology)
{
    for (size_t i = 0; i < topology->n_hosts; i++)
        free(topology->hosts[i].tokens);
    for (size_t i = 0; i < topology->n_keyspaces; i++)
        keyspace_deinit(&topology->keyspaces[i]);
    free(topology->hosts);
    free(topology->keyspaces);
    memset(topology, 0, sizeof(*topology));
}
