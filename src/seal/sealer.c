/* SPDX-License-Identifier: Apache-2.0 */
/* The sealer: groups of due spans, each merged once. */
#include "base/log.h"
#include "seal/seal_private.h"

#include <stdlib.h>
#include <string.h>

/* A write to the store costs as much as sealing some hundred spans, so a group has many; but other
 * work waits for it. */
#define GROUP_BYTES_MAX (4u << 20)            /* of encoded blocks */
#define GROUP_NS_MAX    (50 * VV_MILLISECOND) /* after which no further span is begun */
#define BLOCK_ROWS_MAX  65536
#define CHUNK_PARTS     4 /* of a block, merged at once: few of them are cut short */

enum vv_status vv_sealer_create(const struct vv_sealer_options *options,
                                struct vv_sealer **sealer_out)
{
    struct vv_sealer *sealer = calloc(1, sizeof *sealer);
    /* Runs that follow each other become one block, not a block each: what is longer packs better,
     * and is read at once. */
    struct vv_merge_options merge_options = {
        .from = INT64_MIN, .to = INT64_MAX, .chunk_bytes = CHUNK_PARTS * options->block_bytes_max};
    struct vv_pyramid_options pyramid_options = {.registry = options->registry,
                                                 .store = options->store,
                                                 .deletions = options->deletions,
                                                 .members = options->members,
                                                 .clock = options->clock,
                                                 .zstd_level = options->zstd_level,
                                                 .block_bytes_max = options->block_bytes_max,
                                                 .percentile_error = options->percentile_error,
                                                 .whole_from = options->whole_from,
                                                 .expired = options->expired,
                                                 .say_whole = options->say_whole,
                                                 .records_from = options->records_from,
                                                 .whole_context = options->whole_context};
    enum vv_status status = sealer ? vv_merge_create(&merge_options, &sealer->merge) : VV_NO_MEMORY;
    if (status == VV_OK) {
        status = vv_pyramid_create(&pyramid_options, &sealer->pyramid);
    }
    if (status == VV_OK) {
        status = vv_cohorts_create(&pyramid_options, &sealer->cohorts);
    }
    if (status == VV_OK) {
        status = vv_rollup_create(0, &sealer->volumes);
    }
    if (status != VV_OK) {
        vv_sealer_destroy(sealer);
        return status;
    }
    sealer->options = *options;
    sealer->hold_ns = INT64_MIN;
    sealer->stale = (struct vv_stale_options){.registry = options->registry,
                                              .store = options->store,
                                              .ledger = options->ledger,
                                              .confirm = options->confirm,
                                              .confirm_context = options->confirm_context,
                                              .is_whole = true};
    /* Without statistics of columns: whoever reads a column's block decodes the column. */
    sealer->encoder.options = (struct vv_block_options){.zstd_level = options->zstd_level};
    sealer->encoder.rows_max = BLOCK_ROWS_MAX;
    sealer->encoder.bytes_max = options->block_bytes_max;
    *sealer_out = sealer;
    return VV_OK;
}

void vv_sealer_destroy(struct vv_sealer *sealer)
{
    if (!sealer) {
        return;
    }
    vv_piece_list_deinit(&sealer->blocks);
    vv_piece_list_deinit(&sealer->runs);
    vv_stale_list_deinit(&sealer->later);
    vv_stale_list_deinit(&sealer->told);
    vv_stale_list_deinit(&sealer->above);
    vv_buffer_deinit(&sealer->applied);
    free(sealer->tiers_seen);
    free(sealer->marks);
    free(sealer->settled);
    free(sealer->is_mine);
    vv_pyramid_destroy(sealer->pyramid);
    vv_cohorts_destroy(sealer->cohorts);
    vv_rollup_destroy(sealer->volumes);
    vv_merge_destroy(sealer->merge);
    vv_deletion_list_deinit(&sealer->deletions);
    vv_piece_encoder_deinit(&sealer->encoder);
    free(sealer);
}

/* ---- a group ---- */

static enum vv_status confirm(struct vv_sealer *sealer, struct vv_error *error)
{
    struct vv_store *store = sealer->options.store;
    return sealer->options.confirm ? sealer->options.confirm(sealer->options.confirm_context, error)
                                   : store->ops->confirm(store, error);
}

/* Beside other nodes: what is open now has been built by nobody, and who builds it will read the
 * blocks that follow. */
