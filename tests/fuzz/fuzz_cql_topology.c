/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hostile rows of system tables: the first byte says of which table they are, the rest is a RESULT
 * body.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cql/address.h"
#include "cql/responses.h"
#include "cql/topology.h"

static void require(bool condition)
{
    if (!condition) {
        abort();
    }
}

static void check(const struct vvcql_topology *topology)
{
    for (size_t i = 0; i < topology->n_hosts; i++) {
        const struct vvcql_found_host *host = &topology->hosts[i];
        char name[VVCQL_HOST_MAX];
        require(host->datacenter[0] != '\0');
        require(memchr(host->datacenter, '\0', sizeof host->datacenter) != NULL);
        require(memchr(host->rack, '\0', sizeof host->rack) != NULL);
        require(memchr(host->release, '\0', sizeof host->release) != NULL);
        require(!vvcql_address_is_any(&host->address));
        vvcql_address_name(&host->address, name);
        require(strlen(name) > strlen("?"));
        require(!topology->has_no_tokens || host->n_tokens == 0);
        for (size_t k = 0; k < i; k++) {
            require(memcmp(host->id, topology->hosts[k].id, sizeof host->id) != 0);
        }
    }
    for (size_t i = 0; i < topology->n_keyspaces; i++) {
        require(topology->keyspaces[i].name != NULL);
        for (size_t k = 0; k < topology->keyspaces[i].n; k++) {
            require(topology->keyspaces[i].keys[k] != NULL);
            require(topology->keyspaces[i].values[k] != NULL);
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct vvcql_topology topology = {0};
    struct vvcql_result *result;
    struct sockaddr_storage control;
    struct vvcql_frame frame = {.opcode = VVCQL_OP_RESULT};
    if (size == 0 || !vvcql_address_parse(&control, "127.0.0.1", 9042)) {
        return 0;
    }
    frame.body = (struct vvcql_bytes){.data = data + 1, .size = size - 1};
    if (vvcql_result_create(&frame, "h", &result, NULL) != VVCQL_OK) {
        return 0;
    }
    enum vvcql_status status = VVCQL_OK;
    if (data[0] % 3 == 0) {
        status = vvcql_topology_add_local(&topology, result, &control, 9042, NULL);
        require((status == VVCQL_OK) == (topology.n_hosts == 1));
    } else if (data[0] % 3 == 1) {
        status = vvcql_topology_add_peers(&topology, result, 9042, NULL);
    } else {
        status = vvcql_topology_add_keyspaces(&topology, result, NULL);
    }
    require(status == VVCQL_OK || status == VVCQL_PROTOCOL);
    check(&topology);
    vvcql_topology_deinit(&topology);
    vvcql_result_destroy(result);
    return 0;
}
