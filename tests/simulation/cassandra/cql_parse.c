/* SPDX-License-Identifier: Apache-2.0 */
/* SELECT, INSERT, UPDATE, DELETE. */
#include "simulation/cassandra/cql.h"

#include "simulation/sim_memory.h"

#include <stdlib.h>

static void check_room(const struct cass_parser *parser, size_t n, size_t max)
{
    if (n == max) {
        cass_give_up(parser->ast, "more than %zu of something", max);
    }
}

/* ---- conditions ---- */

static enum cass_operator take_operator(struct cass_parser *parser)
{
    static const char *const signs[] = {"=", "!=", "<", "<=", ">", ">=", "in"};
    for (size_t i = 0; i < sizeof signs / sizeof signs[0]; i++) {
        if (cass_take(parser, signs[i])) {
            return (enum cass_operator)i;
        }
    }
    cass_give_up(parser->ast, "expected a comparison, found '%.*s'", VV_STR_ARG(parser->token));
}

static void take_terms(struct cass_parser *parser, struct cass_condition *condition)
{
    bool many = condition->operator== CASS_IN || condition->n_columns> 1;
    if (many && condition->n_columns == 1 && cass_is(parser, "?")) {
        condition->is_list = true;
        many = false;
    }
    if (!many) {
        condition->terms[condition->n_terms++] = cass_take_term(parser);
        return;
    }
    cass_expect(parser, "(");
    do {
        check_room(parser, condition->n_terms, CASS_TERMS_MAX);
        condition->terms[condition->n_terms++] = cass_take_term(parser);
    } while (cass_take(parser, ","));
    cass_expect(parser, ")");
}

static void take_condition(struct cass_parser *parser, struct cass_condition *condition)
{
    *condition = (struct cass_condition){.n_columns = 0};
    condition->is_token = cass_take(parser, "token");
    bool is_tuple = cass_take(parser, "(");
    do {
        check_room(parser, condition->n_columns, CASS_KEY_MAX);
        condition->columns[condition->n_columns++] = cass_take_word(parser);
    } while (is_tuple && cass_take(parser, ","));
    if (is_tuple) {
        cass_expect(parser, ")");
    }
    condition->operator= take_operator(parser);
    if (condition->is_token) {
        condition->terms[condition->n_terms++] = cass_take_term(parser);
        return;
    }
    take_terms(parser, condition);
    if (is_tuple && (condition->operator== CASS_IN || condition->n_terms != condition->n_columns)) {
        cass_give_up(parser->ast, "tuples can only be compared with one of the same length");
    }
}

static size_t take_conditions(struct cass_parser *parser, struct cass_condition *conditions)
{
    size_t n = 0;
    do {
        check_room(parser, n, CASS_CONDITIONS_MAX);
        take_condition(parser, &conditions[n++]);
    } while (cass_take(parser, "and"));
    return n;
}

static void take_where(struct cass_parser *parser)
{
    if (cass_take(parser, "where")) {
        parser->ast->n_where = take_conditions(parser, parser->ast->where);
    }
}

static void take_if(struct cass_parser *parser)
{
    struct cass_ast *ast = parser->ast;
    if (!cass_take(parser, "if")) {
        return;
    }
    if (cass_take(parser, "not")) {
        cass_expect(parser, "exists");
        ast->if_not_exists = true;
    } else if (cass_take(parser, "exists")) {
        ast->if_exists = true;
    } else {
        ast->n_conditions = take_conditions(parser, ast->conditions);
    }
}

static void take_using(struct cass_parser *parser)
{
    struct cass_ast *ast = parser->ast;
    if (!cass_take(parser, "using")) {
        return;
    }
    do {
        if (cass_take(parser, "ttl")) {
            ast->has_ttl = true;
            ast->ttl = cass_take_term(parser);
        } else {
            cass_expect(parser, "timestamp");
            ast->has_timestamp = true;
            ast->timestamp = cass_take_term(parser);
        }
    } while (cass_take(parser, "and"));
}

/* ---- statements ---- */

static void take_selector(struct cass_parser *parser)
{
    struct cass_ast *ast = parser->ast;
    struct cass_selector selector = {.kind = CASS_COLUMN};
    check_room(parser, ast->n_selectors, CASS_LIST_MAX);
    selector.column = cass_take_word(parser);
    if (cass_take(parser, "(")) {
        if (vv_str_equal(selector.column, VV_STR_LITERAL("count"))) {
            selector.kind = CASS_COUNT;
            cass_expect(parser, "*");
        } else {
            bool is_ttl = vv_str_equal(selector.column, VV_STR_LITERAL("ttl"));
            if (!is_ttl && !vv_str_equal(selector.column, VV_STR_LITERAL("writetime"))) {
                cass_give_up(ast, "no such function: %.*s", VV_STR_ARG(selector.column));
            }
            selector.kind = is_ttl ? CASS_TTL : CASS_WRITETIME;
            selector.column = cass_take_word(parser);
        }
        cass_expect(parser, ")");
    }
    ast->selectors[ast->n_selectors++] = selector;
}