int64_t vv_seal_stale_at(const struct vv_sealer *sealer)
{
    struct vv_clock *clock = sealer->options.clock;
    int64_t now = clock->wall_ns(clock);
    return now > sealer->latest_ns ? now : sealer->latest_ns;
}

static enum vv_status put_stale(struct vv_sealer *sealer, struct vv_error *error)
{
    int64_t over_at = vv_seal_stale_at(sealer);
    return vv_stale_put_list(&sealer->stale, &sealer->later, over_at, error);
}

/* Beside other nodes cohorts' units are made stale when the records that they are built of have
 * landed: who builds one before does it again. Until then the sources' marks stay. */
static enum vv_status tell_cohorts(struct vv_sealer *sealer, struct vv_error *error)
{
    enum vv_status status = confirm(sealer, error);
    return status == VV_OK ? vv_stale_put_list(&sealer->stale, &sealer->told, INT64_MAX, error)
                           : status;
}

/* What units of a store of one node waited for may be built now. */
static void try_waiting_again(struct vv_sealer *sealer)
{
    if (!sealer->options.store->ops->shared && sealer->kind != VV_SEAL_RAW &&
        sealer->n_settled > 0) {
        sealer->put_off.n = sealer->put_off.n_waiting = 0;
        sealer->put_off.rest_until_ns = sealer->put_off.tier_until_ns = 0;
    }
}

static enum vv_status put_blocks(struct vv_sealer *sealer, struct vv_error *error)
{
    const struct vv_sealer_options *options = &sealer->options;
    struct vv_volumes volumes = {
        .registry = options->registry,
        .store = options->store,
        .rule = options->volumes_after_ns > 0 ? &options->ledger : NULL,
    };
    for (size_t i = 0; i < sealer->n_settled; i++) {
        vv_stamp run = sealer->settled[i].run;
        volumes.run = run > volumes.run ? run : volumes.run;
    }
    return vv_volumes_put(&volumes, &sealer->blocks, error);
}

/* What was made stale, then blocks, durably; then the runs; then the marks. Where some of what is
 * made stale would be parked with this node, nothing is written: if the node was lost, nothing else
 * would tell of it. An embedded store keeps
 * the order of what is not durable yet, so that what is stale cannot be lost before the runs are.
 */
static enum vv_status write_group(struct vv_sealer *sealer, struct vv_error *error)
{
    struct vv_store *store = sealer->options.store;
    enum vv_status status = vv_stale_check_held(&sealer->stale, &sealer->told, INT64_MAX, error);
    if (status == VV_OK && sealer->later.n > 0) {
        status = put_stale(sealer, error);
    }
    if (status == VV_OK && sealer->blocks.n > 0) {
        status = put_blocks(sealer, error);
    }
    if (status == VV_OK && sealer->runs.n > 0) {
        status = store->ops->remove_runs(store, sealer->runs.items, sealer->runs.n, error);
    }
    if (status == VV_OK && sealer->told.n > 0) {
        status = tell_cohorts(sealer, error);
    }
    if (status == VV_OK) {
        status = store->ops->retire_marks(store, sealer->settled, sealer->n_settled, error);
    }
    if (status == VV_OK) {
        sealer->figures.bytes_out += sealer->blocks.bytes;
        try_waiting_again(sealer);
    }
    return status;
}

static void tell_damaged(const struct vv_sealer *sealer, const struct vv_mark *mark,
                         const struct vv_error *why)
{
    char source[600];
    char measurement[600];
    char message[2 * sizeof why->message];
    char from[VV_TIME_TEXT_SIZE];
    struct vv_registry *registry = sealer->options.registry;
    uint32_t number = mark->key.partition.source;
    struct vv_str id =
        vv_cohort_is(number) ? VV_STR_LITERAL("several") : vv_registry_source_id(registry, number);
    struct vv_str name = vv_registry_measurement_name(registry, mark->key.measurement);
    const char *text = why && why->message[0] ? why->message : "something of it is damaged";
    struct vv_str tier = sealer->kind == VV_SEAL_RAW
                             ? VV_STR_LITERAL("raw")
                             : vv_space_word((enum vv_space)(sealer->kind % VV_SPACES));
    vv_time_format(mark->key.span_start, from);
    vv_log(VV_LOG_ERROR, "seal_damaged", "source=%s measurement=%s tier=%.*s from=%s message=%s",
           vv_log_quote(id.data, id.size, source, sizeof source),
           vv_log_quote(name.data, name.size, measurement, sizeof measurement), VV_STR_ARG(tier),
           from, vv_log_quote(text, strlen(text), message, sizeof message));
}

