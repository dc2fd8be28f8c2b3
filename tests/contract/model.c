/* SPDX-License-Identifier: Apache-2.0 */
/* The model: its universe, its changes, and how a store is compared with it. */
#include "model.h"

#include "base/random.h"
#include "store/era.h"

#include <string.h>

#define VALUE_SIZE_MAX 400
#define HEAD_SIZE      12
#define FIRST_DAY      100

/* ---- the universe */

/* Ascending by key: 2 tenants, 2 sources; 2 hours and 4 days as buckets; 1 or 2 spans; 2
 * measurements. */
static struct vv_span_key span_key(uint32_t index)
{
    static struct vv_span_key keys[MODEL_SPANS];
    static bool made;
    if (!made) {
        made = true;
        size_t n = 0;
        for (uint32_t owner = 0; owner < 4; owner++) {
            for (uint32_t i = 0; i < 20; i++) {
                bool hour = i >= 16;
                int64_t length = hour ? VV_HOUR : VV_DAY;
                int64_t start = FIRST_DAY * VV_DAY + (hour ? i / 2 % 2 : i / 4) * length;
                int64_t span = hour ? start : start + i / 2 % 2 * 5 * VV_HOUR;
                keys[n++] = (struct vv_span_key){
                    {1 + owner / 2, 1 + owner % 2, start, length, 0, 0}, 1 + i % 2, span};
            }
        }
        for (size_t i = 1; i < n; i++) {
            for (size_t j = i; j > 0 && vv_span_key_compare(&keys[j], &keys[j - 1]) < 0; j--) {
                struct vv_span_key swap = keys[j];
                keys[j] = keys[j - 1];
                keys[j - 1] = swap;
            }
        }
    }
    return keys[index];
}

static uint32_t span_index(const struct vv_span_key *key)
{
    for (uint32_t i = 0; i < MODEL_SPANS; i++) {
        struct vv_span_key other = span_key(i);
        if (vv_span_key_compare(&other, key) == 0) {
            return i;
        }
    }
    return MODEL_SPANS;
}

static int64_t due_of(uint32_t span)
{
    return (int64_t)(span * 7 % 40) - 5;
}

static int64_t bucket_end(uint32_t span)
{
    struct vv_span_key key = span_key(span);
    return key.partition.bucket_start + key.partition.bucket_ns;
}

/* The bytes of a value's part: never the same for two, and never empty. */
static struct vv_str value_bytes(uint32_t value, uint32_t part, char *out)
{
    size_t size = 12 + value * 37 % (VALUE_SIZE_MAX - 12);
    memset(out, 'a' + (int)(value % 26), size);
    vv_invariant(snprintf(out, 12, "%u.%u", value, part) > 0);
    return (struct vv_str){out, size};
}

/* 0 when the bytes are no value's part. */
static uint32_t value_of(struct vv_str bytes, uint32_t part)
{
    char head[12] = "";
    char expected[VALUE_SIZE_MAX];
    if (bytes.size < 12) {
        return 0;
    }
    memcpy(head, bytes.data, 11);
    uint32_t value = (uint32_t)strtoul(head, NULL, 10);
    return vv_str_equal(bytes, value_bytes(value, part, expected)) ? value : 0;
}

/* ---- changes */

static enum change_kind random_kind(struct vv_random *random)
{
    static const struct {
        enum change_kind kind;
        uint32_t weight;
    } weights[] = {
        {CHANGE_PUT_RUN, 25},    {CHANGE_REMOVE_RUN, 10}, {CHANGE_PUT_MARK, 15},
        {CHANGE_RETIRE_MARK, 8}, {CHANGE_PUT_META, 10},   {CHANGE_REMOVE_META, 4},
        {CHANGE_CONFIRM, 4},     {CHANGE_PUT_BLOCKS, 14}, {CHANGE_SET_RETENTION, 3},
        {CHANGE_EXPIRE, 7},
    };
    uint32_t at = (uint32_t)vv_random_below(random, 100);
    size_t i = 0;
    while (at >= weights[i].weight) {
        at -= weights[i++].weight;
    }
    return weights[i].kind;
}

