/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Several servers of fake_server.h that together look like a cluster: they tell of each other in
 * system tables, know prepared texts, send events, and answer requests as each is told.
 *
 * A node's fields may be changed by the test while it runs, under the cluster's lock
 * (fake_node_do() and the like take it).
 */
#ifndef VARVE_TEST_CQL_FAKE_CLUSTER_H
#define VARVE_TEST_CQL_FAKE_CLUSTER_H

#include "fake_answers.h"

#define FAKE_NODES_MAX 6
#define FAKE_TEXTS_MAX 16

/* What a node does with QUERY, EXECUTE and BATCH that are not for system tables. */
enum fake_deed {
    FAKE_ANSWER,  /* void */
    FAKE_FAIL,    /* an ERROR of node->code */
    FAKE_SILENCE, /* no answer ever */
    FAKE_WAIT,    /* void, when the test lets it pass */
    FAKE_HANG_UP, /* closes the connection */
    FAKE_GARBLE,  /* an answer that is none */
    FAKE_ROW,     /* one row with one text: the node's name */
};

struct fake_node {
    struct fake_server server;
    struct fake_cluster *cluster;
    int number; /* from 0; token and host_id follow from it */
    char address[16];
    uint16_t port; /* stays the same when it is stopped */
    bool is_running;
    const char *datacenter;
    const char *rack;
    bool is_listed; /* in the others' peers */
    enum fake_deed deed;
    enum fake_deed prepare_deed;
    int32_t code;
    uint8_t salt;                /* part of the ids of prepared texts */
    bool is_fickle;              /* it has forgotten by then what it has just prepared */
    char *texts[FAKE_TEXTS_MAX]; /* that it prepared */
    size_t n_texts;
    size_t n_prepared;         /* PREPAREs, ever */
    size_t n_asked;            /* requests that deed is for, ever */
    size_t n_read;             /* of system.local, ever */
    struct fake_peer *control; /* the last that asked for events; NULL: none */
};

struct fake_cluster {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct fake_node nodes[FAKE_NODES_MAX];
    int n_nodes;
    bool is_old;          /* no peers_v2; all nodes have the same port */
    bool has_any_address; /* rpc_address is 0.0.0.0 */
    bool hides_address;   /* the nodes tell an address where nobody listens */
    bool is_garbled;      /* rows without what they need, nulls, wrong sizes */
    const char *authenticator;
    const char *password; /* of user "varve" */
    const char *partitioner;
};

/* ---- the nodes' names ---- */

/* Ring positions in the order of the nodes, far apart. */
static inline int64_t fake_token(int number)
{
    return INT64_MIN / 2 + (int64_t)number * (INT64_MAX / FAKE_NODES_MAX);
}

static inline void fake_node_name(const struct fake_node *node, char name_out[64])
{
    (void)snprintf(name_out, 64, "%s:%u", node->address, node->port);
}

/* ---- rows ---- */

static inline void fake_put_column(struct vvcql_buffer *body, const char *name, uint16_t type)
{
    vvcql_write_string(body, name);
    vvcql_write_u16(body, type);
    if (type == VVCQL_TYPE_SET || type == VVCQL_TYPE_MAP) {
        vvcql_write_u16(body, VVCQL_TYPE_TEXT);
    }
    if (type == VVCQL_TYPE_MAP) {
        vvcql_write_u16(body, VVCQL_TYPE_TEXT);
    }
}

static inline void fake_begin_rows(struct vvcql_buffer *body, uint32_t n_columns)
{
    vvcql_write_u32(body, 2); /* rows */
    vvcql_write_u32(body, 1); /* one table for all columns */
    vvcql_write_u32(body, n_columns);
    vvcql_write_string(body, "system");
    vvcql_write_string(body, "table");
}

static inline void fake_put_value(struct vvcql_buffer *body, const void *data, size_t size)
{
    vvcql_write_u32(body, (uint32_t)size);
    vvcql_write_bytes(body, data, size);
}

