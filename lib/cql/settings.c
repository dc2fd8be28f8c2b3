/* SPDX-License-Identifier: Apache-2.0 */
/* A session's options: copied, filled in and checked. */
#include "settings.h"

#include "host.h"
#include "stream_ids.h"
#include "wire.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#define SPECULATIVE_MAX 8
#define REQUESTS_MAX    1000000

/* All texts among the options. */
static size_t texts_of(struct vvcql_options *options, const char **texts_out[8])
{
    size_t n = 0;
    texts_out[n++] = &options->contact_points;
    texts_out[n++] = &options->local_datacenter;
    texts_out[n++] = &options->user;
    texts_out[n++] = &options->password;
    texts_out[n++] = &options->tls.ca_file;
    texts_out[n++] = &options->tls.certificate_file;
    texts_out[n++] = &options->tls.key_file;
    texts_out[n++] = &options->tls.key_password;
    return n;
}

static bool copy_texts(struct vvcql_options *options)
{
    const char **texts[8];
    size_t n = texts_of(options, texts);
    bool copied = true;
    for (size_t i = 0; i < n; i++) {
        if (*texts[i] == NULL)
            continue;
        struct vvcql_bytes text = {(const uint8_t *)*texts[i], strlen(*texts[i])};
        *texts[i] = copied ? vvcql_duplicate(text) : NULL;
        copied = copied && *texts[i] != NULL;
    }
    return copied;
}

static void set_default(uint32_t *option, uint32_t value)
{
    if (*option == 0)
        *option = value;
}

static void set_defaults(struct vvcql_options *options)
{
    if (options->port == 0)
        options->port = 9042;
    if (options->consistency == VVCQL_ANY)
        options->consistency = VVCQL_LOCAL_QUORUM;
    if (options->local_datacenter != NULL && options->local_datacenter[0] == '\0') {
        free((char *)options->local_datacenter);
        options->local_datacenter = NULL;
    }
    set_default(&options->connections_per_host, 2);
    set_default(&options->requests_per_connection_max, 1024);
    set_default(&options->requests_max, 8192);
    set_default(&options->frame_bytes_max, UINT32_C(256) << 20);
    set_default(&options->connect_timeout_ms, 5000);
    set_default(&options->request_timeout_ms, 12000);
    set_default(&options->heartbeat_ms, 30000);
    set_default(&options->reconnect_first_ms, 500);
    set_default(&options->reconnect_last_ms, 30000);
    set_default(&options->retries_max, 3);
    set_default(&options->speculative_delay_ms, UINT32_MAX);
    set_default(&options->speculative_max, 1);
    while (options->seed == 0) {
        if (getrandom(&options->seed, sizeof(options->seed), 0) != sizeof(options->seed))
            options->seed = (uint64_t)(uintptr_t)options | 1;
    }
}

static enum vvcql_status check(const struct vvcql_options *options, struct vvcql_error *error)
{
    if (options->connections_per_host > VVCQL_CONNECTIONS_MAX)
        return vvcql_error_set(error, VVCQL_INVALID, "connections_per_host must be at most %d",
                               VVCQL_CONNECTIONS_MAX);
    if (options->requests_per_connection_max > VVCQL_STREAMS_MAX)
        return vvcql_error_set(error, VVCQL_INVALID,
                               "requests_per_connection_max must be at most %d", VVCQL_STREAMS_MAX);
    if (options->requests_max > REQUESTS_MAX)
        return vvcql_error_set(error, VVCQL_INVALID, "requests_max must be at most %d",
                               REQUESTS_MAX);
    if (options->speculative_max > SPECULATIVE_MAX)
        return vvcql_error_set(error, VVCQL_INVALID, "speculative_max must be at most %d",
                               SPECULATIVE_MAX);
    if (options->consistency == VVCQL_SERIAL || options->consistency == VVCQL_LOCAL_SERIAL)
        return vvcql_error_set(error, VVCQL_INVALID,
                               "the session's consistency can't be a serial one: it is for writes "
                               "too");
    if (options->reconnect_first_ms > options->reconnect_last_ms)
        return vvcql_error_set(error, VVCQL_INVALID,
                               "reconnect_first_ms must be at most reconnect_last_ms");
    if (options->local_datacenter != NULL && strlen(options->local_datacenter) > 127)
        return vvcql_error_set(error, VVCQL_INVALID, "the name of local_datacenter is too long");
    return VVCQL_OK;
}

enum vvcql_status vvcql_settings_init(struct vvcql_settings *settings,
                                      const struct vvcql_options *options,
                                      struct vvcql_error *error)
{
    memset(settings, 0, sizeof(*settings));
    if (options == NULL || options->contact_points == NULL)
        return vvcql_error_set(error, VVCQL_INVALID, "contact_points are missing");
    settings->options = *options;
    enum vvcql_status status = VVCQL_OK;
    if (!copy_texts(&settings->options))
        status = vvcql_error_set(error, VVCQL_NO_MEMORY, "out of memory");
    if (status == VVCQL_OK) {
        set_defaults(&settings->options);
        status = check(&settings->options, error);
    }
    if (status == VVCQL_OK)
        status = vvcql_contacts_parse(settings->options.contact_points, settings->options.port,
                                      &settings->contacts, &settings->n_contacts, error);
    if (status != VVCQL_OK)
        vvcql_settings_deinit(settings);
    return status;
}

void vvcql_settings_deinit(struct vvcql_settings *settings)
{
    const char **texts[8];
    size_t n = texts_of(&settings->options, texts);
    for (size_t i = 0; i < n; i++)
        free((char *)*texts[i]);
    vvcql_contacts_free(settings->contacts, settings->n_contacts);
    memset(settings, 0, sizeof(*settings));
}