/* Whether the group goes on without a span. A damaged piece must not stop the sealing of everything
 * else: its span stays as it is, is still answered (with the error), and is looked at again after
 * the next restart; and so is a unit that waits for such a one. Nor must a part of the store that
 * is away, a unit that waits for one that is yet to be built, or one with more metrics than fit (of
 * several nodes, each of which refuses what is too much for itself). What is too much to be noted
 * is tried again and again. */
static bool goes_on_without(struct vv_sealer *sealer, const struct vv_mark *mark,
                            enum vv_status status, const struct vv_error *why)
{
    const struct vv_span_key *finer =
        status == VV_OVERLOAD ? vv_pyramid_waits_for(sealer->pyramid) : NULL;
    bool is_bad = status == VV_CORRUPT || status == VV_NEWER || status == VV_TOO_LARGE ||
                  (finer && vv_seal_has_damaged(sealer, finer));
    if (is_bad && sealer->n_damaged < VV_SEAL_DAMAGED_MAX) {
        sealer->damaged[sealer->n_damaged++] = mark->key;
        sealer->figures.damaged++;
        tell_damaged(sealer, mark, why);
        return true;
    }
    if (finer && !is_bad) {
        vv_put_off_wait(&sealer->put_off, &mark->key, sealer->kind, vv_seal_monotonic(sealer), why);
        sealer->figures.put_off++;
        return true;
    }
    if (is_bad || vv_seal_is_away(sealer, status)) {
        vv_seal_put_off(sealer, mark, why);
        return true;
    }
    return false;
}

/* Leaves out the spans that other nodes seal. */
static enum vv_status begin_group(struct vv_sealer *sealer, struct vv_error *error)
{
    struct vv_store *store = sealer->options.store;
    if (!store->ops->shared) {
        return VV_OK;
    }
    enum vv_status status = store->ops->shared->begin_seal(store, sealer->marks, sealer->n_marks,
                                                           sealer->is_mine, error);
    size_t kept = 0;
    for (size_t i = 0; i < sealer->n_marks && status == VV_OK; i++) {
        if (sealer->is_mine[i]) {
            sealer->marks[kept++] = sealer->marks[i];
        }
    }
    sealer->n_marks = kept;
    if (status == VV_OK && kept > 0 && sealer->options.learn) {
        status = sealer->options.learn(sealer->options.learn_context, error);
    }
    return status;
}

/* The next group begins behind this mark, if it does not begin before it anyway. */
static void go_back_to(struct vv_sealer *sealer, const struct vv_mark *mark)
{
    const struct vv_mark *cursor = &sealer->cursor;
    bool is_before = mark->due_ns != cursor->due_ns
                         ? mark->due_ns < cursor->due_ns
                         : vv_span_key_compare(&mark->key, &cursor->key) < 0;
    sealer->cursor = is_before ? *mark : *cursor;
}

static enum vv_status seal_group(struct vv_sealer *sealer, struct vv_error *error)
{
    int64_t until = vv_seal_monotonic(sealer) + GROUP_NS_MAX;
    for (size_t i = 0; i < sealer->n_marks; i++) {
        bool is_full = sealer->blocks.bytes + sealer->runs.bytes >= GROUP_BYTES_MAX ||
                       (i > 0 && vv_seal_monotonic(sealer) >= until);
        if (is_full) { /* the next group begins here */
            go_back_to(sealer, &sealer->marks[i - 1]);
            break;
        }
        size_t blocks = sealer->blocks.n;
        size_t runs = sealer->runs.n;
        size_t settled = sealer->n_settled;
        size_t later = sealer->later.n;
        size_t told = sealer->told.n;
        vv_pyramid_begin_span(sealer->pyramid);
        enum vv_status status = vv_seal_span(sealer, i, error);
        if (status != VV_OK && !goes_on_without(sealer, &sealer->marks[i], status, error)) {
            return status;
        }
        if (status != VV_OK) {
            vv_piece_list_truncate(&sealer->blocks, blocks);
            vv_piece_list_truncate(&sealer->runs, runs);
            sealer->n_settled = settled;
            sealer->later.n = later;
            sealer->told.n = told;
            vv_seal_forget_answer(sealer, i); /* it may have ended before it was read */
            continue;
        }
        sealer->settled[sealer->n_settled++] = sealer->marks[i];
    }
    return write_group(sealer, error);
}