static inline void fake_put_text(struct vvcql_buffer *body, const char *text)
{
    fake_put_value(body, text, strlen(text));
}

static inline void fake_put_int(struct vvcql_buffer *body, uint32_t value)
{
    vvcql_write_u32(body, 4);
    vvcql_write_u32(body, value);
}

static inline void fake_put_null(struct vvcql_buffer *body)
{
    vvcql_write_u32(body, UINT32_MAX);
}

static inline void fake_put_inet(struct vvcql_buffer *body, const char *address)
{
    struct in_addr in;
    (void)inet_pton(AF_INET, address, &in);
    fake_put_value(body, &in, sizeof in);
}

static inline void fake_put_host_id(struct vvcql_buffer *body, int number)
{
    uint8_t id[16] = {0};
    id[15] = (uint8_t)(number + 1);
    fake_put_value(body, id, sizeof id);
}

static inline void fake_put_tokens(struct vvcql_buffer *body, int number)
{
    char text[32];
    (void)snprintf(text, sizeof text, "%lld", (long long)fake_token(number));
    vvcql_write_u32(body, (uint32_t)(4 + 4 + strlen(text)));
    vvcql_write_u32(body, 1);
    fake_put_text(body, text);
}

#define FAKE_N_COMMON 6
static inline void fake_put_common_columns(struct vvcql_buffer *body)
{
    fake_put_column(body, "host_id", VVCQL_TYPE_UUID);
    fake_put_column(body, "data_center", VVCQL_TYPE_TEXT);
    fake_put_column(body, "rack", VVCQL_TYPE_TEXT);
    fake_put_column(body, "release_version", VVCQL_TYPE_TEXT);
    fake_put_column(body, "tokens", VVCQL_TYPE_SET);
    fake_put_column(body, "schema_version", VVCQL_TYPE_UUID);
}

static inline void fake_put_common(struct vvcql_buffer *body, const struct fake_node *node)
{
    fake_put_host_id(body, node->number);
    fake_put_text(body, node->datacenter);
    fake_put_text(body, node->rack);
    fake_put_text(body, "5.0.8");
    fake_put_tokens(body, node->number);
    fake_put_host_id(body, 0);
}

static inline const char *fake_told_address(const struct fake_node *node)
{
    if (node->cluster->hides_address) {
        return "127.0.0.99";
    }
    return node->cluster->has_any_address ? "0.0.0.0" : node->address;
}

static inline void fake_put_local(struct vvcql_buffer *body, const struct fake_node *node)
{
    const char *partitioner = node->cluster->partitioner;
    fake_begin_rows(body, FAKE_N_COMMON + 4);
    fake_put_common_columns(body);
    fake_put_column(body, "partitioner", VVCQL_TYPE_TEXT);
    fake_put_column(body, "rpc_address", VVCQL_TYPE_INET);
    fake_put_column(body, "rpc_port", VVCQL_TYPE_INT);
    fake_put_column(body, "broadcast_address", VVCQL_TYPE_INET);
    vvcql_write_u32(body, 1);
    fake_put_common(body, node);
    fake_put_text(body, partitioner != NULL ? partitioner
                                            : "org.apache.cassandra.dht.Murmur3Partitioner");
    fake_put_inet(body, fake_told_address(node));
    fake_put_int(body, node->port);
    fake_put_inet(body, node->address);
}

/* A row that names no host, one of another host's id and no address, one of nulls. */
static inline void fake_put_garbled_peers(struct vvcql_buffer *body)
{
    for (uint8_t row = 0; row < 3; row++) {
        fake_put_value(body, "\1\2\3", row == 0 ? 3 : 0);
        fake_put_text(body, row == 1 ? "dc1" : "");
        fake_put_null(body);
        fake_put_text(body, "5");
        fake_put_value(body, "\0\0\0\7x", 5);
        fake_put_null(body);
        fake_put_value(body, "\1\2\3\4\5", row == 1 ? 5 : 0);
        fake_put_null(body);
        fake_put_int(body, row == 1 ? 70000 : 0);
    }
}

