/* SPDX-License-Identifier: Apache-2.0 */
/* The client side of HTTP. */
#include "cli/client.h"

#include "base/clock.h"
#include "cli/commands.h"
#include "cli/interrupt.h"
#include "cli/terminal.h"
#include "settings/value.h"

#include <curl/curl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#define DEFAULT_SERVER    "http://127.0.0.1:8987"
#define REPLY_BYTES_MAX   (1u << 20)
#define CONNECT_MS_MAX    5000L
#define SILENCE_SECONDS   300L /* without a byte: the connection is given up */
#define RETRY_SECONDS_MAX 3600

struct vv_client {
    CURL *curl;
    struct vv_client_options options;
    char problem[CURL_ERROR_SIZE];
};

/* What the callbacks of one call know. */
struct transfer {
    CURL *curl;
    const struct vv_call *call;
    struct vv_response *response;
    enum vv_status sink_status;
};

enum vv_status vv_client_setup(struct vv_error *error)
{
    if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) {
        return vv_error_set(error, VV_NO_MEMORY, "libcurl cannot be initialised");
    }
    return VV_OK;
}

static const char *first_text(const char *a, const char *b, const char *c)
{
    return a && *a ? a : b && *b ? b : c;
}

enum vv_status vv_client_configure(const struct vv_arguments *arguments,
                                   struct vv_client_options *options_out, struct vv_error *error)
{
    const char *server = first_text(vv_arguments_text(arguments, "server", NULL),
                                    getenv("VARVE_SERVER"), DEFAULT_SERVER);
    const char *tenant =
        first_text(vv_arguments_text(arguments, "tenant", NULL), getenv("VARVE_TENANT"), "default");
    bool scheme = strstr(server, "://") != NULL;
    if (scheme && strncasecmp(server, "http://", 7) != 0 &&
        strncasecmp(server, "https://", 8) != 0) {
        return vv_error_set(error, VV_INVALID,
                            "--server: '%.100s' begins with neither http:// nor https://", server);
    }
    int size = snprintf(options_out->server, sizeof options_out->server, "%s%s",
                        scheme ? "" : "http://", server);
    int tenant_size = snprintf(options_out->tenant, sizeof options_out->tenant, "%s", tenant);
    if (size < 0 || (size_t)size >= sizeof options_out->server || tenant_size < 0 ||
        (size_t)tenant_size >= sizeof options_out->tenant) {
        return vv_error_set(error, VV_INVALID, "--server or --tenant is too long");
    }
    while (size > 0 && options_out->server[size - 1] == '/') {
        options_out->server[--size] = '\0';
    }
    return VV_OK;
}

enum vv_status vv_client_create(const struct vv_client_options *options,
                                struct vv_client **client_out)
{
    struct vv_client *client = calloc(1, sizeof *client);
    if (!client) {
        return VV_NO_MEMORY;
    }
    client->options = *options;
    client->curl = curl_easy_init();
    if (!client->curl) {
        free(client);
        return VV_NO_MEMORY;
    }
    *client_out = client;
    return VV_OK;
}

void vv_client_destroy(struct vv_client *client)
{
    if (client) {
        curl_easy_cleanup(client->curl);
        free(client);
    }
}

static size_t on_body(char *bytes, size_t one, size_t n, void *context)
{
    struct transfer *transfer = context;
    size_t size = one * n;
    long code = 0;
    curl_easy_getinfo(transfer->curl, CURLINFO_RESPONSE_CODE, &code);
    if (transfer->call->sink && code >= 200 && code < 300) {
        transfer->sink_status = transfer->call->sink(transfer->call->context, bytes, size);
        return transfer->sink_status == VV_OK ? size : CURL_WRITEFUNC_ERROR;
    }
    vv_buffer_append(&transfer->response->body, bytes, size);
    return size;
}

/* The value of a header line if it has that name; spaces around it are taken off. */
static bool header_value(struct vv_str line, const char *name, struct vv_str *value_out)
{
    size_t length = strlen(name);
    if (line.size <= length || line.data[length] != ':' ||
        strncasecmp(line.data, name, length) != 0) {
        return false;
    }
    struct vv_str value = {line.data + length + 1, line.size - length - 1};
    while (value.size > 0 && *value.data == ' ') {
        value.data++;
        value.size--;
    }
    while (value.size > 0 && (unsigned char)value.data[value.size - 1] <= ' ') {
        value.size--;
    }
    *value_out = value;
    return true;
}

