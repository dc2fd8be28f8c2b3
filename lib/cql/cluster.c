/* SPDX-License-Identifier: Apache-2.0 */
/* The cluster: its life, and looking hosts up. What changes hosts is in apply.c. */
#include "cluster.h"

#include "address.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPLAINED_MAX 3

bool vvcql_cluster_init(struct vvcql_cluster *cluster)
{
    if (cluster->settings->options.local_datacenter != NULL)
        snprintf(cluster->local_datacenter, sizeof(cluster->local_datacenter), "%s",
                 cluster->settings->options.local_datacenter);
    if (pthread_mutex_init(&cluster->lock, NULL) != 0)
        return false;
    if (!vvcql_control_init(&cluster->control, cluster)) {
        pthread_mutex_destroy(&cluster->lock);
        return false;
    }
    return true;
}

void vvcql_cluster_deinit(struct vvcql_cluster *cluster)
{
    for (uint32_t i = 0; i < cluster->n_hosts; i++)
        vvcql_host_destroy(cluster->hosts[i]);
    free(cluster->hosts);
    vvcql_token_map_destroy(cluster->map);
    vvcql_control_deinit(&cluster->control);
    pthread_mutex_destroy(&cluster->lock);
}

void vvcql_cluster_start(struct vvcql_cluster *cluster)
{
    vvcql_control_start(&cluster->control);
}

void vvcql_cluster_close(struct vvcql_cluster *cluster)
{
    cluster->is_closing = true;
    vvcql_control_close(&cluster->control);
    for (uint32_t i = 0; i < cluster->n_hosts; i++)
        vvcql_host_disconnect(cluster->hosts[i]);
    vvcql_cluster_check_closed(cluster);
}

void vvcql_cluster_check_closed(struct vvcql_cluster *cluster)
{
    if (!cluster->is_closing || cluster->is_closed || cluster->n_connections > 0 ||
        !vvcql_control_is_idle(&cluster->control))
        return;
    cluster->is_closed = true;
    cluster->on_closed(cluster->context);
}

struct vvcql_host *vvcql_cluster_find_name(const struct vvcql_cluster *cluster, const char *name)
{
    for (uint32_t i = 0; i < cluster->n_hosts; i++) {
        if (strcmp(cluster->hosts[i]->name, name) == 0)
            return cluster->hosts[i];
    }
    return NULL;
}

struct vvcql_host *vvcql_cluster_find_address(const struct vvcql_cluster *cluster,
                                              const struct sockaddr_storage *address)
{
    for (uint32_t i = 0; i < cluster->n_hosts; i++) {
        if (vvcql_address_equal(&cluster->hosts[i]->address, address))
            return cluster->hosts[i];
    }
    return NULL;
}

void vvcql_cluster_connection_options(const struct vvcql_cluster *cluster,
                                      const struct vvcql_candidate *candidate,
                                      struct vvcql_connection_options *options_out)
{
    const struct vvcql_options *options = &cluster->settings->options;
    *options_out = (struct vvcql_connection_options){
        .address = candidate->address,
        .name = candidate->name,
        .tls = cluster->tls,
        .user = options->user,
        .password = options->password != NULL ? options->password : "",
        .compress = !options->no_compression,
        .requests_max = options->requests_per_connection_max,
        .frame_bytes_max = options->frame_bytes_max,
        .connect_timeout_ms = options->connect_timeout_ms,
        .heartbeat_ms = options->heartbeat_ms,
    };
}

static const char *why_down(const struct vvcql_host *host)
{
    if (!host->is_wanted)
        return "in another data centre";
    return host->last_error.message[0] != '\0' ? host->last_error.message : "not connected yet";
}

static void explain_hosts(const struct vvcql_cluster *cluster, struct vvcql_error *error_out)
{
    char text[VVCQL_MESSAGE_MAX];
    size_t size = 0;
    uint32_t n = cluster->n_local > 0 ? cluster->n_local : cluster->n_hosts;
    for (uint32_t i = 0; i < n && i < EXPLAINED_MAX && size < sizeof(text); i++)
        size += (size_t)snprintf(text + size, sizeof(text) - size, "%s%s: %s", i > 0 ? "; " : "",
                                 cluster->hosts[i]->name, why_down(cluster->hosts[i]));
    vvcql_error_set(error_out, VVCQL_UNREACHABLE, "no host of %s%s is connected: %s%s",
                    cluster->local_datacenter[0] != '\0' ? "data centre " : "the cluster",
                    cluster->local_datacenter, text, n > EXPLAINED_MAX ? "; …" : "");
}

void vvcql_cluster_explain(const struct vvcql_cluster *cluster, struct vvcql_error *error_out)
{
    if (cluster->n_hosts > 0)
        explain_hosts(cluster, error_out);
    else if (cluster->control.error.status != VVCQL_OK)
        vvcql_error_set(error_out, VVCQL_UNREACHABLE, "%s", cluster->control.error.message);
    else
        vvcql_error_set(error_out, VVCQL_UNREACHABLE, "no contact point has answered yet");
}

/* ---- the session's opening ---- */

static void opened(struct vvcql_cluster *cluster, const struct vvcql_error *error)
{
    if (cluster->is_opened)
        return;
    cluster->is_opened = true;
    cluster->on_opened(cluster->context, error);
}

void vvcql_cluster_fail(struct vvcql_cluster *cluster, const struct vvcql_error *error)
{
    if (!cluster->is_patient)
        opened(cluster, error);
}

void vvcql_cluster_host_ready(struct vvcql_cluster *cluster)
{
    bool is_local_up = false;
    for (uint32_t i = 0; i < cluster->n_local && !cluster->is_opened && !is_local_up; i++)
        is_local_up = vvcql_host_is_up(cluster->hosts[i]);
    if (is_local_up)
        opened(cluster, NULL);
    cluster->on_room(cluster->context);
}

void vvcql_cluster_host_failed(struct vvcql_cluster *cluster, const struct vvcql_host *host)
{
    struct vvcql_error error;
    bool refused = false;
    if (cluster->is_opened || cluster->is_patient || !host->is_local)
        return;
    for (uint32_t i = 0; i < cluster->n_local; i++) {
        if (!cluster->hosts[i]->has_failed)
            return;
        refused = refused || cluster->hosts[i]->last_error.status == VVCQL_REFUSED;
    }
    vvcql_cluster_explain(cluster, &error);
    error.status = refused ? VVCQL_REFUSED : VVCQL_UNREACHABLE;
    opened(cluster, &error);
}