struct change model_change(uint64_t seed, uint32_t number)
{
    static const int64_t retentions[] = {0, 2 * VV_HOUR, VV_DAY, 3 * VV_DAY, 10 * VV_DAY};
    struct vv_random random = {.state = seed * 1000003 + number};
    struct change change = {.kind = random_kind(&random), .value = number + 1};
    change.span = (uint32_t)vv_random_below(&random, MODEL_SPANS);
    change.run = 1 + (uint32_t)vv_random_below(&random, MODEL_RUNS);
    change.part = (uint32_t)vv_random_below(&random, 2);
    change.meta_kind = (uint32_t)vv_random_below(&random, MODEL_KINDS);
    change.meta_key = (uint32_t)vv_random_below(&random, MODEL_KEYS);
    for (uint32_t span = change.span; span < MODEL_SPANS && change.n_spans < 4;
         span += 1 + (uint32_t)vv_random_below(&random, 30)) {
        change.n_parts[change.n_spans] = (uint32_t)vv_random_below(&random, MODEL_PARTS + 1);
        change.spans[change.n_spans++] = span;
    }
    change.tenant = (uint32_t)vv_random_below(&random, MODEL_TENANTS);
    change.retention_ns = retentions[vv_random_below(&random, 5)];
    change.now_ns = (FIRST_DAY - 2) * VV_DAY + (int64_t)vv_random_below(&random, 8 * 24) * VV_HOUR;
    change.work_bytes = vv_random_below(&random, 2000);
    return change;
}

/* Some values' parts have heads, some only the first one. */
static size_t head_size(uint32_t value, uint32_t part, size_t size)
{
    bool has_head = value % 3 != 0 && (part == 0 || value % 5 != 0) && size > HEAD_SIZE;
    return has_head ? HEAD_SIZE : 0;
}

static enum vv_status put_blocks(struct vv_store *store, const struct change *change)
{
    struct vv_piece pieces[4 * MODEL_PARTS];
    char bytes[4 * MODEL_PARTS][VALUE_SIZE_MAX];
    size_t n = 0;
    for (uint32_t i = 0; i < change->n_spans; i++) {
        for (uint32_t part = 0; part < change->n_parts[i] || part == 0; part++) {
            struct vv_str value = value_bytes(change->value, part, bytes[n]);
            value = change->n_parts[i] > 0 ? value : (struct vv_str){0};
            pieces[n++] =
                (struct vv_piece){.kind = VV_PIECE_BLOCK,
                                  .key = span_key(change->spans[i]),
                                  .part = part,
                                  .bytes = value,
                                  .head_size = head_size(change->value, part, value.size)};
        }
    }
    return store->ops->put_blocks(store, pieces, n, NULL);
}

struct outcome model_change_store(struct vv_store *store, const struct change *change)
{
    char bytes[VALUE_SIZE_MAX];
    char name[2] = {(char)('a' + change->meta_key), 0};
    const struct vv_piece run = {VV_PIECE_RUN,
                                 span_key(change->span),
                                 change->run,
                                 change->part,
                                 value_bytes(change->value, 0, bytes),
                                 0,
                                 0};
    const struct vv_mark mark = {due_of(change->span), span_key(change->span), VV_HOUR, change->run,
                                 false};
    struct outcome outcome = {VV_OK, false};
    switch (change->kind) {
    case CHANGE_PUT_RUN:
        outcome.status = store->ops->put_run(store, &run, NULL);
        break;
    case CHANGE_REMOVE_RUN:
        outcome.status = store->ops->remove_runs(store, &run, 1, NULL);
        break;
    case CHANGE_PUT_MARK:
        outcome.status = store->ops->put_mark(store, &mark, NULL);
        break;
    case CHANGE_RETIRE_MARK:
        outcome.status = store->ops->retire_marks(store, &mark, 1, NULL);
        break;
    case CHANGE_PUT_META:
        outcome.status = store->ops->put_meta(store, (uint8_t)change->meta_kind, vv_str_of(name),
                                              run.bytes, NULL);
        break;
    case CHANGE_REMOVE_META:
        outcome.status =
            store->ops->remove_meta(store, (uint8_t)change->meta_kind, vv_str_of(name), NULL);
        break;
    case CHANGE_CONFIRM:
        outcome.status = store->ops->confirm(store, NULL);
        break;
    case CHANGE_PUT_BLOCKS:
        outcome.status = put_blocks(store, change);
        break;
    case CHANGE_SET_RETENTION:
        outcome.status =
            store->ops->set_retention(store, 1 + change->tenant, change->retention_ns, NULL);
        break;
    case CHANGE_EXPIRE:
        outcome.status =
            store->ops->expire(store, change->now_ns, change->work_bytes, &outcome.more, NULL);
        break;
    }
    return outcome;
}

/* ---- the model's side */

