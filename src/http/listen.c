/* SPDX-License-Identifier: Apache-2.0 */
/* Listening sockets for IPv4 and IPv6. */
#include "http/listen.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define BACKLOG           1024
#define SEND_BUFFER_BYTES (128 * 1024)
#define PORT_MAX          65535

static enum vv_status malformed(const char *text, struct vv_error *error)
{
    return vv_error_set(error, VV_INVALID,
                        "'%s' is no address to listen on; give HOST:PORT, such as 127.0.0.1:8987, "
                        "[::1]:8987, or 0.0.0.0:8987 for all interfaces",
                        text);
}

static bool port_is_valid(const char *port)
{
    size_t length = strlen(port);
    if (length == 0 || length > 5 || strspn(port, "0123456789") != length) {
        return false;
    }
    return strtoul(port, NULL, 10) <= PORT_MAX;
}

enum vv_status vv_listen_parse(const char *text, char *host_out, size_t host_size, char port_out[6],
                               struct vv_error *error)
{
    const char *colon = strrchr(text, ':');
    if (!colon || !port_is_valid(colon + 1)) {
        return malformed(text, error);
    }
    struct vv_str host = {text, (size_t)(colon - text)};
    if (host.size > 0 && host.data[0] == '[') {
        bool closed = host.size > 2 && host.data[host.size - 1] == ']';
        host = (struct vv_str){host.data + 1, closed ? host.size - 2 : 0};
    } else if (memchr(host.data, ':', host.size)) {
        return malformed(text, error); /* an IPv6 address needs its brackets */
    }
    if (host.size == 0 || host.size >= host_size) {
        return malformed(text, error);
    }
    memcpy(host_out, host.data, host.size);
    host_out[host.size] = '\0';
    memcpy(port_out, colon + 1, strlen(colon + 1) + 1);
    return VV_OK;
}

static enum vv_status bind_failed(const char *text, int code, struct vv_error *error)
{
    switch (code) {
    case EADDRINUSE:
        return vv_error_set(error, VV_LOCKED,
                            "%s is in use by another program; stop that one, or choose another "
                            "port with http.listen (port 0 takes any free one)",
                            text);
    case EACCES:
        return vv_error_set(error, VV_INVALID,
                            "not allowed to listen on %s; ports below 1024 need privileges: choose "
                            "a higher one with http.listen",
                            text);
    case EADDRNOTAVAIL:
        return vv_error_set(error, VV_INVALID,
                            "no interface of this machine has the address of %s; see http.listen",
                            text);
    default:
        return vv_error_set(error, VV_IO, "cannot listen on %s: %s", text, strerror(code));
    }
}

static bool is_local(const struct sockaddr *address)
{
    if (address->sa_family == AF_INET) {
        const struct sockaddr_in *v4 = (const struct sockaddr_in *)(const void *)address;
        return (ntohl(v4->sin_addr.s_addr) >> 24) == 127;
    }
    const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)(const void *)address;
    return IN6_IS_ADDR_LOOPBACK(&v6->sin6_addr);
}

static enum vv_status describe(int fd, struct vv_listener *listener_out, struct vv_error *error)
{
    struct sockaddr_storage storage;
    socklen_t size = sizeof storage;
    struct sockaddr *address = (struct sockaddr *)&storage;
    char host[INET6_ADDRSTRLEN + 1] = "";
    char port[6] = "";
    if (getsockname(fd, address, &size) != 0 ||
        getnameinfo(address, size, host, sizeof host, port, sizeof port,
                    NI_NUMERICHOST | NI_NUMERICSERV) != 0) {
        return vv_error_set(error, VV_IO, "cannot tell the address that is listened on: %s",
                            strerror(errno));
    }
    int length = snprintf(listener_out->address, sizeof listener_out->address,
                          address->sa_family == AF_INET6 ? "[%s]:%s" : "%s:%s", host, port);
    vv_invariant(length > 0 && (size_t)length < sizeof listener_out->address);
    listener_out->local = is_local(address);
    listener_out->fd = fd;
    return VV_OK;
}

/* Opens and binds one of the addresses; the socket, or -1 with errno. */
static int bind_one(const struct addrinfo *info)
{
    int fd = socket(info->ai_family, info->ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK,
                    info->ai_protocol);
    if (fd < 0) {
        return -1;
    }
    int on = 1; /* a restarted server must get its port back while old connections time out */
    /* What the kernel holds for a slow client counts as sent; a small buffer, which accepted
     * connections inherit, shows that the client goes on reading. A hint: failing is harmless. */
    int send_bytes = SEND_BUFFER_BYTES;
    (void)!setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &send_bytes, sizeof send_bytes);
    if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == 0 &&
        bind(fd, info->ai_addr, info->ai_addrlen) == 0 && listen(fd, BACKLOG) == 0) {
        return fd;
    }
    int code = errno;
    close(fd);
    errno = code;
    return -1;
}

/* A name such as localhost may have addresses of both families; IPv4 is what clients try first. */
static const struct addrinfo *preferred(const struct addrinfo *infos)
{
    for (const struct addrinfo *info = infos; info; info = info->ai_next) {
        if (info->ai_family == AF_INET) {
            return info;
        }
    }
    return infos;
}

enum vv_status vv_listen_open(const char *text, struct vv_listener *listener_out,
                              struct vv_error *error)
{
    char host[256];
    char port[6];
    enum vv_status status = vv_listen_parse(text, host, sizeof host, port, error);
    if (status != VV_OK) {
        return status;
    }
    struct addrinfo hints = {
        .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE};
    struct addrinfo *infos = NULL;
    int failure = getaddrinfo(host, port, &hints, &infos);
    if (failure != 0) {
        return vv_error_set(error, VV_INVALID, "cannot listen on %s: %s; see http.listen", text,
                            gai_strerror(failure));
    }
    int fd = bind_one(preferred(infos));
    int code = errno;
    freeaddrinfo(infos);
    if (fd < 0) {
        return bind_failed(text, code, error);
    }
    status = describe(fd, listener_out, error);
    if (status != VV_OK) {
        close(fd);
    }
    return status;
}

enum vv_status vv_listen_silence(int *fd_out, struct vv_error *error)
{
    /* An unnamed address of the abstract namespace, and no room for anybody who guesses it. */
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0 || bind(fd, (const struct sockaddr *)&address, sizeof address.sun_family) != 0 ||
        listen(fd, 0) != 0) {
        int code = errno;
        if (fd >= 0) {
            close(fd);
        }
        return vv_error_set(error, VV_IO, "cannot open a socket: %s", strerror(code));
    }
    *fd_out = fd;
    return VV_OK;
}
