/* SPDX-License-Identifier: Apache-2.0 */
/* Parsing of InfluxQL's CREATE DATABASE and SHOW DATABASES. */
#include "http/influxql.h"
#include "base/clock.h"

#include <strings.h>

enum token_kind { TOKEN_END, TOKEN_WORD, TOKEN_NAME, TOKEN_OTHER };

struct token {
    enum token_kind kind;
    struct vv_str text; /* of a quoted name: between its quotes, with escapes */
};

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == '.' || (unsigned char)c >= 0x80;
}

static void skip(struct vv_str *rest, size_t size)
{
    *rest = (struct vv_str){rest->data + size, rest->size - size};
}

static struct token take_quoted(struct vv_str *rest)
{
    for (size_t i = 1; i < rest->size; i++) {
        if (rest->data[i] == '\\') {
            i++;
        } else if (rest->data[i] == '"') {
            struct token token = {TOKEN_NAME, {rest->data + 1, i - 1}};
            skip(rest, i + 1);
            return token;
        }
    }
    struct token token = {TOKEN_OTHER, *rest};
    skip(rest, rest->size);
    return token;
}

/* A semicolon ends the statement; it stays in place. */
static struct token take(struct vv_str *rest)
{
    while (rest->size > 0 && is_space(rest->data[0])) {
        skip(rest, 1);
    }
    if (rest->size == 0 || rest->data[0] == ';') {
        return (struct token){TOKEN_END, {"the end", 7}};
    }
    if (rest->data[0] == '"') {
        return take_quoted(rest);
    }
    size_t size = 0;
    while (size < rest->size && is_word(rest->data[size])) {
        size++;
    }
    struct token token = {size ? TOKEN_WORD : TOKEN_OTHER, {rest->data, size ? size : 1}};
    skip(rest, token.text.size);
    return token;
}

static bool is(struct token token, const char *word)
{
    return token.kind == TOKEN_WORD && token.text.size == strlen(word) &&
           strncasecmp(token.text.data, word, token.text.size) == 0;
}

static enum vv_status unexpected(struct token found, const char *expected, struct vv_error *error)
{
    return vv_error_set(error, VV_INVALID, "error parsing query: found %.*s, expected %s",
                        (int)(found.text.size > 60 ? 60 : found.text.size), found.text.data,
                        expected);
}

static enum vv_status set_name(struct token token, struct vv_influxql_statement *statement,
                               struct vv_error *error)
{
    if (token.kind != TOKEN_WORD && token.kind != TOKEN_NAME) {
        return unexpected(token, "the database's name", error);
    }
    size_t size = 0;
    for (size_t i = 0; i < token.text.size; i++) {
        bool escaped =
            token.kind == TOKEN_NAME && token.text.data[i] == '\\' && i + 1 < token.text.size;
        i += escaped;
        if (size == VV_INFLUXQL_NAME_MAX) {
            return vv_error_set(error, VV_INVALID, "a database's name has at most %d bytes",
                                VV_INFLUXQL_NAME_MAX);
        }
        statement->name[size++] = token.text.data[i];
    }
    statement->name[size] = '\0';
    statement->name_size = size;
    return VV_OK;
}

static enum vv_status parse_duration(struct token token, int64_t *duration_out,
                                     struct vv_error *error)
{
    *duration_out = 0;
    if (is(token, "INF")) {
        return VV_OK;
    }
    struct vv_error ignored = {0};
    if (token.kind != TOKEN_WORD ||
        vv_duration_parse(token.text, duration_out, &ignored) != VV_OK) {
        return unexpected(token, "a duration such as 30d, or INF", error);
    }
    return VV_OK;
}

/* DURATION d, REPLICATION n, SHARD DURATION d, NAME n: in any order, all but the first without
 * meaning here. */
static enum vv_status parse_with(struct vv_str *rest, struct vv_influxql_statement *statement,
                                 struct vv_error *error)
{
    struct token token = take(rest);
    if (token.kind == TOKEN_END) {
        return unexpected(token, "DURATION, REPLICATION, SHARD DURATION or NAME", error);
    }
    while (token.kind != TOKEN_END) {
        enum vv_status status = VV_OK;
        int64_t ignored = 0;
        if (is(token, "DURATION")) {
            statement->has_duration = true;
            status = parse_duration(take(rest), &statement->duration_ns, error);
        } else if (is(token, "SHARD")) {
            token = take(rest);
            status = is(token, "DURATION") ? parse_duration(take(rest), &ignored, error)
                                           : unexpected(token, "DURATION", error);
        } else if (is(token, "REPLICATION") || is(token, "NAME")) {
            token = take(rest);
            status = token.kind == TOKEN_END ? unexpected(token, "a value", error) : VV_OK;
        } else {
            status = unexpected(token, "DURATION, REPLICATION, SHARD DURATION or NAME", error);
        }
        if (status != VV_OK) {
            return status;
        }
        token = take(rest);
    }
    return VV_OK;
}

static enum vv_status parse_create(struct vv_str *rest, struct vv_influxql_statement *statement,
                                   struct vv_error *error)
{
    statement->verb = VV_INFLUXQL_CREATE_DATABASE;
    struct token token = take(rest);
    if (is(token, "IF")) {
        struct vv_str before = *rest;
        if (is(take(rest), "NOT") && is(take(rest), "EXISTS")) {
            token = take(rest);
        } else {
            *rest = before;
        }
    }
    enum vv_status status = set_name(token, statement, error);
    if (status != VV_OK) {
        return status;
    }
    token = take(rest);
    if (is(token, "WITH")) {
        return parse_with(rest, statement, error);
    }
    return token.kind == TOKEN_END ? VV_OK : unexpected(token, "WITH or the end", error);
}

static enum vv_status foreign(struct vv_error *error)
{
    return vv_error_set(error, VV_INVALID,
                        "error parsing query: only CREATE DATABASE and SHOW DATABASES are known "
                        "here; to read data use /api/v1/query, such as "
                        "/api/v1/query?metric=cpu.usage_user&from=-1h&step=1m&agg=mean");
}

enum vv_status vv_influxql_next(struct vv_str *rest, struct vv_influxql_statement *statement_out,
                                struct vv_error *error)
{
    *statement_out = (struct vv_influxql_statement){0};
    while (rest->size > 0 && (rest->data[0] == ';' || is_space(rest->data[0]))) {
        skip(rest, 1);
    }
    if (rest->size == 0) {
        return VV_DONE;
    }
    struct token verb = take(rest);
    struct token noun = take(rest);
    if (is(verb, "CREATE") && is(noun, "DATABASE")) {
        return parse_create(rest, statement_out, error);
    }
    if (is(verb, "SHOW") && is(noun, "DATABASES")) {
        statement_out->verb = VV_INFLUXQL_SHOW_DATABASES;
        struct token after = take(rest);
        return after.kind == TOKEN_END ? VV_OK : unexpected(after, "the end", error);
    }
    return foreign(error);
}