static inline void fake_put_peers(struct vvcql_buffer *body, const struct fake_node *node)
{
    struct fake_cluster *cluster = node->cluster;
    uint32_t n = cluster->is_garbled ? 3 : 0;
    fake_begin_rows(body, FAKE_N_COMMON + 3);
    fake_put_common_columns(body);
    fake_put_column(body, "peer", VVCQL_TYPE_INET);
    fake_put_column(body, cluster->is_old ? "rpc_address" : "native_address", VVCQL_TYPE_INET);
    fake_put_column(body, cluster->is_old ? "peer_rank" : "native_port", VVCQL_TYPE_INT);
    for (int i = 0; i < cluster->n_nodes; i++) {
        n += i != node->number && cluster->nodes[i].is_listed;
    }
    vvcql_write_u32(body, n);
    if (cluster->is_garbled) {
        fake_put_garbled_peers(body);
    }
    for (int i = 0; i < cluster->n_nodes; i++) {
        const struct fake_node *peer = &cluster->nodes[i];
        if (i == node->number || !peer->is_listed) {
            continue;
        }
        fake_put_common(body, peer);
        fake_put_inet(body, peer->address);
        fake_put_inet(body, fake_told_address(peer));
        fake_put_int(body, cluster->is_old ? 0 : peer->port);
    }
}

static inline void fake_put_map(struct vvcql_buffer *body, const char *const *texts, uint32_t n)
{
    struct vvcql_buffer map = {0};
    vvcql_write_u32(&map, n / 2);
    for (uint32_t i = 0; i < n; i++) {
        fake_put_text(&map, texts[i]);
    }
    fake_put_value(body, map.data, map.size);
    vvcql_buffer_deinit(&map);
}

/* ks1: one replica; ks2: two in each of dc1 and dc2. */
static inline void fake_put_keyspaces(struct vvcql_buffer *body)
{
    static const char *const simple[] = {"class", "org.apache.cassandra.locator.SimpleStrategy",
                                         "replication_factor", "1"};
    static const char *const network[] = {
        "class", "org.apache.cassandra.locator.NetworkTopologyStrategy", "dc1", "2", "dc2", "2"};
    fake_begin_rows(body, 2);
    fake_put_column(body, "keyspace_name", VVCQL_TYPE_TEXT);
    fake_put_column(body, "replication", VVCQL_TYPE_MAP);
    vvcql_write_u32(body, 3);
    fake_put_text(body, "ks1");
    fake_put_map(body, simple, 4);
    fake_put_text(body, "ks2");
    fake_put_map(body, network, 6);
    fake_put_text(body, "odd");
    fake_put_value(body, "\0\0\0\4ab", 6);
}

/* ---- prepared texts ---- */

/* Of the salt and the text itself. */
static inline void fake_put_id(struct vvcql_buffer *id, uint8_t salt, const char *text)
{
    vvcql_write_u8(id, salt);
    vvcql_write_bytes(id, text, strlen(text));
}

/* Under the lock. The text is one of ks1, or of ks2 when it says so; its first value is the
 * partition key. */
static inline void fake_put_prepared(struct vvcql_buffer *body, const struct fake_node *node,
                                     const char *text)
{
    struct vvcql_buffer id = {0};
    uint32_t n = 0;
    for (const char *at = text; *at != '\0'; at++) {
        n += *at == '?';
    }
    fake_put_id(&id, node->salt, text);
    vvcql_write_u32(body, 4); /* prepared */
    vvcql_write_short_bytes(body, (struct vvcql_bytes){.data = id.data, .size = id.size});
    vvcql_buffer_deinit(&id);
    vvcql_write_u32(body, 1);
    vvcql_write_u32(body, n);
    vvcql_write_u32(body, n > 0 ? 1 : 0);
    if (n > 0) {
        vvcql_write_u16(body, 0);
    }
    vvcql_write_string(body, strstr(text, "ks2") != NULL ? "ks2" : "ks1");
    vvcql_write_string(body, "t");
    for (uint32_t i = 0; i < n; i++) {
        fake_put_column(body, "v", VVCQL_TYPE_INT);
    }
    vvcql_write_u32(body, 4); /* no metadata of rows */
    vvcql_write_u32(body, 0);
}

