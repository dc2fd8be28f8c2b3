/* SPDX-License-Identifier: Apache-2.0 */
/* Contact points: their text taken apart. */
#include "contacts.h"

#include "address.h"
#include "wire.h"

#include <stdlib.h>
#include <string.h>

#define CONTACTS_MAX 1024

/* One contact point's text, from `at` to `end`. */
struct part {
    const char *at;
    const char *end;
};

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static struct part trimmed(struct part part)
{
    while (part.at < part.end && is_space(*part.at))
        part.at++;
    while (part.at < part.end && is_space(part.end[-1]))
        part.end--;
    return part;
}

static bool parse_port(struct part part, uint16_t *port_out)
{
    uint32_t port = 0;
    if (part.at == part.end || part.end - part.at > 5)
        return false;
    for (; part.at < part.end; part.at++) {
        if (*part.at < '0' || *part.at > '9')
            return false;
        port = port * 10 + (uint32_t)(*part.at - '0');
    }
    *port_out = (uint16_t)port;
    return port >= 1 && port <= UINT16_MAX;
}

static size_t count(struct part part, char wanted)
{
    size_t n = 0;
    for (; part.at < part.end; part.at++)
        n += *part.at == wanted;
    return n;
}

/* Cuts ":port" off. false: what is behind the host isn't that. */
static bool cut_port(struct part part, struct part *host_out, uint16_t *port)
{
    *host_out = part;
    if (part.at < part.end && *part.at == '[') {
        const char *close = memchr(part.at, ']', (size_t)(part.end - part.at));
        if (close == NULL)
            return false;
        *host_out = (struct part){part.at + 1, close};
        if (close + 1 == part.end)
            return true;
        return close[1] == ':' && parse_port((struct part){close + 2, part.end}, port);
    }
    if (count(part, ':') != 1) /* none, or an IPv6 address without a port */
        return true;
    const char *colon = memchr(part.at, ':', (size_t)(part.end - part.at));
    host_out->end = colon;
    return parse_port((struct part){colon + 1, part.end}, port);
}

static bool is_name(const char *text)
{
    for (; *text != '\0'; text++) {
        bool letter = (*text >= 'a' && *text <= 'z') || (*text >= 'A' && *text <= 'Z');
        bool digit = *text >= '0' && *text <= '9';
        if (!letter && !digit && *text != '-' && *text != '.' && *text != '_')
            return false;
    }
    return true;
}

static enum vvcql_status parse_one(struct part part, uint16_t default_port,
                                   struct vvcql_contact *contact, struct vvcql_error *error)
{
    struct part host;
    contact->port = default_port;
    if (part.at == part.end)
        return vvcql_error_set(error, VVCQL_INVALID, "a contact point is empty");
    if (!cut_port(part, &host, &contact->port) || host.at == host.end || host.end - host.at > 255)
        return vvcql_error_set(error, VVCQL_INVALID,
                               "contact point \"%.*s\" must be host, host:port or [IPv6]:port",
                               (int)(part.end - part.at), part.at);
    contact->host = vvcql_duplicate(
        (struct vvcql_bytes){(const uint8_t *)host.at, (size_t)(host.end - host.at)});
    if (contact->host == NULL)
        return vvcql_error_set(error, VVCQL_NO_MEMORY, "out of memory");
    contact->is_address = vvcql_address_parse(&contact->address, contact->host, contact->port);
    if (!contact->is_address && !is_name(contact->host))
        return vvcql_error_set(error, VVCQL_INVALID,
                               "contact point \"%s\" is neither a host name nor an IP address",
                               contact->host);
    return VVCQL_OK;
}

enum vvcql_status vvcql_contacts_parse(const char *text, uint16_t default_port,
                                       struct vvcql_contact **contacts_out, size_t *n_out,
                                       struct vvcql_error *error)
{
    struct part all = {text, text + strlen(text)};
    size_t n = count(all, ',') + 1;
    *contacts_out = NULL;
    *n_out = 0;
    if (n > CONTACTS_MAX)
        return vvcql_error_set(error, VVCQL_INVALID, "more than %d contact points", CONTACTS_MAX);
    struct vvcql_contact *contacts = calloc(n, sizeof(*contacts));
    if (contacts == NULL)
        return vvcql_error_set(error, VVCQL_NO_MEMORY, "out of memory");
    for (size_t i = 0; i < n; i++) {
        const char *comma = memchr(all.at, ',', (size_t)(all.end - all.at));
        struct part part = trimmed((struct part){all.at, comma != NULL ? comma : all.end});
        enum vvcql_status status = parse_one(part, default_port, &contacts[i], error);
        if (status != VVCQL_OK) {
            vvcql_contacts_free(contacts, n);
            return status;
        }
        all.at = comma != NULL ? comma + 1 : all.end;
    }
    *contacts_out = contacts;
    *n_out = n;
    return VVCQL_OK;
}

void vvcql_contacts_free(struct vvcql_contact *contacts, size_t n)
{
    for (size_t i = 0; contacts != NULL && i < n; i++)
        free(contacts[i].host);
    free(contacts);
}
