/* SPDX-License-Identifier: Apache-2.0 */
/* The words of a statement, and what all statements are made of. */
#include "simulation/cassandra/cql.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

_Noreturn void cass_give_up(const struct cass_ast *ast, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "model of Cassandra: ");
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fprintf(stderr, "\n  %.*s\n", ast ? (int)ast->text.size : 0, ast ? ast->text.data : "");
    abort();
}

static struct vv_str keep(struct cass_parser *parser, const char *bytes, size_t size)
{
    struct vv_str copy = vv_arena_str(&parser->ast->arena, (struct vv_str){bytes, size});
    vv_invariant(copy.data != NULL);
    return copy;
}

static void skip_blanks(struct vv_str *rest)
{
    for (;;) {
        while (rest->size > 0 && isspace((unsigned char)rest->data[0])) {
            rest->data++;
            rest->size--;
        }
        if (rest->size < 2 || rest->data[0] != '-' || rest->data[1] != '-') {
            return;
        }
        while (rest->size > 0 && rest->data[0] != '\n') {
            rest->data++;
            rest->size--;
        }
    }
}

/* In quotes, of which two stand for one. */
static void take_quoted(struct cass_parser *parser, char quote)
{
    struct vv_buffer text = {0};
    size_t at = 1;
    for (;; at++) {
        if (at >= parser->rest.size) {
            cass_give_up(parser->ast, "a quote is missing");
        }
        if (parser->rest.data[at] == quote) {
            if (at + 1 >= parser->rest.size || parser->rest.data[at + 1] != quote) {
                break;
            }
            at++;
        }
        vv_buffer_u8(&text, (uint8_t)parser->rest.data[at]);
    }
    parser->kind = quote == '"' ? CASS_TOKEN_WORD : CASS_TOKEN_TEXT;
    parser->token = keep(parser, text.size > 0 ? (const char *)text.data : "", text.size);
    parser->rest.data += at + 1;
    parser->rest.size -= at + 1;
    vv_buffer_deinit(&text);
}

static bool is_word_letter(char letter)
{
    return isalnum((unsigned char)letter) || letter == '_';
}

/* 8-4-4-4-12 digits, of which the first may be a letter. */
static bool is_uuid(struct vv_str text)
{
    if (text.size < 36) {
        return false;
    }
    for (size_t i = 0; i < 36; i++) {
        bool is_dash = i == 8 || i == 13 || i == 18 || i == 23;
        if (is_dash ? text.data[i] != '-' : !isxdigit((unsigned char)text.data[i])) {
            return false;
        }
    }
    return true;
}

static void take_plain(struct cass_parser *parser)
{
    const char *data = parser->rest.data;
    size_t size = 1;
    bool is_number = isdigit((unsigned char)data[0]) || data[0] == '-' || is_uuid(parser->rest);
    while (size < parser->rest.size && (is_word_letter(data[size]) ||
                                        (is_number && (data[size] == '-' || data[size] == '.')))) {
        size++;
    }
    parser->kind = is_number ? CASS_TOKEN_NUMBER : CASS_TOKEN_WORD;
    char *letters = vv_arena_zalloc(&parser->ast->arena, size + 1);
    vv_invariant(letters != NULL);
    for (size_t i = 0; i < size; i++) {
        letters[i] = (char)tolower((unsigned char)data[i]);
    }
    parser->token = (struct vv_str){letters, size};
    parser->rest.data += size;
    parser->rest.size -= size;
}

void cass_next(struct cass_parser *parser)
{
    skip_blanks(&parser->rest);
    parser->token = (struct vv_str){0};
    if (parser->rest.size == 0) {
        parser->kind = CASS_TOKEN_END;
        return;
    }
    char first = parser->rest.data[0];
    if (first == '\'' || first == '"') {
        take_quoted(parser, first);
        return;
    }
    if (is_word_letter(first) || first == '-') {
        take_plain(parser);
        return;
    }
    bool two = parser->rest.size > 1 && parser->rest.data[1] == '=' && strchr("<>!", first) != NULL;
    parser->kind = CASS_TOKEN_SIGN;
    parser->token = keep(parser, parser->rest.data, two ? 2 : 1);
    parser->rest.data += parser->token.size;
    parser->rest.size -= parser->token.size;
}

bool cass_is(const struct cass_parser *parser, const char *token)
{
    return (parser->kind == CASS_TOKEN_WORD || parser->kind == CASS_TOKEN_SIGN) &&
           vv_str_equal(parser->token, vv_str_of(token));
}

bool cass_take(struct cass_parser *parser, const char *token)
{
    if (!cass_is(parser, token)) {
        return false;
    }
    cass_next(parser);
    return true;
}

void cass_expect(struct cass_parser *parser, const char *token)
{
    if (!cass_take(parser, token)) {
        cass_give_up(parser->ast, "expected '%s', found '%.*s'", token, VV_STR_ARG(parser->token));
    }
}

struct vv_str cass_take_word(struct cass_parser *parser)
{
    struct vv_str word = parser->token;
    if (parser->kind != CASS_TOKEN_WORD) {
        cass_give_up(parser->ast, "expected a name, found '%.*s'", VV_STR_ARG(parser->token));
    }
    cass_next(parser);
    return word;
}

struct cass_term cass_take_term(struct cass_parser *parser)
{
    struct cass_term term = {.text = parser->token};
    if (cass_take(parser, "?")) {
        term.kind = CASS_MARKER;
        term.marker = parser->ast->n_markers++;
        return term;
    }
    if (parser->kind == CASS_TOKEN_TEXT) {
        term.kind = CASS_TEXT;
    } else if (parser->kind == CASS_TOKEN_NUMBER) {
        term.kind = CASS_NUMBER;
    } else if (cass_is(parser, "null") || cass_is(parser, "true") || cass_is(parser, "false")) {
        term.kind = CASS_WORD;
    } else {
        cass_give_up(parser->ast, "expected a value, found '%.*s'", VV_STR_ARG(parser->token));
    }
    cass_next(parser);
    return term;
}

void cass_take_table(struct cass_parser *parser)
{
    parser->ast->keyspace = cass_take_word(parser);
    cass_expect(parser, ".");
    parser->ast->table = cass_take_word(parser);
}