static inline void fake_learn(struct fake_node *node, const char *text)
{
    for (size_t i = 0; i < node->n_texts; i++) {
        if (strcmp(node->texts[i], text) == 0) {
            return;
        }
    }
    if (node->n_texts == FAKE_TEXTS_MAX) {
        abort();
    }
    node->texts[node->n_texts] = vv_sim_malloc(strlen(text) + 1);
    memcpy(node->texts[node->n_texts++], text, strlen(text) + 1);
}

static inline void fake_forget(struct fake_node *node)
{
    pthread_mutex_lock(&node->cluster->lock);
    while (node->n_texts > 0) {
        free(node->texts[--node->n_texts]);
    }
    pthread_mutex_unlock(&node->cluster->lock);
}

static inline bool fake_knows(struct fake_node *node, struct vvcql_bytes id)
{
    bool knows = false;
    pthread_mutex_lock(&node->cluster->lock);
    for (size_t i = 0; i < node->n_texts && !knows; i++) {
        struct vvcql_buffer own = {0};
        fake_put_id(&own, node->salt, node->texts[i]);
        knows = own.size == id.size && memcmp(own.data, id.data, id.size) == 0;
        vvcql_buffer_deinit(&own);
    }
    pthread_mutex_unlock(&node->cluster->lock);
    return knows;
}

/* The first id of the request that the node doesn't know; size 0: it knows all. */
static inline struct vvcql_bytes fake_unknown_id(struct fake_node *node,
                                                 const struct fake_request *request)
{
    struct vvcql_reader reader = {.at = request->body, .left = request->size};
    struct vvcql_bytes id = {0};
    if (request->opcode == VVCQL_OP_EXECUTE) {
        id = vvcql_read_short_bytes(&reader);
        return fake_knows(node, id) ? (struct vvcql_bytes){0} : id;
    }
    if (request->opcode != VVCQL_OP_BATCH) {
        return id;
    }
    (void)vvcql_read_u8(&reader);
    uint16_t n = vvcql_read_u16(&reader);
    for (uint16_t i = 0; i < n && !reader.failed; i++) {
        bool is_prepared = vvcql_read_u8(&reader) == 1;
        id = is_prepared ? vvcql_read_short_bytes(&reader) : vvcql_read_long_string(&reader);
        if (is_prepared && !fake_knows(node, id)) {
            return id;
        }
        uint16_t n_values = vvcql_read_u16(&reader);
        for (uint16_t k = 0; k < n_values; k++) {
            (void)vvcql_read_value(&reader);
        }
    }
    return (struct vvcql_bytes){0};
}

static inline bool fake_answer_unprepared(struct fake_peer *peer, int16_t stream,
                                          struct vvcql_bytes id)
{
    struct vvcql_buffer body = {0};
    vvcql_write_u32(&body, VVCQL_CODE_UNPREPARED);
    vvcql_write_string(&body, "I don't know that");
    vvcql_write_short_bytes(&body, id);
    return fake_answer(peer, stream, VVCQL_OP_ERROR, &body);
}

/* ---- requests ---- */