static void parse_select(struct cass_parser *parser)
{
    struct cass_ast *ast = parser->ast;
    ast->kind = CASS_SELECT;
    ast->is_distinct = cass_take(parser, "distinct");
    if (!cass_take(parser, "*")) {
        do {
            take_selector(parser);
        } while (cass_take(parser, ","));
    }
    cass_expect(parser, "from");
    cass_take_table(parser);
    take_where(parser);
    if (cass_take(parser, "order")) {
        cass_expect(parser, "by");
        do {
            check_room(parser, ast->n_orders, CASS_KEY_MAX);
            struct cass_order *order = &ast->orders[ast->n_orders++];
            order->column = cass_take_word(parser);
            order->descending = cass_take(parser, "desc");
            if (!order->descending) {
                (void)cass_take(parser, "asc");
            }
        } while (cass_take(parser, ","));
    }
    ast->has_limit = cass_take(parser, "limit");
    if (ast->has_limit) {
        ast->limit = cass_take_term(parser);
    }
    if (cass_take(parser, "allow")) {
        cass_expect(parser, "filtering");
        ast->allows_filtering = true;
    }
}

static void parse_insert(struct cass_parser *parser)
{
    struct cass_ast *ast = parser->ast;
    ast->kind = CASS_INSERT;
    cass_expect(parser, "into");
    cass_take_table(parser);
    cass_expect(parser, "(");
    do {
        check_room(parser, ast->n_assignments, CASS_LIST_MAX);
        ast->assignments[ast->n_assignments++].column = cass_take_word(parser);
    } while (cass_take(parser, ","));
    cass_expect(parser, ")");
    cass_expect(parser, "values");
    cass_expect(parser, "(");
    for (size_t i = 0; i < ast->n_assignments; i++) {
        if (i > 0) {
            cass_expect(parser, ",");
        }
        ast->assignments[i].term = cass_take_term(parser);
    }
    cass_expect(parser, ")");
    take_if(parser);
    take_using(parser);
}

static void parse_update(struct cass_parser *parser)
{
    struct cass_ast *ast = parser->ast;
    ast->kind = CASS_UPDATE;
    cass_take_table(parser);
    take_using(parser);
    cass_expect(parser, "set");
    do {
        check_room(parser, ast->n_assignments, CASS_LIST_MAX);
        struct cass_assignment *assignment = &ast->assignments[ast->n_assignments++];
        assignment->column = cass_take_word(parser);
        cass_expect(parser, "=");
        assignment->term = cass_take_term(parser);
    } while (cass_take(parser, ","));
    take_where(parser);
    take_if(parser);
}

static void parse_delete(struct cass_parser *parser)
{
    struct cass_ast *ast = parser->ast;
    ast->kind = CASS_DELETE;
    if (!cass_is(parser, "from")) {
        do {
            check_room(parser, ast->n_assignments, CASS_LIST_MAX);
            ast->assignments[ast->n_assignments++] = (struct cass_assignment){
                cass_take_word(parser), {.kind = CASS_WORD, .text = VV_STR_LITERAL("null")}};
        } while (cass_take(parser, ","));
    }
    cass_expect(parser, "from");
    cass_take_table(parser);
    take_using(parser);
    take_where(parser);
    take_if(parser);
}

static void parse_truncate(struct cass_parser *parser)
{
    parser->ast->kind = CASS_TRUNCATE;
    (void)cass_take(parser, "table");
    cass_take_table(parser);
}

struct cass_ast *cass_parse(struct vv_str text)
{
    struct cass_ast *ast = vv_sim_calloc(1, sizeof *ast);
    ast->text = vv_arena_str(&ast->arena, text);
    vv_invariant(ast->text.data != NULL);
    struct cass_parser parser = {.ast = ast, .rest = ast->text};
    cass_next(&parser);
    if (cass_take(&parser, "select")) {
        parse_select(&parser);
    } else if (cass_take(&parser, "insert")) {
        parse_insert(&parser);
    } else if (cass_take(&parser, "update")) {
        parse_update(&parser);
    } else if (cass_take(&parser, "delete")) {
        parse_delete(&parser);
    } else if (cass_take(&parser, "create")) {
        cass_parse_create(&parser);
    } else if (cass_take(&parser, "alter")) {
        cass_parse_alter(&parser);
    } else if (cass_take(&parser, "truncate")) {
        parse_truncate(&parser);
    } else {
        cass_give_up(ast, "no statement of this kind is known");
    }
    (void)cass_take(&parser, ";");
    if (parser.kind != CASS_TOKEN_END) {
        cass_give_up(ast, "'%.*s' is too much", VV_STR_ARG(parser.token));
    }
    return ast;
}

void cass_ast_destroy(const struct cass_ast *ast)
{
    if (ast) {
        union {
            const struct cass_ast *read;
            struct cass_ast *write;
        } own = {ast};
        vv_arena_deinit(&own.write->arena);
        free(own.write);
    }
}
