/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Looking at the ledger of all nodes where it stands, without owning its shards. Marks of one span
 * that several nodes have put count once. What is parked anywhere is not in it. Any thread.
 */
#include "store/cassandra/cassandra.h"

#include <stdlib.h>

#define ASK_AT_ONCE 64
#define HOUR_MS     (VV_HOUR / VV_MILLISECOND)

struct place {
    int64_t slot_ms;
    uint32_t node;
};

struct places {
    struct place *items;
    size_t n;
    size_t capacity;
};

struct marks {
    struct vv_mark *items;
    size_t n;
    size_t capacity;
};

struct looking {
    struct vv_cassandra *store;
    uint8_t shard;
    struct places places; /* of the shard, that are looked at */
    struct marks marks;   /* of these */
    uint64_t left;        /* so many marks are still to be seen */
    struct vv_error *error;
};

static void looking_deinit(struct looking *looking)
{
    free(looking->places.items);
    free(looking->marks.items);
}

static enum vv_status no_memory(struct vv_error *error)
{
    return vv_error_set(error, VV_NO_MEMORY, "out of memory while looking at the ledger");
}

/* ---- marks ---- */

static enum vv_status add_mark(struct looking *looking, const struct vv_mark *mark)
{
    struct marks *marks = &looking->marks;
    if (marks->n == marks->capacity) {
        size_t capacity = marks->capacity ? marks->capacity * 2 : 256;
        struct vv_mark *bigger = realloc(marks->items, capacity * sizeof *bigger);
        if (!bigger) {
            return no_memory(looking->error);
        }
        marks->items = bigger;
        marks->capacity = capacity;
    }
    marks->items[marks->n++] = *mark;
    return VV_OK;
}

/* What this node has not learnt to name is nothing that it could be asked about. */
static enum vv_status take_page(struct looking *looking, struct vvcql_result *page)
{
    enum vv_status status = VV_OK;
    while (status == VV_OK && vvcql_next_row(page)) {
        struct vv_mark mark;
        int64_t put_us;
        status = vv_ledger_read_row(looking->store, page, &mark, &put_us, looking->error);
        if (status == VV_OK) {
            status = add_mark(looking, &mark);
        }
        status = status == VV_DONE || status == VV_NOT_FOUND ? VV_OK : status;
    }
    return status;
}

static struct vvcql_statement *question_of(const struct looking *looking, const struct place *place)
{
    return vv_ledger_slot_question(looking->store, looking->shard, place->slot_ms, place->node);
}

/* The page, which is taken, and those after it. */
static enum vv_status take_pages(struct looking *looking, const struct place *place,
                                 struct vvcql_result *take_first)
{
    struct vvcql_result *page = take_first;
    enum vv_status status = take_page(looking, page);
    struct vvcql_bytes state = vvcql_result_paging_state(page);
    while (status == VV_OK && state.size > 0) {
        struct vvcql_statement *statement = question_of(looking, place);
        struct vvcql_result *next = NULL;
        vvcql_set_paging_state(statement, state.data, state.size);
        status = vv_cassandra_ask(looking->store, &statement, 1, &next, looking->error);
        vvcql_result_destroy(page);
        page = next;
        if (status == VV_OK) {
            status = take_page(looking, page);
            state = vvcql_result_paging_state(page);
        }
    }
    vvcql_result_destroy(page);
    return status;
}

static enum vv_status read_some(struct looking *looking, const struct place *places, size_t n)
{
    struct vvcql_statement *statements[ASK_AT_ONCE] = {NULL};
    struct vvcql_result *pages[ASK_AT_ONCE];
    for (size_t i = 0; i < n; i++) {
        statements[i] = question_of(looking, &places[i]);
    }
    enum vv_status asked = vv_cassandra_ask(looking->store, statements, n, pages, looking->error);
    enum vv_status status = asked;
    for (size_t i = 0; i < n && asked == VV_OK; i++) {
        if (status == VV_OK) {
            status = take_pages(looking, &places[i], pages[i]);
        } else {
            vvcql_result_destroy(pages[i]);
        }
    }
    return status;
}

/* The marks of the places of the shard. */
static enum vv_status read_places(struct looking *looking)
{
    enum vv_status status = VV_OK;
    looking->marks.n = 0;
    for (size_t at = 0; at < looking->places.n && status == VV_OK; at += ASK_AT_ONCE) {
        size_t left = looking->places.n - at;
        status =
            read_some(looking, looking->places.items + at, left < ASK_AT_ONCE ? left : ASK_AT_ONCE);
    }
    return status;
}

/* ---- places ---- */

static enum vv_status add_place(struct looking *looking, const struct place *place)
{
    struct places *places = &looking->places;
    if (places->n == places->capacity) {
        size_t capacity = places->capacity ? places->capacity * 2 : 64;
        struct place *bigger = realloc(places->items, capacity * sizeof *bigger);
        if (!bigger) {
            return no_memory(looking->error);
        }
        places->items = bigger;
        places->capacity = capacity;
    }
    places->items[places->n++] = *place;
    return VV_OK;
}