static void change_state(struct model_state *state, const struct change *change)
{
    uint32_t *mark = &state->marks[change->span];
    switch (change->kind) {
    case CHANGE_PUT_RUN:
        state->runs[change->span][change->run - 1][change->part] = change->value;
        break;
    case CHANGE_REMOVE_RUN:
        state->runs[change->span][change->run - 1][change->part] = 0;
        break;
    case CHANGE_PUT_MARK:
        *mark = change->run > *mark ? change->run : *mark;
        break;
    case CHANGE_RETIRE_MARK:
        *mark = change->run >= *mark ? 0 : *mark;
        break;
    case CHANGE_PUT_META:
        state->meta[change->meta_kind][change->meta_key] = change->value;
        break;
    case CHANGE_REMOVE_META:
        state->meta[change->meta_kind][change->meta_key] = 0;
        break;
    default:
        break;
    }
}

static uint32_t tenant_of(uint32_t span)
{
    return span_key(span).partition.tenant - 1;
}

/* May be gone: as old as the retention. Must be gone: older by an era. */
static void expire_blocks(struct model *model, int64_t now_ns, bool done)
{
    for (uint32_t span = 0; span < MODEL_SPANS; span++) {
        struct model_block *block = &model->blocks[span];
        int64_t retention = model->retention_ns[tenant_of(span)];
        int64_t era = vv_era_length_s(vv_era_retention_s(retention), 8) * VV_SECOND;
        if (retention > 0 && now_ns >= bucket_end(span) + retention) {
            block->may_be_gone = true;
        }
        if (retention > 0 && done && now_ns >= bucket_end(span) + retention + era) {
            *block = (struct model_block){0};
        }
    }
}

void model_change_model(struct model *model, const struct change *change, struct outcome outcome)
{
    assert_ok(outcome.status);
    switch (change->kind) {
    case CHANGE_CONFIRM:
        model->confirmed = model->current;
        model->n_pending = 0;
        break;
    case CHANGE_PUT_BLOCKS:
        for (uint32_t i = 0; i < change->n_spans; i++) {
            model->blocks[change->spans[i]] = (struct model_block){
                .value = change->n_parts[i] ? change->value : 0, .n_parts = change->n_parts[i]};
        }
        break;
    case CHANGE_SET_RETENTION:
        model->retention_ns[change->tenant] = change->retention_ns;
        break;
    case CHANGE_EXPIRE:
        expire_blocks(model, change->now_ns, !outcome.more);
        break;
    default:
        assert_true(model->n_pending < MODEL_PENDING_MAX);
        model->pending[model->n_pending++] = *change;
        change_state(&model->current, change);
        break;
    }
}

void model_change_unknown(struct model *model, const struct change *change)
{
    if (change->kind == CHANGE_EXPIRE) {
        expire_blocks(model, change->now_ns, false);
    } else if (change->kind < CHANGE_CONFIRM) {
        model_change_model(model, change, (struct outcome){VV_OK, false});
    }
}

/* ---- what the store holds */

struct holding {
    struct model_state state;
    struct model_block blocks[MODEL_SPANS];
    int64_t last_due;
    const char *wrong; /* the first thing that was; a visitor must return, so it asserts nothing */
};

static bool expect(struct holding *holding, bool condition, const char *wrong)
{
    if (!condition && !holding->wrong) {
        holding->wrong = wrong;
    }
    return condition;
}

static enum vv_status hold_piece(void *context, const struct vv_piece *piece)
{
    struct holding *holding = context;
    uint32_t span = span_index(&piece->key);
    uint32_t value = value_of(piece->bytes, piece->kind == VV_PIECE_RUN ? 0 : piece->part);
    if (!expect(holding, span < MODEL_SPANS, "a piece's span was never put") ||
        !expect(holding, value != 0, "a piece's bytes were never put")) {
        return VV_OK;
    }
    if (piece->kind == VV_PIECE_RUN) {
        if (expect(holding, piece->run >= 1 && piece->run <= MODEL_RUNS && piece->part < 2,
                   "a run was never put")) {
            holding->state.runs[span][piece->run - 1][piece->part] = value;
        }
        return VV_OK;
    }
    struct model_block *block = &holding->blocks[span];
    expect(holding, piece->part == block->n_parts, "a part of a block is missing or twice there");
    expect(holding, block->n_parts == 0 || block->value == value, "a block's parts are mixed");
    block->value = value;
    block->n_parts++;
    return VV_OK;
}