/* Where a group began, and how large it was. */
struct group {
    struct vv_mark before;
    bool had_before;
    struct vv_mark first;
    size_t n;
};

/* Which of the group's spans could not be written is not told: those of a larger group come again,
 * each by itself, so that one that is away holds up no other. */
static void leave_group(struct vv_sealer *sealer, const struct group *group,
                        const struct vv_error *why)
{
    if (group->n > 1) {
        sealer->alone = group->n;
        sealer->cursor = group->before;
        sealer->has_cursor = group->had_before;
    } else {
        vv_seal_put_off(sealer, &group->first, why);
    }
}

static enum vv_status seal_marks(struct vv_sealer *sealer, struct vv_error *error)
{
    sealer->n_settled = 0;
    enum vv_status status = begin_group(sealer, error);
    if (status == VV_OK) {
        status = seal_group(sealer, error);
        vv_seal_forget_answers(sealer);
    }
    vv_piece_list_truncate(&sealer->blocks, 0);
    vv_piece_list_truncate(&sealer->runs, 0);
    sealer->later.n = 0;
    sealer->told.n = 0;
    return status;
}

/* In a store of one node only units are put off, for finer ones: no request waits for that. */
static enum vv_status wait_for_store(const struct vv_sealer *sealer, struct vv_error *error)
{
    if (!sealer->options.store->ops->shared) {
        return VV_DONE;
    }
    return vv_error_set(error, VV_OVERLOAD, "spans wait to be sealed: %s",
                        sealer->put_off.why.message);
}

enum vv_status vv_sealer_step(struct vv_sealer *sealer, vv_stamp until, size_t spans_max,
                              struct vv_error *error)
{
    struct group group = {.before = sealer->cursor, .had_before = sealer->has_cursor};
    if (vv_seal_monotonic(sealer) < sealer->put_off.rest_until_ns) {
        return wait_for_store(sealer, error);
    }
    enum vv_status status = vv_seal_choose(sealer, until, sealer->alone > 0 ? 1 : spans_max, error);
    if (status == VV_OK && sealer->n_marks == 0) {
        return sealer->passed_over > 0 ? wait_for_store(sealer, error) : VV_DONE;
    }
    if (status == VV_OK) {
        group.first = sealer->marks[0];
        group.n = sealer->n_marks;
        sealer->last_due_ns = group.first.due_ns;
        sealer->alone -= sealer->alone > 0;
        status = seal_marks(sealer, error);
        if (vv_seal_is_away(sealer, status)) {
            leave_group(sealer, &group, error);
            return VV_OK;
        }
    }
    if (status == VV_NO_MEMORY) {
        vv_error_set(error, status, "out of memory while sealing; it is tried again");
    }
    return status;
}

void vv_sealer_hold(struct vv_sealer *sealer, int64_t due_ns)
{
    bool ends = due_ns == INT64_MIN && sealer->hold_ns != INT64_MIN;
    sealer->has_cursor = sealer->has_cursor && !ends; /* what was held comes first */
    sealer->hold_ns = due_ns;
}

int64_t vv_sealer_last_due_ns(const struct vv_sealer *sealer)
{
    return sealer->last_due_ns;
}

int64_t vv_sealer_latest_ns(const struct vv_sealer *sealer)
{
    return sealer->latest_ns;
}

void vv_sealer_read_figures(const struct vv_sealer *sealer, struct vv_seal_figures *figures_out)
{
    *figures_out = sealer->figures;
    struct vv_pyramid_kept kept = vv_pyramid_kept(sealer->pyramid);
    figures_out->kept = kept.as_it_was;
    figures_out->cut = kept.cut;
}

size_t vv_sealer_kept_units(const struct vv_sealer *sealer,
                            struct vv_kept_unit units_out[VV_KEPT_UNITS_MAX])
{
    return vv_pyramid_kept_units(sealer->pyramid, units_out);
}

size_t vv_sealer_read_damaged(const struct vv_sealer *sealer,
                              struct vv_span_key keys_out[VV_SEAL_DAMAGED_MAX])
{
    memcpy(keys_out, sealer->damaged, sealer->n_damaged * sizeof keys_out[0]);
    return sealer->n_damaged;
}
