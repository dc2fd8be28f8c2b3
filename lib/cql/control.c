/* SPDX-License-Identifier: Apache-2.0 */
/* The control connection: where it goes, and its life. What it reads is in reading.c. */
#include "control.h"

#include "address.h"
#include "cluster.h"
#include "control_private.h"
#include "policy.h"

#include <stdlib.h>
#include <string.h>

#define ADDRESSES_OF_NAME_MAX  16
#define REFRESH_AFTER_EVENT_MS 100
#define STREAMS                32

static void advance(struct vvcql_control *control);

static void set_retry(struct vvcql_control *control, uint64_t at_ms)
{
    /* Set at all times, but for the call of expired(): there is a place for it. */
    (void)!vvcql_deadline_set(&control->cluster->loop->deadlines, &control->retry, at_ms);
}

/* ---- candidates ---- */

/* One that is there already stays one. Without memory it is left out. */
static void add_candidate(struct vvcql_control *control, const struct sockaddr_storage *address,
                          const char *name)
{
    for (size_t i = 0; i < control->n_candidates; i++) {
        if (vvcql_address_equal(&control->candidates[i].address, address))
            return;
    }
    if (control->n_candidates == control->candidates_capacity) {
        size_t capacity = control->candidates_capacity * 2 + 8;
        struct vvcql_candidate *candidates =
            realloc(control->candidates, capacity * sizeof(*candidates));
        if (candidates == NULL) {
            vvcql_control_note(control, VVCQL_NO_MEMORY, "out of memory");
            return;
        }
        control->candidates = candidates;
        control->candidates_capacity = capacity;
    }
    control->candidates[control->n_candidates++] =
        (struct vvcql_candidate){.address = *address, .name = name};
}

/* Hosts that are up first; each client begins with another one, so that they spread. */
static void add_hosts(struct vvcql_control *control)
{
    struct vvcql_cluster *cluster = control->cluster;
    if (cluster->n_hosts == 0)
        return;
    uint32_t n = cluster->n_local > 0 ? cluster->n_local : cluster->n_hosts;
    uint32_t start = (uint32_t)(vvcql_random(&cluster->loop->random_state) % n);
    for (int pass = 0; pass < 2; pass++) {
        for (uint32_t i = 0; i < n; i++) {
            const struct vvcql_host *host = cluster->hosts[(start + i) % n];
            if (vvcql_host_is_up(host) == (pass == 0))
                add_candidate(control, host->use_other ? &host->other : &host->address,
                              host->found_by);
        }
    }
}

static void begin_round(struct vvcql_control *control)
{
    control->n_candidates = 0;
    control->at = 0;
    control->at_contact = 0;
    memset(&control->round_error, 0, sizeof(control->round_error));
    add_hosts(control);
    advance(control);
}

static void on_retry(struct vvcql_deadline *deadline)
{
    struct vvcql_control *control =
        (struct vvcql_control *)((char *)deadline - offsetof(struct vvcql_control, retry));
    set_retry(control, VVCQL_NEVER);
    begin_round(control);
}

void vvcql_control_note_error(struct vvcql_control *control, const struct vvcql_error *error)
{
    if (control->round_error.status != VVCQL_REFUSED)
        control->round_error = *error;
}

void vvcql_control_note(struct vvcql_control *control, enum vvcql_status status,
                        const char *message)
{
    struct vvcql_error error;
    vvcql_error_set(&error, status, "%s", message);
    vvcql_control_note_error(control, &error);
}

static void round_failed(struct vvcql_control *control)
{
    struct vvcql_cluster *cluster = control->cluster;
    const struct vvcql_options *options = &cluster->settings->options;
    bool refused = control->round_error.status == VVCQL_REFUSED;
    vvcql_error_set(&control->error, refused ? VVCQL_REFUSED : VVCQL_UNREACHABLE, "%s: %s",
                    refused ? "Cassandra turned the session away"
                            : "no contact point can be reached",
                    control->round_error.message);
    vvcql_loop_log(cluster->loop, "control_failed", "%s", control->error.message);
    vvcql_cluster_fail(cluster, &control->error);
    control->rounds_failed++;
    uint32_t first_ms = refused ? options->reconnect_last_ms : options->reconnect_first_ms;
    uint32_t wait_ms = vvcql_backoff_ms(first_ms, options->reconnect_last_ms,
                                        control->rounds_failed, &cluster->loop->random_state);
    set_retry(control, vvcql_loop_now(cluster->loop) + wait_ms);
}

/* ---- names ---- */

static void on_looked_up(uv_getaddrinfo_t *lookup, int status, struct addrinfo *addresses)
{
    struct vvcql_control *control = lookup->data;
    struct vvcql_cluster *cluster = control->cluster;
    const struct vvcql_contact *contact = &cluster->settings->contacts[control->at_contact - 1];
    control->is_looking_up = false;
    if (status != 0) {
        struct vvcql_error error;
        vvcql_error_set(&error, VVCQL_UNREACHABLE, "the name %s can't be looked up: %s",
                        contact->host, uv_strerror(status));
        vvcql_control_note_error(control, &error);
    }
    int n = 0;
    for (struct addrinfo *at = addresses; at != NULL && n < ADDRESSES_OF_NAME_MAX; n++) {
        struct sockaddr_storage address = {0};
        memcpy(&address, at->ai_addr, at->ai_addrlen);
        vvcql_address_set_port(&address, contact->port);
        add_candidate(control, &address, contact->host);
        at = at->ai_next;
    }
    uv_freeaddrinfo(addresses);
    advance(control);
    vvcql_cluster_check_closed(cluster);
}