static enum vv_status hold_mark(void *context, const struct vv_mark *mark)
{
    struct holding *holding = context;
    uint32_t span = span_index(&mark->key);
    if (expect(holding, span < MODEL_SPANS, "a mark's span was never put")) {
        expect(holding, mark->due_ns >= holding->last_due, "marks are out of order");
        expect(holding, mark->due_ns == due_of(span) && mark->span_ns == VV_HOUR,
               "a mark is wrong");
        holding->last_due = mark->due_ns;
        holding->state.marks[span] = (uint32_t)mark->run;
    }
    return VV_OK;
}

struct held_kind {
    struct holding *holding;
    uint32_t kind;
};

static enum vv_status hold_meta(void *context, struct vv_str key, struct vv_str value)
{
    const struct held_kind *held = context;
    bool known = key.size == 1 && key.data[0] >= 'a' && key.data[0] < 'a' + MODEL_KEYS;
    if (expect(held->holding, known, "a key was never put")) {
        held->holding->state.meta[held->kind][key.data[0] - 'a'] = value_of(value, 0);
    }
    return VV_OK;
}

struct heads {
    struct holding *holding;
    uint32_t n; /* of blocks */
};

/* Of a block that has a head at least that is there. */
static enum vv_status hold_head(void *context, const struct vv_piece *piece)
{
    struct heads *heads = context;
    char head[VALUE_SIZE_MAX + 1] = "";
    char whole[VALUE_SIZE_MAX];
    memcpy(head, piece->bytes.data, piece->bytes.size);
    uint32_t value = (uint32_t)strtoul(head, NULL, 10);
    uint32_t part = piece->kind == VV_PIECE_RUN ? 0 : piece->part;
    struct vv_str expected = value_bytes(value, part, whole);
    size_t least = piece->kind == VV_PIECE_RUN ? 0 : head_size(value, part, expected.size);
    least = least > 0 ? least : expected.size;
    heads->n += piece->kind == VV_PIECE_BLOCK;
    (void)expect(heads->holding,
                 piece->bytes.size >= least && piece->bytes.size <= expected.size &&
                     memcmp(piece->bytes.data, whole, piece->bytes.size) == 0,
                 "a head was never put");
    return VV_OK;
}

static void look_at_heads(struct vv_store *store, struct holding *holding, uint32_t span)
{
    struct vv_span_key key = span_key(span);
    struct heads heads = {holding, 0};
    const struct vv_store_read read = {.partition = key.partition,
                                       .measurement = key.measurement,
                                       .span_from = key.span_start,
                                       .span_to = key.span_start + 1,
                                       .heads_only = true};
    assert_ok(store->ops->read(store, &read, hold_head, &heads, NULL));
    (void)expect(holding, heads.n == holding->blocks[span].n_parts, "heads are not those of all");
}

/* ---- several buckets */

struct again {
    struct holding holding;
    struct vv_piece last;
    bool has_last;
};

static bool is_behind(const struct vv_piece *a, const struct vv_piece *b)
{
    int order = vv_span_key_compare(&a->key, &b->key);
    if (a->kind != b->kind) {
        return a->kind == VV_PIECE_BLOCK;
    }
    return order != 0 ? order > 0 : a->run != b->run ? a->run > b->run : a->part > b->part;
}

static enum vv_status hold_again(void *context, const struct vv_piece *piece)
{
    struct again *again = context;
    (void)expect(&again->holding, !again->has_last || is_behind(piece, &again->last),
                 "what several buckets have is out of order");
    again->last = *piece;
    again->has_last = true;
    return hold_piece(&again->holding, piece);
}

static bool is_in(const struct vv_store_read *read, const struct vv_span_key *key)
{
    int64_t ahead = key->partition.bucket_start - read->partition.bucket_start;
    struct vv_span_key moved = {read->partition, read->measurement, key->span_start};
    moved.partition.bucket_start += ahead;
    return vv_span_key_compare(&moved, key) == 0 && ahead >= 0 &&
           ahead < read->n_buckets * read->partition.bucket_ns;
}