/* ERROR with the details that its code has. */
static inline bool fake_answer_failure(struct fake_peer *peer, int16_t stream, int32_t code)
{
    struct vvcql_buffer body = {0};
    vvcql_write_u32(&body, (uint32_t)code);
    vvcql_write_string(&body, "as told");
    vvcql_write_u16(&body, VVCQL_QUORUM);
    if (code == VVCQL_CODE_UNAVAILABLE) {
        vvcql_write_u32(&body, 2);
        vvcql_write_u32(&body, 1);
    } else if (code == VVCQL_CODE_READ_TIMEOUT) {
        vvcql_write_u32(&body, 2);
        vvcql_write_u32(&body, 2);
        vvcql_write_u8(&body, 0); /* without the data */
    } else if (code == VVCQL_CODE_WRITE_TIMEOUT) {
        vvcql_write_u32(&body, 1);
        vvcql_write_u32(&body, 2);
        vvcql_write_string(&body, "SIMPLE");
    }
    return fake_answer(peer, stream, VVCQL_OP_ERROR, &body);
}

/* false: the connection is to end. */
static inline bool fake_do(struct fake_peer *peer, const struct fake_request *request,
                           enum fake_deed deed, int32_t code)
{
    struct fake_node *node = peer->context;
    struct vvcql_buffer body = {0};
    char name[64];
    switch (deed) {
    case FAKE_ANSWER:
        return fake_answer_void(peer, request->stream);
    case FAKE_FAIL:
        return fake_answer_failure(peer, request->stream, code);
    case FAKE_SILENCE:
        return true;
    case FAKE_WAIT:
        return fake_wait(peer) && fake_answer_void(peer, request->stream);
    case FAKE_HANG_UP:
        return false;
    case FAKE_GARBLE:
        vvcql_write_u32(&body, 77);
        return fake_answer(peer, request->stream, VVCQL_OP_RESULT, &body);
    case FAKE_ROW:
        fake_begin_rows(&body, 1);
        fake_put_column(&body, "name", VVCQL_TYPE_TEXT);
        vvcql_write_u32(&body, 1);
        fake_node_name(node, name);
        fake_put_text(&body, name);
        return fake_answer(peer, request->stream, VVCQL_OP_RESULT, &body);
    }
    return false;
}

static inline bool fake_prepare(struct fake_peer *peer, const struct fake_request *request)
{
    struct fake_node *node = peer->context;
    struct vvcql_reader reader = {.at = request->body, .left = request->size};
    struct vvcql_bytes bytes = vvcql_read_long_string(&reader);
    char text[256] = "";
    memcpy(text, bytes.data, bytes.size < sizeof text ? bytes.size : 0);
    pthread_mutex_lock(&node->cluster->lock);
    enum fake_deed deed = node->prepare_deed;
    int32_t code = node->code;
    node->n_prepared++;
    struct vvcql_buffer body = {0};
    if (deed == FAKE_ANSWER || deed == FAKE_WAIT) {
        fake_learn(node, text);
        fake_put_prepared(&body, node, text);
        node->salt = (uint8_t)(node->salt + node->is_fickle);
    }
    pthread_cond_broadcast(&node->cluster->changed);
    pthread_mutex_unlock(&node->cluster->lock);
    if (body.size == 0) {
        return fake_do(peer, request, deed, code);
    }
    if (deed == FAKE_WAIT && !fake_wait(peer)) {
        vvcql_buffer_deinit(&body);
        return false;
    }
    return fake_answer(peer, request->stream, VVCQL_OP_RESULT, &body);
}

/* true: the request was for a system table, *body is the answer. Under the lock. */
static inline bool fake_put_system(struct fake_node *node, const struct fake_request *request,
                                   struct vvcql_buffer *body)
{
    if (fake_request_holds(request, "schema_version")) {
        fake_begin_rows(body, 1);
        fake_put_column(body, "schema_version", VVCQL_TYPE_UUID);
        vvcql_write_u32(body, 1);
        fake_put_host_id(body, node->salt);
    } else if (fake_request_holds(request, "system.local")) {
        fake_put_local(body, node);
        node->n_read++;
        pthread_cond_broadcast(&node->cluster->changed);
    } else if (fake_request_holds(request, "system.peers")) {
        fake_put_peers(body, node);
    } else if (fake_request_holds(request, "system_schema.keyspaces")) {
        fake_put_keyspaces(body);
    }
    return body->size > 0;
}

