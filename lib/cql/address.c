/* SPDX-License-Identifier: Apache-2.0 */
/* Socket addresses; the one place that looks into sockaddr_in and sockaddr_in6. */
#include "address.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

static struct sockaddr_in *v4(struct sockaddr_storage *address)
{
    return (struct sockaddr_in *)address;
}

static struct sockaddr_in6 *v6(struct sockaddr_storage *address)
{
    return (struct sockaddr_in6 *)address;
}

static const struct sockaddr_in *v4_of(const struct sockaddr_storage *address)
{
    return (const struct sockaddr_in *)address;
}

static const struct sockaddr_in6 *v6_of(const struct sockaddr_storage *address)
{
    return (const struct sockaddr_in6 *)address;
}

bool vvcql_address_set(struct sockaddr_storage *address, struct vvcql_bytes bytes, uint16_t port)
{
    memset(address, 0, sizeof(*address));
    if (bytes.data == NULL)
        return false;
    if (bytes.size == 4) {
        v4(address)->sin_family = AF_INET;
        memcpy(&v4(address)->sin_addr, bytes.data, 4);
    } else if (bytes.size == 16) {
        v6(address)->sin6_family = AF_INET6;
        memcpy(&v6(address)->sin6_addr, bytes.data, 16);
    } else {
        return false;
    }
    vvcql_address_set_port(address, port);
    return true;
}

bool vvcql_address_parse(struct sockaddr_storage *address, const char *text, uint16_t port)
{
    uint8_t bytes[16];
    if (inet_pton(AF_INET, text, bytes) == 1)
        return vvcql_address_set(address, (struct vvcql_bytes){bytes, 4}, port);
    if (inet_pton(AF_INET6, text, bytes) == 1)
        return vvcql_address_set(address, (struct vvcql_bytes){bytes, 16}, port);
    return false;
}

void vvcql_address_set_port(struct sockaddr_storage *address, uint16_t port)
{
    if (address->ss_family == AF_INET)
        v4(address)->sin_port = htons(port);
    else if (address->ss_family == AF_INET6)
        v6(address)->sin6_port = htons(port);
}

void vvcql_address_name(const struct sockaddr_storage *address, char name_out[VVCQL_HOST_MAX])
{
    char text[INET6_ADDRSTRLEN] = "?";
    if (address->ss_family == AF_INET) {
        inet_ntop(AF_INET, &v4_of(address)->sin_addr, text, sizeof(text));
        snprintf(name_out, VVCQL_HOST_MAX, "%s:%u", text, ntohs(v4_of(address)->sin_port));
    } else if (address->ss_family == AF_INET6) {
        inet_ntop(AF_INET6, &v6_of(address)->sin6_addr, text, sizeof(text));
        snprintf(name_out, VVCQL_HOST_MAX, "[%s]:%u", text, ntohs(v6_of(address)->sin6_port));
    } else {
        snprintf(name_out, VVCQL_HOST_MAX, "?");
    }
}

bool vvcql_address_equal(const struct sockaddr_storage *a, const struct sockaddr_storage *b)
{
    if (a->ss_family != b->ss_family)
        return false;
    if (a->ss_family == AF_INET)
        return v4_of(a)->sin_port == v4_of(b)->sin_port &&
               v4_of(a)->sin_addr.s_addr == v4_of(b)->sin_addr.s_addr;
    if (a->ss_family == AF_INET6)
        return v6_of(a)->sin6_port == v6_of(b)->sin6_port &&
               memcmp(&v6_of(a)->sin6_addr, &v6_of(b)->sin6_addr, 16) == 0;
    return false;
}

bool vvcql_address_is_any(const struct sockaddr_storage *address)
{
    if (address->ss_family == AF_INET)
        return v4_of(address)->sin_addr.s_addr == htonl(INADDR_ANY);
    if (address->ss_family == AF_INET6)
        return IN6_IS_ADDR_UNSPECIFIED(&v6_of(address)->sin6_addr);
    return false;
}