static size_t on_header(char *bytes, size_t one, size_t n, void *context)
{
    struct transfer *transfer = context;
    struct vv_str line = {bytes, one * n};
    struct vv_str value;
    int64_t number;
    if (header_value(line, "X-Varve-Refused", &value)) {
        snprintf(transfer->response->refused, sizeof transfer->response->refused, "%.*s",
                 VV_STR_ARG(value));
    } else if (header_value(line, "X-Varve-Accepted", &value) && vv_int_parse(value, &number) &&
               number >= 0) {
        transfer->response->accepted = number;
    } else if (header_value(line, "Retry-After", &value) && vv_int_parse(value, &number) &&
               number >= 0 && number <= RETRY_SECONDS_MAX) {
        transfer->response->retry_ns = number * VV_SECOND;
    }
    return line.size;
}

static int on_progress(void *context, curl_off_t a, curl_off_t b, curl_off_t c, curl_off_t d)
{
    const struct transfer *transfer = context;
    const atomic_bool *cancelled = transfer->call->cancelled;
    (void)a;
    (void)b;
    (void)c;
    (void)d;
    return vv_interrupted() || (cancelled && atomic_load(cancelled)) ? 1 : 0;
}

/* True: all headers fit in memory. */
static bool add_header(struct curl_slist **list, const char *name, const char *value)
{
    char line[256];
    snprintf(line, sizeof line, value ? "%s: %s" : "%s:", name, value);
    struct curl_slist *longer = curl_slist_append(*list, line);
    if (longer) {
        *list = longer;
    }
    return longer != NULL;
}

static bool make_headers(const struct vv_call *call, struct curl_slist **list_out)
{
    *list_out = NULL;
    return add_header(list_out, "Expect", NULL) &&
           add_header(list_out, "Content-Type", call->content_type) &&
           (!call->accept || add_header(list_out, "Accept", call->accept));
}

static void prepare(struct vv_client *client, struct transfer *transfer, const char *url,
                    struct curl_slist *headers)
{
    CURL *curl = client->curl;
    const struct vv_call *call = transfer->call;
    curl_easy_reset(curl); /* keeps the connection */
    curl_easy_setopt(curl, CURLOPT_URL, url);
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, call->method);
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(curl, CURLOPT_USERAGENT, "varve");
    curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, client->problem);
    curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS, CONNECT_MS_MAX);
    curl_easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, 1L);
    curl_easy_setopt(curl, CURLOPT_LOW_SPEED_TIME, SILENCE_SECONDS);
    curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, on_body);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, transfer);
    curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, on_header);
    curl_easy_setopt(curl, CURLOPT_HEADERDATA, transfer);
    curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
    curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, on_progress);
    curl_easy_setopt(curl, CURLOPT_XFERINFODATA, transfer);
    if (strcmp(call->method, "GET") != 0) {
        curl_easy_setopt(curl, CURLOPT_POSTFIELDS, call->body.data ? call->body.data : "");
        curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)call->body.size);
    }
}

/* Whether the failure came before anything was sent. */
static bool was_unreachable(CURLcode code)
{
    return code == CURLE_COULDNT_CONNECT || code == CURLE_COULDNT_RESOLVE_HOST ||
           code == CURLE_COULDNT_RESOLVE_PROXY || code == CURLE_URL_MALFORMAT ||
           code == CURLE_UNSUPPORTED_PROTOCOL || code == CURLE_SSL_CONNECT_ERROR ||
           code == CURLE_PEER_FAILED_VERIFICATION;
}

static enum vv_status explain(const struct vv_client *client, CURLcode code,
                              const struct transfer *transfer, struct vv_error *error)
{
    if (code == CURLE_OK) {
        return VV_OK;
    }
    if (transfer->sink_status != VV_OK) {
        return transfer->sink_status;
    }
    if (code == CURLE_ABORTED_BY_CALLBACK) {
        return vv_error_set(error, VV_CANCELLED, "interrupted");
    }
    const char *problem = client->problem[0] ? client->problem : curl_easy_strerror(code);
    if (code == CURLE_OUT_OF_MEMORY) {
        return vv_error_set(error, VV_NO_MEMORY, "out of memory");
    }
    if (was_unreachable(code)) {
        return vv_error_set(error, VV_IO, "cannot reach %s: %s", client->options.server, problem);
    }
    return vv_error_set(error, VV_UNKNOWN, "the connection to %s broke: %s", client->options.server,
                        problem);
}