/* false: the connection is to end. */
static inline bool fake_query(struct fake_peer *peer, const struct fake_request *request)
{
    struct fake_node *node = peer->context;
    struct fake_cluster *cluster = node->cluster;
    struct vvcql_buffer body = {0};
    pthread_mutex_lock(&cluster->lock);
    bool is_unknown = cluster->is_old && fake_request_holds(request, "peers_v2");
    bool is_system = !is_unknown && fake_put_system(node, request, &body);
    pthread_mutex_unlock(&cluster->lock);
    if (is_unknown) {
        return fake_answer_error(peer, request->stream, VVCQL_CODE_INVALID, "no such table");
    }
    if (is_system) {
        return fake_answer(peer, request->stream, VVCQL_OP_RESULT, &body);
    }
    struct vvcql_bytes id = fake_unknown_id(node, request);
    if (id.size > 0) {
        return fake_answer_unprepared(peer, request->stream, id);
    }
    pthread_mutex_lock(&cluster->lock);
    enum fake_deed deed = node->deed;
    int32_t code = node->code;
    node->n_asked++;
    pthread_cond_broadcast(&cluster->changed);
    pthread_mutex_unlock(&cluster->lock);
    return fake_do(peer, request, deed, code);
}

static inline bool fake_serve_request(struct fake_peer *peer, const struct fake_request *request)
{
    struct fake_node *node = peer->context;
    if (request->opcode == VVCQL_OP_REGISTER) {
        pthread_mutex_lock(&node->cluster->lock);
        node->control = peer;
        pthread_mutex_unlock(&node->cluster->lock);
    }
    if (fake_answer_common(peer, request)) {
        return true;
    }
    return request->opcode == VVCQL_OP_PREPARE ? fake_prepare(peer, request)
                                               : fake_query(peer, request);
}

static inline void fake_serve_node(struct fake_peer *peer)
{
    struct fake_node *node = peer->context;
    struct fake_request request;
    while (fake_receive(peer, &request) && fake_serve_request(peer, &request)) {
    }
    pthread_mutex_lock(&node->cluster->lock);
    if (node->control == peer) {
        node->control = NULL;
    }
    pthread_mutex_unlock(&node->cluster->lock);
}

/* ---- what the test does ---- */

/* On the port it had before, if it had one. */
static inline void fake_node_start(struct fake_node *node)
{
    pthread_mutex_lock(&node->cluster->lock); /* a connection may come at once */
    (void)snprintf(node->address, sizeof node->address, "127.0.0.%d", node->number + 1);
    node->server = (struct fake_server){
        .authenticator = node->cluster->authenticator,
        .user = "varve",
        .password = node->cluster->password,
    };
    fake_server_start_at(&node->server, node->address, node->port, fake_serve_node, node);
    node->port = node->server.port;
    node->is_running = true;
    pthread_mutex_unlock(&node->cluster->lock);
}

/* Zero-initialised but for what may be set before. All nodes are in dc1, rack r1, and listed. */
static inline void fake_cluster_start(struct fake_cluster *cluster, int n_nodes)
{
    assert_int_equal(pthread_mutex_init(&cluster->lock, NULL), 0);
    assert_int_equal(pthread_cond_init(&cluster->changed, NULL), 0);
    cluster->n_nodes = n_nodes;
    for (int i = 0; i < n_nodes; i++) {
        struct fake_node *node = &cluster->nodes[i];
        node->cluster = cluster;
        node->number = i;
        node->is_listed = true;
        if (node->datacenter == NULL) {
            node->datacenter = "dc1";
        }
        node->rack = "r1";
        node->port = i > 0 && cluster->is_old ? cluster->nodes[0].port : 0;
        fake_node_start(node);
    }
}

