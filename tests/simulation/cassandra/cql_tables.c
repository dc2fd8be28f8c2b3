/* SPDX-License-Identifier: Apache-2.0 */
/* CREATE KEYSPACE, CREATE TABLE, ALTER TABLE … ADD. */
#include "simulation/cassandra/cql.h"

static void add_option(struct cass_parser *parser, struct vv_str group, struct vv_str key,
                       struct vv_str value)
{
    struct cass_ast *ast = parser->ast;
    struct vv_buffer name = {0};
    if (ast->n_options == CASS_LIST_MAX) {
        cass_give_up(ast, "too many options");
    }
    vv_buffer_str(&name, group);
    vv_buffer_text(&name, key.size > 0 ? "." : "");
    vv_buffer_str(&name, key);
    ast->options[ast->n_options++] = (struct cass_option){
        vv_arena_str(&ast->arena, (struct vv_str){(const char *)name.data, name.size}), value};
    vv_buffer_deinit(&name);
}

/* A text, number or word. */
static struct vv_str take_value(struct cass_parser *parser)
{
    struct vv_str value = parser->token;
    if (parser->kind == CASS_TOKEN_SIGN || parser->kind == CASS_TOKEN_END) {
        cass_give_up(parser->ast, "expected an option's value, found '%.*s'", VV_STR_ARG(value));
    }
    cass_next(parser);
    return value;
}

static void take_option(struct cass_parser *parser)
{
    struct vv_str name = cass_take_word(parser);
    cass_expect(parser, "=");
    if (!cass_take(parser, "{")) {
        add_option(parser, name, (struct vv_str){0}, take_value(parser));
        return;
    }
    do {
        struct vv_str key = take_value(parser);
        cass_expect(parser, ":");
        add_option(parser, name, key, take_value(parser));
    } while (cass_take(parser, ","));
    cass_expect(parser, "}");
}

static void take_order(struct cass_parser *parser)
{
    struct cass_ast *ast = parser->ast;
    cass_expect(parser, "order");
    cass_expect(parser, "by");
    cass_expect(parser, "(");
    do {
        if (ast->n_orders == CASS_KEY_MAX) {
            cass_give_up(ast, "too many columns");
        }
        struct cass_order *order = &ast->orders[ast->n_orders++];
        order->column = cass_take_word(parser);
        order->descending = cass_take(parser, "desc");
        if (!order->descending) {
            (void)cass_take(parser, "asc");
        }
    } while (cass_take(parser, ","));
    cass_expect(parser, ")");
}

static void take_options(struct cass_parser *parser)
{
    if (!cass_take(parser, "with")) {
        return;
    }
    do {
        if (cass_take(parser, "clustering")) {
            take_order(parser);
        } else {
            take_option(parser);
        }
    } while (cass_take(parser, "and"));
}

static void take_key(struct cass_parser *parser, struct vv_str *names, size_t *n)
{
    if (*n == CASS_KEY_MAX) {
        cass_give_up(parser->ast, "too many columns in a key");
    }
    names[(*n)++] = cass_take_word(parser);
}

static void take_primary_key(struct cass_parser *parser)
{
    struct cass_ast *ast = parser->ast;
    cass_expect(parser, "key");
    cass_expect(parser, "(");
    if (cass_take(parser, "(")) {
        do {
            take_key(parser, ast->partition_key, &ast->n_partition_key);
        } while (cass_take(parser, ","));
        cass_expect(parser, ")");
    } else {
        take_key(parser, ast->partition_key, &ast->n_partition_key);
    }
    while (cass_take(parser, ",")) {
        take_key(parser, ast->clustering, &ast->n_clustering);
    }
    cass_expect(parser, ")");
}

static void take_definition(struct cass_parser *parser)
{
    struct cass_ast *ast = parser->ast;
    if (ast->n_definitions == CASS_LIST_MAX) {
        cass_give_up(ast, "too many columns");
    }
    struct cass_definition *definition = &ast->definitions[ast->n_definitions++];
    definition->name = cass_take_word(parser);
    definition->type = cass_take_word(parser);
    if (cass_is(parser, "<")) {
        cass_give_up(ast, "types with parameters are not known here");
    }
    definition->is_static = cass_take(parser, "static");
    if (cass_take(parser, "primary")) {
        cass_expect(parser, "key");
        take_key(
            &(struct cass_parser){.ast = ast, .kind = CASS_TOKEN_WORD, .token = definition->name},
            ast->partition_key, &ast->n_partition_key);
    }
}

static void parse_table(struct cass_parser *parser)
{
    struct cass_ast *ast = parser->ast;
    ast->kind = CASS_CREATE_TABLE;
    if (cass_take(parser, "if")) {
        cass_expect(parser, "not");
        cass_expect(parser, "exists");
        ast->if_not_exists = true;
    }
    cass_take_table(parser);
    cass_expect(parser, "(");
    do {
        if (cass_take(parser, "primary")) {
            take_primary_key(parser);
        } else {
            take_definition(parser);
        }
    } while (cass_take(parser, ","));
    cass_expect(parser, ")");
    take_options(parser);
}

void cass_parse_create(struct cass_parser *parser)
{
    struct cass_ast *ast = parser->ast;
    if (cass_take(parser, "table")) {
        parse_table(parser);
        return;
    }
    cass_expect(parser, "keyspace");
    ast->kind = CASS_CREATE_KEYSPACE;
    if (cass_take(parser, "if")) {
        cass_expect(parser, "not");
        cass_expect(parser, "exists");
        ast->if_not_exists = true;
    }
    ast->keyspace = cass_take_word(parser);
    take_options(parser);
}

void cass_parse_alter(struct cass_parser *parser)
{
    struct cass_ast *ast = parser->ast;
    cass_expect(parser, "table");
    cass_take_table(parser);
    cass_expect(parser, "add");
    ast->kind = CASS_ADD_COLUMN;
    if (cass_take(parser, "if")) {
        cass_expect(parser, "not");
        cass_expect(parser, "exists");
        ast->if_not_exists = true;
    }
    take_definition(parser);
}
