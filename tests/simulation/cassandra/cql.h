/* SPDX-License-Identifier: Apache-2.0 */
/* Statements of CQL, parsed: the forms that README.md lists. Private to this folder. */
#ifndef VV_SIMULATION_CASSANDRA_CQL_H
#define VV_SIMULATION_CASSANDRA_CQL_H

#include "base/arena.h"

enum cass_kind {
    CASS_SELECT,
    CASS_INSERT,
    CASS_UPDATE,
    CASS_DELETE,
    CASS_CREATE_KEYSPACE,
    CASS_CREATE_TABLE,
    CASS_ADD_COLUMN,
    CASS_TRUNCATE,
};

enum cass_term_kind {
    CASS_MARKER,
    CASS_TEXT,   /* 'text', without its quotes */
    CASS_NUMBER, /* or a UUID, or a blob */
    CASS_WORD,   /* null, true, false */
};

struct cass_term {
    enum cass_term_kind kind;
    uint32_t marker;
    struct vv_str text;
};

enum cass_operator { CASS_EQ, CASS_NE, CASS_LT, CASS_LE, CASS_GT, CASS_GE, CASS_IN };

#define CASS_KEY_MAX   16 /* columns of a partition key or a clustering key */
#define CASS_TERMS_MAX 64

/* `columns operator terms`; of several columns a comparison of tuples. */
struct cass_condition {
    struct vv_str columns[CASS_KEY_MAX];
    size_t n_columns;
    enum cass_operator operator;
    bool is_list;  /* IN ?: the one term is a list */
    bool is_token; /* token(columns), of the whole partition key, beside one number */
    struct cass_term terms[CASS_TERMS_MAX];
    size_t n_terms;
};

enum cass_selector_kind { CASS_COLUMN, CASS_WRITETIME, CASS_TTL, CASS_COUNT };

struct cass_selector {
    enum cass_selector_kind kind;
    struct vv_str column;
};

struct cass_assignment {
    struct vv_str column;
    struct cass_term term;
};

struct cass_order {
    struct vv_str column;
    bool descending;
};

struct cass_option {
    struct vv_str name; /* "compaction.class" of a map */
    struct vv_str value;
};

struct cass_definition {
    struct vv_str name;
    struct vv_str type;
    bool is_static;
};

#define CASS_LIST_MAX       64
#define CASS_CONDITIONS_MAX 16

struct cass_ast {
    struct vv_arena arena;
    struct vv_str text;
    enum cass_kind kind;
    struct vv_str keyspace;
    struct vv_str table;
    struct cass_selector selectors[CASS_LIST_MAX];
    size_t n_selectors; /* 0: all columns */
    bool is_distinct;   /* columns of the partition key, once a partition */
    struct cass_assignment assignments[CASS_LIST_MAX];
    size_t n_assignments;
    struct cass_condition where[CASS_CONDITIONS_MAX];
    size_t n_where;
    struct cass_condition conditions[CASS_CONDITIONS_MAX]; /* IF */
    size_t n_conditions;
    bool if_exists;
    bool if_not_exists;
    struct cass_order orders[CASS_KEY_MAX]; /* of a table: its clustering order */
    size_t n_orders;
    bool has_limit;
    bool has_ttl;
    bool has_timestamp;
    bool allows_filtering;
    struct cass_term limit;
    struct cass_term ttl;
    struct cass_term timestamp;
    uint32_t n_markers;
    /* Tables. */
    struct cass_definition definitions[CASS_LIST_MAX];
    size_t n_definitions;
    struct vv_str partition_key[CASS_KEY_MAX];
    size_t n_partition_key;
    struct vv_str clustering[CASS_KEY_MAX];
    size_t n_clustering;
    struct cass_option options[CASS_LIST_MAX];
    size_t n_options;
};

static inline bool cass_is_conditional(const struct cass_ast *ast)
{
    return ast->kind != CASS_SELECT &&
           (ast->if_exists || ast->if_not_exists || ast->n_conditions > 0);
}

/* Never fails: what is not understood ends the program. */
struct cass_ast *cass_parse(struct vv_str text);
void cass_ast_destroy(const struct cass_ast *ast); /* NULL is allowed */

/* Prints what the model can't do or Cassandra would not, and the statement; ends the program. */
_Noreturn void cass_give_up(const struct cass_ast *ast, const char *format, ...) VV_PRINTF(2, 3);

/* ---- the parts of the parser ---- */

enum cass_token_kind {
    CASS_TOKEN_END,
    CASS_TOKEN_WORD,   /* small letters, unless it was in double quotes */
    CASS_TOKEN_TEXT,   /* in single quotes */
    CASS_TOKEN_NUMBER, /* also UUIDs and blobs */
    CASS_TOKEN_SIGN,   /* ( ) , . = < > <= >= != ? * ; { } : */
};

struct cass_parser {
    struct cass_ast *ast;
    struct vv_str rest;
    enum cass_token_kind kind;
    struct vv_str token;
};

void cass_next(struct cass_parser *parser);
bool cass_is(const struct cass_parser *parser, const char *token);
/* Goes on when it is this token. */
bool cass_take(struct cass_parser *parser, const char *token);
void cass_expect(struct cass_parser *parser, const char *token);
struct vv_str cass_take_word(struct cass_parser *parser);
struct cass_term cass_take_term(struct cass_parser *parser);
void cass_take_table(struct cass_parser *parser);

/* CREATE and ALTER, behind that word. */
void cass_parse_create(struct cass_parser *parser);
void cass_parse_alter(struct cass_parser *parser);

#endif