/* Of slots with marks that are due then or later. */
static enum vv_status list_places(struct looking *looking, uint8_t shard, struct vvcql_result *rows,
                                  int64_t from_ms)
{
    enum vv_status status = VV_OK;
    looking->shard = shard;
    looking->places.n = 0;
    while (status == VV_OK && vvcql_next_row(rows)) {
        struct place place;
        int32_t node;
        if (vvcql_get_bigint(rows, 0, &place.slot_ms) && vvcql_get_int(rows, 1, &node) &&
            place.slot_ms > from_ms - HOUR_MS) {
            place.node = (uint32_t)node;
            status = add_place(looking, &place);
        }
    }
    return status;
}

/* ---- all shards ---- */

static int compare_marks(const void *a, const void *b)
{
    const struct vv_mark *x = a;
    const struct vv_mark *y = b;
    return vv_span_key_compare(&x->key, &y->key);
}

static enum vv_status give_marks(struct looking *looking, vv_mark_visit visit, void *context)
{
    struct marks *marks = &looking->marks;
    enum vv_status status = VV_OK;
    if (marks->n > 1) {
        qsort(marks->items, marks->n, sizeof *marks->items, compare_marks);
    }
    for (size_t i = 0; i < marks->n && status == VV_OK; i++) {
        if (i == 0 || compare_marks(&marks->items[i - 1], &marks->items[i]) != 0) {
            status = visit(context, &marks->items[i]);
        }
    }
    looking->left -= looking->left < marks->n ? looking->left : marks->n;
    return status;
}

static enum vv_status look_at_shard(struct looking *looking, uint32_t shard,
                                    struct vvcql_result *slots, int64_t from_ms,
                                    vv_mark_visit visit, void *context)
{
    enum vv_status status = list_places(looking, (uint8_t)shard, slots, from_ms);
    if (status == VV_OK) {
        status = read_places(looking);
    }
    return status == VV_OK ? give_marks(looking, visit, context) : status;
}

/* Of some shards, until all is seen that is to be; *shard: the first, and then the next one. */
static enum vv_status look_at_shards(struct looking *looking, uint32_t *shard, int64_t from_ms,
                                     vv_mark_visit visit, void *context)
{
    const uint32_t first = *shard;
    const uint32_t rest = VV_CASSANDRA_SHARDS - first;
    const uint32_t n = rest < ASK_AT_ONCE ? rest : ASK_AT_ONCE;
    struct vvcql_statement *statements[ASK_AT_ONCE] = {NULL};
    struct vvcql_result *results[ASK_AT_ONCE];
    for (uint32_t i = 0; i < n; i++) {
        statements[i] = vv_ledger_slots_question(looking->store, (uint8_t)(first + i));
    }
    enum vv_status asked = vv_cassandra_ask(looking->store, statements, n, results, looking->error);
    enum vv_status status = asked;
    for (uint32_t i = 0; i < n && asked == VV_OK; i++) {
        if (status == VV_OK && looking->left > 0) {
            status = look_at_shard(looking, first + i, results[i], from_ms, visit, context);
            *shard = first + i + 1;
        }
        vvcql_result_destroy(results[i]);
    }
    return status;
}

enum vv_status vv_shared_look_at_marks(struct vv_store *base, int64_t due_from, uint32_t *part,
                                       uint64_t marks_max, vv_mark_visit visit, void *context,
                                       struct vv_error *error)
{
    struct looking looking = {.store = vv_cassandra_of(base), .left = marks_max, .error = error};
    int64_t from_ms = vv_ledger_slot_ms(due_from);
    enum vv_status status = VV_OK;
    while (*part < VV_CASSANDRA_SHARDS && looking.left > 0 && status == VV_OK) {
        status = look_at_shards(&looking, part, from_ms, visit, context);
    }
    *part = *part < VV_CASSANDRA_SHARDS ? *part : VV_MARKS_END;
    looking_deinit(&looking);
    return status == VV_DONE ? VV_OK : vv_cassandra_put_off(status);
}

/* ---- one ---- */

enum vv_status vv_shared_is_marked(struct vv_store *base, const struct vv_mark *mark,
                                   bool *is_marked_out, struct vv_error *error)
{
    struct looking looking = {.store = vv_cassandra_of(base), .error = error};
    int64_t from_ms = vv_ledger_slot_ms(mark->due_ns);
    struct vvcql_result *rows = NULL;
    uint8_t shard;
    *is_marked_out = false;
    enum vv_status status = vv_cassandra_shard(looking.store, &mark->key.partition, &shard, error);
    if (status == VV_OK) {
        struct vvcql_statement *statement = vv_ledger_slots_question(looking.store, shard);
        status = vv_cassandra_ask(looking.store, &statement, 1, &rows, error);
    }
    if (status == VV_OK) {
        status = list_places(&looking, shard, rows, from_ms);
        vvcql_result_destroy(rows);
    }
    if (status == VV_OK) {
        status = read_places(&looking);
    }
    for (size_t i = 0; i < looking.marks.n && status == VV_OK; i++) {
        *is_marked_out |= compare_marks(mark, &looking.marks.items[i]) == 0;
    }
    looking_deinit(&looking);
    return vv_cassandra_put_off(status);
}