/* false: it can't be begun. */
static bool look_up(struct vvcql_control *control, const struct vvcql_contact *contact)
{
    struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
    control->lookup.data = control;
    int status = uv_getaddrinfo(&control->cluster->loop->uv, &control->lookup, on_looked_up,
                                contact->host, NULL, &hints);
    if (status != 0) {
        vvcql_control_note(control, VVCQL_UNREACHABLE, uv_strerror(status));
        return false;
    }
    control->is_looking_up = true;
    return true;
}

/* ---- the connection ---- */

static void on_ready(void *context, struct vvcql_connection *connection)
{
    (void)connection;
    vvcql_control_read(context);
}

static void on_status(struct vvcql_control *control, const struct vvcql_event *event)
{
    struct sockaddr_storage address;
    if (!vvcql_address_set(&address, event->address, event->port))
        return;
    struct vvcql_host *host = vvcql_cluster_find_address(control->cluster, &address);
    if (host == NULL) {
        control->settle = true;
        vvcql_control_read_in(control, REFRESH_AFTER_EVENT_MS);
    } else if (!vvcql_host_is_up(host)) {
        host->failures = 0;
        if (host->n_connections == 0)
            vvcql_host_connect(host);
    }
}

static void on_event(void *context, const struct vvcql_event *event)
{
    struct vvcql_control *control = context;
    switch (event->kind) {
    case VVCQL_EVENT_UP:
        on_status(control, event);
        break;
    case VVCQL_EVENT_NEW_NODE:
    case VVCQL_EVENT_REMOVED_NODE:
    case VVCQL_EVENT_MOVED_NODE:
        control->settle = true;
        vvcql_control_read_in(control, REFRESH_AFTER_EVENT_MS);
        break;
    case VVCQL_EVENT_SCHEMA:
        vvcql_control_read_in(control, REFRESH_AFTER_EVENT_MS);
        break;
    case VVCQL_EVENT_DOWN: /* connections tell */
    case VVCQL_EVENT_OTHER:
        break;
    }
}

static void on_closed(void *context, struct vvcql_connection *connection,
                      const struct vvcql_error *error)
{
    struct vvcql_control *control = context;
    bool was_established = control->is_established;
    (void)connection;
    control->connection = NULL;
    control->is_established = false;
    vvcql_control_forget(control);
    if (error->status != VVCQL_CLOSED) /* else the reason was noted before */
        vvcql_control_note_error(control, error);
    if (was_established && !control->cluster->is_closing) {
        vvcql_loop_log(control->cluster->loop, "control_lost", "%s", error->message);
        begin_round(control);
    } else {
        advance(control);
    }
    vvcql_cluster_check_closed(control->cluster);
}

/* false: no memory. */
static bool connect_to(struct vvcql_control *control, const struct vvcql_candidate *candidate)
{
    struct vvcql_connection_options options;
    control->present = *candidate;
    vvcql_cluster_connection_options(control->cluster, candidate, &options);
    options.want_events = true;
    options.requests_max = STREAMS; /* its own, however few the options allow to requests */
    options.context = control;
    options.on_ready = on_ready;
    options.on_event = on_event;
    options.on_closed = on_closed;
    control->connection = vvcql_connection_create(control->cluster->loop, &options);
    if (control->connection == NULL)
        vvcql_control_note(control, VVCQL_NO_MEMORY, "out of memory");
    return control->connection != NULL;
}

/* Goes on to the next candidate: one is being tried afterwards, or the round has failed. */
static void advance(struct vvcql_control *control)
{
    const struct vvcql_settings *settings = control->cluster->settings;
    while (!control->cluster->is_closing) {
        if (control->at < control->n_candidates) {
            if (connect_to(control, &control->candidates[control->at++]))
                return;
        } else if (control->at_contact < settings->n_contacts) {
            const struct vvcql_contact *contact = &settings->contacts[control->at_contact++];
            if (contact->is_address)
                add_candidate(control, &contact->address, NULL);
            else if (look_up(control, contact))
                return;
        } else {
            round_failed(control);
            return;
        }
    }
}

bool vvcql_control_init(struct vvcql_control *control, struct vvcql_cluster *cluster)
{
    control->cluster = cluster;
    control->retry.expired = on_retry;
    if (!vvcql_deadline_set(&cluster->loop->deadlines, &control->retry, VVCQL_NEVER))
        return false;
    if (!vvcql_control_init_reading(control)) {
        vvcql_deadline_clear(&cluster->loop->deadlines, &control->retry);
        return false;
    }
    return true;
}

void vvcql_control_deinit(struct vvcql_control *control)
{
    vvcql_deadline_clear(&control->cluster->loop->deadlines, &control->retry);
    vvcql_deadline_clear(&control->cluster->loop->deadlines, &control->refresh);
    free(control->candidates);
}

void vvcql_control_start(struct vvcql_control *control)
{
    begin_round(control);
}

void vvcql_control_close(struct vvcql_control *control)
{
    set_retry(control, VVCQL_NEVER);
    vvcql_control_forget(control);
    if (control->connection != NULL)
        vvcql_connection_close(control->connection);
    if (control->is_looking_up)
        (void)uv_cancel((uv_req_t *)&control->lookup);
}

bool vvcql_control_is_idle(const struct vvcql_control *control)
{
    return control->connection == NULL && !control->is_looking_up;
}