static inline void fake_node_stop(struct fake_node *node)
{
    fake_server_stop(&node->server);
    node->is_running = false;
}

static inline void fake_cluster_stop(struct fake_cluster *cluster)
{
    for (int i = 0; i < cluster->n_nodes; i++) {
        if (cluster->nodes[i].is_running) {
            fake_node_stop(&cluster->nodes[i]);
        }
        fake_forget(&cluster->nodes[i]);
    }
    (void)pthread_mutex_destroy(&cluster->lock);
    (void)pthread_cond_destroy(&cluster->changed);
}

static inline void fake_node_do(struct fake_node *node, enum fake_deed deed, int32_t code)
{
    pthread_mutex_lock(&node->cluster->lock);
    node->deed = deed;
    node->code = code;
    pthread_mutex_unlock(&node->cluster->lock);
}

static inline void fake_all_do(struct fake_cluster *cluster, enum fake_deed deed, int32_t code)
{
    for (int i = 0; i < cluster->n_nodes; i++) {
        fake_node_do(&cluster->nodes[i], deed, code);
    }
}

static inline size_t fake_node_count(struct fake_node *node, const size_t *counter)
{
    pthread_mutex_lock(&node->cluster->lock);
    size_t n = *counter;
    pthread_mutex_unlock(&node->cluster->lock);
    return n;
}

static inline size_t fake_asked(struct fake_node *node)
{
    return fake_node_count(node, &node->n_asked);
}

static inline size_t fake_all_asked(struct fake_cluster *cluster)
{
    size_t n = 0;
    for (int i = 0; i < cluster->n_nodes; i++) {
        n += fake_asked(&cluster->nodes[i]);
    }
    return n;
}

/* Waits until a counter of the node is at least n. */
static inline void fake_await(struct fake_node *node, const size_t *counter, size_t n)
{
    pthread_mutex_lock(&node->cluster->lock);
    while (*counter < n) {
        pthread_cond_wait(&node->cluster->changed, &node->cluster->lock);
    }
    pthread_mutex_unlock(&node->cluster->lock);
}

/* Ends all connections; new ones are accepted. */
static inline void fake_node_drop(struct fake_node *node)
{
    pthread_mutex_lock(&node->server.lock);
    for (struct fake_peer *peer = node->server.peers; peer != NULL; peer = peer->next) {
        if (peer->fd >= 0) {
            (void)shutdown(peer->fd, SHUT_RDWR);
        }
    }
    pthread_mutex_unlock(&node->server.lock);
}

/* An event about a node, by whichever node has the control connection. */
static inline void fake_tell(struct fake_cluster *cluster, const char *type, const char *change,
                             const char *address, uint16_t port)
{
    struct in_addr in;
    (void)inet_pton(AF_INET, address, &in);
    for (int i = 0; i < cluster->n_nodes; i++) {
        pthread_mutex_lock(&cluster->lock);
        struct fake_peer *peer = cluster->nodes[i].control;
        pthread_mutex_unlock(&cluster->lock);
        if (peer == NULL) {
            continue;
        }
        struct vvcql_buffer body = {0};
        vvcql_write_string(&body, type);
        vvcql_write_string(&body, change);
        vvcql_write_u8(&body, sizeof in);
        vvcql_write_bytes(&body, &in, sizeof in);
        vvcql_write_u32(&body, port);
        (void)fake_answer(peer, -1, VVCQL_OP_EVENT, &body);
    }
}

/* "address:port" of the first n nodes, as contact points. */
static inline const char *fake_contact_points(const struct fake_cluster *cluster, int n,
                                              char text_out[256])
{
    size_t size = 0;
    for (int i = 0; i < n; i++) {
        size += (size_t)snprintf(text_out + size, 256 - size, "%s%s:%u", i > 0 ? ", " : "",
                                 cluster->nodes[i].address, cluster->nodes[i].port);
    }
    return text_out;
}

#endif