/* From the span's bucket on: what was found in one after the other. */
static void look_again(struct vv_store *store, struct holding *holding, uint32_t from)
{
    static struct again again;
    static const uint32_t no_runs[MODEL_RUNS][2];
    static const struct model_block no_block;
    struct vv_span_key key = span_key(from);
    const struct vv_store_read read = {.partition = key.partition,
                                       .measurement = key.measurement,
                                       .span_from = INT64_MIN,
                                       .span_to = INT64_MAX,
                                       .n_buckets = 2 + from % (store->ops->buckets_max - 1)};
    again = (struct again){.has_last = false};
    assert_ok(store->ops->read(store, &read, hold_again, &again, NULL));
    for (uint32_t span = 0; span < MODEL_SPANS; span++) {
        struct vv_span_key other = span_key(span);
        bool in = is_in(&read, &other);
        const struct model_block *block = in ? &holding->blocks[span] : &no_block;
        const struct model_block *found = &again.holding.blocks[span];
        const void *runs = in ? (const void *)holding->state.runs[span] : (const void *)no_runs;
        (void)expect(&again.holding,
                     memcmp(again.holding.state.runs[span], runs, sizeof no_runs) == 0,
                     "runs of several buckets are not those of each");
        (void)expect(&again.holding,
                     found->value == block->value && found->n_parts == block->n_parts,
                     "blocks of several buckets are not those of each");
    }
    holding->wrong = holding->wrong ? holding->wrong : again.holding.wrong;
}

static void look(struct vv_store *store, struct holding *holding)
{
    memset(holding, 0, sizeof *holding);
    holding->last_due = INT64_MIN;
    for (uint32_t span = 0; span < MODEL_SPANS; span++) {
        struct vv_span_key key = span_key(span);
        const struct vv_store_read read = {.partition = key.partition,
                                           .measurement = key.measurement,
                                           .span_from = key.span_start,
                                           .span_to = key.span_start + 1};
        assert_ok(store->ops->read(store, &read, hold_piece, holding, NULL));
        look_at_heads(store, holding, span);
    }
    for (uint32_t span = 0; span < MODEL_SPANS && store->ops->buckets_max > 1; span++) {
        look_again(store, holding, span);
    }
    assert_ok(store->ops->scan_marks(store, INT64_MAX, NULL, hold_mark, holding, NULL));
    for (uint32_t kind = 0; kind < MODEL_KINDS; kind++) {
        struct held_kind held = {holding, kind};
        assert_ok(
            store->ops->scan_meta(store, (uint8_t)kind, vv_str_of(""), hold_meta, &held, NULL));
    }
    if (holding->wrong) {
        fail_msg("%s", holding->wrong);
    }
}

static void verify_blocks(const struct holding *holding, struct model *model)
{
    for (uint32_t span = 0; span < MODEL_SPANS; span++) {
        struct model_block *expected = &model->blocks[span];
        const struct model_block *held = &holding->blocks[span];
        if (expected->may_be_gone && held->value == 0) {
            *expected = (struct model_block){0}; /* gone, and it must stay so */
        }
        if (held->value != expected->value || held->n_parts != expected->n_parts) {
            fail_msg("span %u has %u parts of value %u instead of %u of %u%s", span, held->n_parts,
                     held->value, expected->n_parts, expected->value,
                     expected->may_be_gone ? " or none" : "");
        }
    }
}

void model_verify(struct vv_store *store, struct model *model)
{
    static struct holding holding;
    look(store, &holding);
    assert_memory_equal(&holding.state, &model->current, sizeof model->current);
    verify_blocks(&holding, model);
}

/* Takes from what is there which of the spans the unknown put_blocks has replaced. */
static void learn_blocks(const struct holding *holding, struct model *model,
                         const struct change *unknown)
{
    for (uint32_t i = 0; i < unknown->n_spans; i++) {
        const struct model_block *held = &holding->blocks[unknown->spans[i]];
        const struct model_block made = {unknown->n_parts[i] ? unknown->value : 0,
                                         unknown->n_parts[i], false};
        if (held->value == made.value && held->n_parts == made.n_parts) {
            model->blocks[unknown->spans[i]] = made;
        }
    }
}

void model_after_crash(struct vv_store *store, struct model *model, const struct change *unknown)
{
    static struct holding holding;
    if (unknown) {
        model_change_unknown(model, unknown);
    }
    look(store, &holding);
    struct model_state state = model->confirmed;
    size_t kept = 0;
    while (kept < model->n_pending && memcmp(&holding.state, &state, sizeof state) != 0) {
        change_state(&state, &model->pending[kept++]);
    }
    if (memcmp(&holding.state, &state, sizeof state) != 0) {
        fail_msg("what is there is no prefix of %zu changes", model->n_pending);
    }
    model->confirmed = state;
    model->current = state;
    model->n_pending = 0;
    if (unknown && unknown->kind == CHANGE_PUT_BLOCKS) {
        learn_blocks(&holding, model, unknown);
    }
    verify_blocks(&holding, model);
}
