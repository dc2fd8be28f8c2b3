/* SPDX-License-Identifier: Apache-2.0 */
/* A small HTTP client for tests: sends any bytes, reads answers one by one. */
#ifndef VV_TEST_HTTP_CLIENT_H
#define VV_TEST_HTTP_CLIENT_H

#include "base/bytes.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

struct client {
    int fd;
    struct vv_buffer in; /* received and not yet taken */
};

struct response {
    int code;   /* 0: the connection ended before an answer */
    char *head; /* with a newline before each header */
    char *body;
    size_t body_size;
    bool complete;
};

static inline struct client client_connect(const char *address)
{
    struct client client = {.fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    const char *colon = strrchr(address, ':');
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)atoi(colon + 1)),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    vv_invariant(connect(client.fd, (const struct sockaddr *)&to, sizeof to) == 0);
    return client;
}

static inline void client_close(struct client *client)
{
    close(client->fd);
    vv_buffer_deinit(&client->in);
}

/* False when the server has closed. */
static inline bool client_send(struct client *client, const void *bytes, size_t size)
{
    const char *at = bytes;
    while (size > 0) {
        ssize_t sent = send(client->fd, at, size, MSG_NOSIGNAL);
        if (sent <= 0) {
            return false;
        }
        at += sent;
        size -= (size_t)sent;
    }
    return true;
}

static inline bool client_more(struct client *client)
{
    uint8_t *room = vv_buffer_reserve(&client->in, 65536);
    ssize_t got = recv(client->fd, room, 65536, 0);
    client->in.size += got > 0 ? (size_t)got : 0;
    return got > 0;
}

static inline char *client_take(struct client *client, size_t size)
{
    char *text = malloc(size + 1);
    if (size > 0) {
        memcpy(text, client->in.data, size);
    }
    text[size] = '\0';
    memmove(client->in.data, client->in.data + size, client->in.size - size);
    client->in.size -= size;
    return text;
}

static inline const char *response_header(const struct response *response, const char *name,
                                          char *out, size_t out_size)
{
    size_t length = strlen(name);
    out[0] = '\0';
    for (const char *line = strchr(response->head, '\n'); line; line = strchr(line + 1, '\n')) {
        if (strncasecmp(line + 1, name, length) == 0 && line[1 + length] == ':') {
            snprintf(out, out_size, "%.*s", (int)strcspn(line + length + 3, "\r\n"),
                     line + length + 3);
            return out;
        }
    }
    return NULL;
}

/* Takes bytes until the input has `size`; false at the end. */
static inline bool client_need(struct client *client, size_t size)
{
    while (client->in.size < size) {
        if (!client_more(client)) {
            return false;
        }
    }
    return true;
}

static inline size_t client_line(struct client *client)
{
    for (;;) {
        const char *end = client->in.size ? memchr(client->in.data, '\n', client->in.size) : NULL;
        if (end) {
            return (size_t)(end - (const char *)client->in.data) + 1;
        }
        if (!client_more(client)) {
            return 0;
        }
    }
}

static inline bool client_chunks(struct client *client, struct vv_buffer *body)
{
    for (;;) {
        size_t line = client_line(client);
        if (line == 0) {
            return false;
        }
        char *text = client_take(client, line);
        size_t size = strtoul(text, NULL, 16);
        free(text);
        if (!client_need(client, size + 2)) {
            return false;
        }
        char *chunk = client_take(client, size + 2);
        vv_buffer_append(body, chunk, size);
        free(chunk);
        if (size == 0) {
            return true;
        }
    }
}

static inline struct response client_receive(struct client *client, bool has_body)
{
    struct response response = {.head = calloc(1, 1), .body = calloc(1, 1)};
    struct vv_buffer head = {0};
    size_t line;
    do {
        line = client_line(client);
        char *text = client_take(client, line);
        vv_buffer_append(&head, text, line);
        free(text);
    } while (line > 2);
    vv_buffer_u8(&head, 0);
    free(response.head);
    response.head = (char *)head.data;
    if (line == 0) {
        return response;
    }
    response.code = atoi(response.head + strlen("HTTP/1.1 "));
    if (response.code == 100) {
        free(response.head);
        free(response.body);
        return client_receive(client, has_body);
    }
    char value[64];
    struct vv_buffer body = {0};
    if (!has_body || response.code == 204) {
        response.complete = true;
    } else if (response_header(&response, "Transfer-Encoding", value, sizeof value)) {
        response.complete = client_chunks(client, &body);
    } else if (response_header(&response, "Content-Length", value, sizeof value)) {
        size_t size = strtoul(value, NULL, 10);
        response.complete = client_need(client, size);
        size = response.complete ? size : client->in.size;
        char *text = client_take(client, size);
        vv_buffer_append(&body, text, size);
        free(text);
    }
    response.body_size = body.size;
    vv_buffer_u8(&body, 0);
    free(response.body);
    response.body = (char *)body.data;
    return response;
}

static inline void response_free(struct response *response)
{
    free(response->head);
    free(response->body);
}

/* A request with a body (NULL: none) on a connection of its own; extra headers end with \r\n. */
static inline struct response client_request(const char *address, const char *method,
                                             const char *target, const char *headers,
                                             const void *body, size_t size)
{
    struct client client = client_connect(address);
    struct vv_buffer request = {0};
    vv_buffer_format(&request, "%s %s HTTP/1.1\r\nHost: test\r\n%s", method, target, headers);
    if (body) {
        vv_buffer_format(&request, "Content-Length: %zu\r\n", size);
    }
    vv_buffer_text(&request, "\r\n");
    client_send(&client, request.data, request.size);
    client_send(&client, body, size);
    struct response response = client_receive(&client, strcmp(method, "HEAD") != 0);
    vv_buffer_deinit(&request);
    client_close(&client);
    return response;
}

#endif