enum vv_status vv_client_call(struct vv_client *client, const struct vv_call *call,
                              struct vv_response *response_out, struct vv_error *error)
{
    char url[4096];
    struct curl_slist *headers = NULL;
    struct transfer transfer = {.curl = client->curl, .call = call, .response = response_out};
    *response_out = (struct vv_response){.accepted = -1, .body = {.limit = REPLY_BYTES_MAX}};
    int size = snprintf(url, sizeof url, "%s%s", client->options.server, call->path);
    if (size < 0 || (size_t)size >= sizeof url) {
        return vv_error_set(error, VV_INVALID, "the address of the request is too long");
    }
    client->problem[0] = '\0';
    CURLcode code = CURLE_OUT_OF_MEMORY;
    if (make_headers(call, &headers)) {
        prepare(client, &transfer, url, headers);
        code = curl_easy_perform(client->curl);
    }
    curl_easy_getinfo(client->curl, CURLINFO_RESPONSE_CODE, &response_out->code);
    curl_slist_free_all(headers);
    return explain(client, code, &transfer, error);
}

void vv_response_deinit(struct vv_response *response)
{
    vv_buffer_deinit(&response->body);
}

void vv_response_message(const struct vv_response *response, struct vv_error *error_out)
{
    const char *text = (const char *)response->body.data;
    json_t *root = json_loadb(text ? text : "", response->body.size, 0, NULL);
    const char *message = json_string_value(json_object_get(root, "message"));
    if (!message) {
        message = json_string_value(json_object_get(root, "error"));
    }
    if (message) {
        (void)vv_error_set(error_out, VV_OK, "%s", message);
    } else {
        (void)vv_error_set(error_out, VV_OK,
                           "the server answered %ld, not in the words of Varve's API; is it one?",
                           response->code);
    }
    json_decref(root);
}

int vv_client_fail(const struct vv_client_options *options, enum vv_status status,
                   const struct vv_error *error)
{
    if (status == VV_CANCELLED) {
        vv_say_error("interrupted");
        return VV_EXIT_INTERRUPTED;
    }
    vv_say_error("%s", error->message);
    if (status == VV_IO) {
        bool usual = strcmp(options->server, DEFAULT_SERVER) == 0;
        vv_say_hint("%s", usual ? "start one with `varve serve`, or name another with --server URL"
                                : "is it running, and is --server right?");
        return VV_EXIT_UNREACHABLE;
    }
    return status == VV_INVALID ? VV_EXIT_USAGE : VV_EXIT_FAILED;
}

int vv_response_fail(const struct vv_response *response)
{
    struct vv_error error = {0};
    vv_response_message(response, &error);
    vv_say_error("%s", error.message);
    return response->code == 400 ? VV_EXIT_USAGE : VV_EXIT_FAILED;
}

void vv_form_add(struct vv_buffer *form, const char *name, struct vv_str value)
{
    static const char hex[] = "0123456789ABCDEF";
    if (form->size > 0) {
        vv_buffer_u8(form, '&');
    }
    vv_buffer_text(form, name);
    vv_buffer_u8(form, '=');
    for (size_t i = 0; i < value.size; i++) {
        unsigned char byte = (unsigned char)value.data[i];
        bool plain = (byte >= '0' && byte <= '9') || (byte >= 'A' && byte <= 'Z') ||
                     (byte >= 'a' && byte <= 'z') || strchr("-._~", byte);
        if (plain && byte != '\0') {
            vv_buffer_u8(form, byte);
        } else {
            const char code[] = {'%', hex[byte >> 4], hex[byte & 15]};
            vv_buffer_append(form, code, sizeof code);
        }
    }
}

void vv_form_add_options(struct vv_buffer *form, const struct vv_arguments *arguments,
                         const char *const *names, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        size_t at = 0;
        const char *value = vv_arguments_next(arguments, names[i], &at);
        while (value) {
            bool repeats = arguments->given[at - 1].option->repeats;
            const char *next = vv_arguments_next(arguments, names[i], &at);
            if (repeats || !next) {
                vv_form_add(form, names[i], vv_str_of(value));
            }
            value = next;
        }
    }
}
