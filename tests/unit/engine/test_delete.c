/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Deleting through the engine: what is deleted is in no answer, whatever crashes, and its bytes go;
 * what is written afterwards is there.
 */
#include "place.h"

#include "model/piece.h"

#define START   INT64_C(1767225600) /* s; 2026-01-01 */
#define SEEDS   8
#define MINUTES 120 /* written by write_all: one point a minute of two sources and metrics */

static void begin(struct place *place)
{
    begin_empty(place, (START + 12 * 3600) * VV_SECOND);
}

static void seal_all(struct place *place)
{
    step_all(place, VV_TASK_SEAL_ALL, 0);
}

/* ---- writing ---- */

static void write_line(struct place *place, const char *source, int minute, int value)
{
    char line[128];
    int size = snprintf(line, sizeof line, "m,h=%s v=%d,w=%d %lld\n", source, value, value,
                        (long long)(START + minute * 60) * 1000000000);
    write_text(place, (struct vv_str){line, (size_t)size});
}

static void write_all(struct place *place, int value)
{
    static char text[MINUTES * 2 * 64];
    size_t size = 0;
    for (int i = 0; i < MINUTES; i++) {
        for (int s = 0; s < 2; s++) {
            size +=
                (size_t)snprintf(text + size, sizeof text - size, "m,h=%c v=%d,w=%d %lld\n",
                                 'a' + s, value, value, (long long)(START + i * 60) * 1000000000);
        }
    }
    write_text(place, (struct vv_str){text, size});
}

/* ---- deleting ---- */

/* Minutes [from, to) of what `words` say: "tag=h=a", "metric=m.v" … */
static enum vv_status try_delete(struct place *place, const char *words, int from, int to,
                                 struct vv_deleted *deleted, struct vv_error *error)
{
    char copy[200];
    char times[2][32];
    struct vv_parameter parameters[10] = {{VV_STR_LITERAL("tenant"), TENANT}};
    size_t n = 1;
    snprintf(copy, sizeof copy, "%s", words);
    for (char *word = strtok(copy, " "); word; word = strtok(NULL, " ")) {
        char *equals = strchr(word, '=');
        *equals = '\0';
        parameters[n++] = (struct vv_parameter){vv_str_of(word), vv_str_of(equals + 1)};
    }
    if (from < to) {
        snprintf(times[0], sizeof times[0], "%lld", (long long)(START + from * 60));
        snprintf(times[1], sizeof times[1], "%lld", (long long)(START + to * 60));
        parameters[n++] = (struct vv_parameter){VV_STR_LITERAL("from"), vv_str_of(times[0])};
        parameters[n++] = (struct vv_parameter){VV_STR_LITERAL("to"), vv_str_of(times[1])};
        parameters[n++] = (struct vv_parameter){VV_STR_LITERAL("epoch"), VV_STR_LITERAL("s")};
    }
    struct vv_request *request;
    enum vv_status status =
        vv_request_parse(VV_REQUEST_DELETE, parameters, n,
                         place->clock.clock.wall_ns(&place->clock.clock), &request, error);
    if (status == VV_OK) {
        status = vv_engine_delete(place->engine, request, deleted, error);
        vv_request_destroy(request);
    }
    return status;
}

static struct vv_deleted delete_points(struct place *place, const char *words, int from, int to)
{
    struct vv_error error = {0};
    struct vv_deleted deleted;
    if (try_delete(place, words, from, to, &deleted, &error) != VV_OK) {
        fail_msg("%s", error.message);
    }
    return deleted;
}

/* ---- asking ---- */

/* How many rows an answer of this kind has; `bare`: without the markers, so as the bytes are. */
static uint64_t ask(struct place *place, enum vv_request_kind kind, const char *name,
                    const char *value, bool bare, struct vv_buffer *text)
{
    const struct vv_parameter parameters[] = {
        {VV_STR_LITERAL("tenant"), TENANT},
        {vv_str_of(name), vv_str_of(value)},
    };
    struct vv_request *request;
    struct vv_result *result = NULL;
    struct vv_query_limits limits;
    struct vv_error error = {0};
    struct vv_result_facts facts;
    struct vv_query_context context = *vv_engine_query_context(place->engine);
    context.deletions = bare ? NULL : context.deletions;
    vv_engine_query_limits(place->engine, &limits);
    enum vv_status status = vv_request_parse(
        kind, parameters, 2, place->clock.clock.wall_ns(&place->clock.clock), &request, &error);
    if (status == VV_OK) {
        status = vv_result_open(&context, &limits, request, VV_FORMAT_CSV, &result, &error);
    }
    while (status == VV_OK) {
        status = vv_result_write(result, text, 4096, &error);
    }
    if (status != VV_DONE) {
        fail_msg("%s", error.message);
    }
    vv_result_read_facts(result, &facts);
    vv_result_close(result);
    return facts.rows;
}

static uint64_t count_by(struct place *place, const char *name, const char *value, bool bare)
{
    struct vv_buffer text = {0};
    uint64_t rows = ask(place, VV_REQUEST_QUERY, name, value, bare, &text);
    vv_buffer_deinit(&text);
    return rows;
}

static uint64_t count(struct place *place)
{
    return count_by(place, "metric", "m.*", false);
}

static uint64_t count_bytes(struct place *place)
{
    return count_by(place, "metric", "m.*", true);
}

/* The value of a metric of the engine's page. */
static double gauge(struct place *place, const char *name)
{
    struct vv_buffer page = {0};
    char start[64];
    vv_engine_write_metrics(place->engine, &page);
    vv_buffer_u8(&page, 0);
    snprintf(start, sizeof start, "\n%s ", name);
    const char *line = strstr((const char *)page.data, start);
    if (!line) {
        fail_msg("no metric %s", name);
    }
    double value = atof(line + strlen(start));
    vv_buffer_deinit(&page);
    return value;
}

#define ALL (MINUTES * 2 * 2)

/* ---- the tests ---- */

enum stage { IN_HEAD, IN_RUNS, IN_BLOCKS, STAGES };

static void bring_to(struct place *place, enum stage stage)
{
    if (stage >= IN_RUNS) {
        flush(place);
    }
    if (stage == IN_BLOCKS) {
        seal_all(place);
    }
}

static void deleted_points_are_in_no_answer_wherever_they_lie(void **state)
{
    (void)state;
    for (enum stage stage = IN_HEAD; stage < STAGES; stage++) {
        struct place place;
        begin(&place);
        write_all(&place, 1);
        bring_to(&place, stage);
        struct vv_deleted deleted = delete_points(&place, "tag=h=a metric=m.v", 30, 90);
        assert_int_equal(deleted.sources, 1);
        assert_int_equal(deleted.metrics, 1);
        assert_int_equal(deleted.markers, 1);
        assert_int_equal(count(&place), ALL - 60);
        assert_int_equal(count_by(&place, "metric", "m.w", false), ALL / 2);
        deleted = delete_points(&place, "measurement=m", 30, 40); /* two sources, all metrics */
        assert_int_equal(deleted.sources, 2);
        assert_int_equal(deleted.metrics, 2);
        assert_int_equal(deleted.markers, 2);
        assert_int_equal(count(&place), ALL - 60 - 30);
        struct vv_buffer text = {0};
        assert_int_equal(ask(&place, VV_REQUEST_EXPORT, "tag", "h=b", false, &text), 220);
        vv_buffer_deinit(&text);
        delete_points(&place, "all=true time=all", 0, 0);
        assert_int_equal(count(&place), 0);
        assert_int_equal(count_bytes(&place), ALL);
        end(&place);
    }
}

/* Also where the answer could be had from the head alone, or from the source's last time. */
static void the_newest_value_is_the_newest_that_is_left(void **state)
{
    (void)state;
    for (enum stage stage = IN_HEAD; stage < STAGES; stage++) {
        struct place place;
        struct vv_buffer text = {0};
        begin(&place);
        for (int i = 0; i < 10; i++) {
            write_line(&place, "a", i, i);
        }
        bring_to(&place, stage);
        delete_points(&place, "tag=h=a", 7, 100);
        assert_int_equal(ask(&place, VV_REQUEST_LATEST, "metric", "m.v", false, &text), 1);
        vv_buffer_u8(&text, 0);
        assert_non_null(strstr((const char *)text.data, "2026-01-01T00:06:00Z,6"));
        vv_buffer_deinit(&text);
        end(&place);
    }
}

static void a_point_that_is_written_again_is_there(void **state)
{
    (void)state;
    for (enum stage before = IN_HEAD; before < STAGES; before++) {
        for (enum stage after = IN_HEAD; after < STAGES; after++) {
            struct place place;
            begin(&place);
            write_all(&place, 1);
            bring_to(&place, before);
            delete_points(&place, "metric=m.*", 0, MINUTES);
            assert_int_equal(count(&place), 0);
            write_line(&place, "a", 50, 2); /* the same times again */
            bring_to(&place, after);
            assert_int_equal(count(&place), 2);
            sweep_all(&place);
            flush(&place);
            seal_all(&place);
            assert_int_equal(count(&place), 2);
            assert_int_equal(count_bytes(&place), 2);
            crash(&place, 1);
            assert_int_equal(count(&place), 2);
            end(&place);
        }
    }
}

/* The bytes are rewritten; a span that has nothing left has no block. */
static void the_bytes_of_what_is_deleted_go(void **state)
{
    (void)state;
    struct place place;
    begin(&place);
    write_all(&place, 1);
    bring_to(&place, IN_BLOCKS);
    delete_points(&place, "tag=h=a", 0, 60);
    delete_points(&place, "metric=m.w", 90, 100);
    assert_int_equal(count_bytes(&place), ALL);
    seal_all(&place); /* nothing is marked yet */
    assert_int_equal(count_bytes(&place), ALL);
    sweep_all(&place);
    assert_int_equal(gauge(&place, "varve_deletion_spans_marked_total"), 3);
    seal_all(&place);
    assert_int_equal(count_bytes(&place), ALL - 120 - 20);
    assert_int_equal(gauge(&place, "varve_deletion_values_removed_total"), 140);
    sweep_all(&place); /* and nothing is marked again */
    assert_int_equal(gauge(&place, "varve_deletion_spans_marked_total"), 3);
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        crash(&place, seed);
        assert_int_equal(count(&place), ALL - 120 - 20);
        assert_int_equal(count_bytes(&place), ALL - 120 - 20);
    }
    end(&place);
}

/* A crash after each step, with each prefix of what the store has not confirmed. */
static void a_deletion_survives_kill_9_at_each_step(void **state)
{
    (void)state;
    for (int last = 0; last < 6; last++) {
        for (uint64_t seed = 0; seed < SEEDS; seed++) {
            struct place place;
            begin(&place);
            write_all(&place, 1);
            bring_to(&place, (enum stage)(seed % STAGES));
            delete_points(&place, "metric=m.v", 0, MINUTES / 2);
            for (int i = 0; i < last; i++) {
                static const enum vv_engine_task tasks[] = {VV_TASK_FLUSH, VV_TASK_SWEEP,
                                                            VV_TASK_SEAL_ALL, VV_TASK_SEAL_ALL,
                                                            VV_TASK_FLUSH};
                vv_sim_clock_advance(&place.clock, VV_SECOND);
                enum vv_status status = step(&place, tasks[i]);
                assert_true(status == VV_OK || status == VV_DONE);
            }
            crash(&place, seed);
            assert_int_equal(count(&place), ALL - MINUTES);
            crash(&place, seed + 1);
            sweep_all(&place);
            flush(&place);
            seal_all(&place);
            assert_int_equal(count(&place), ALL - MINUTES);
            assert_int_equal(count_bytes(&place), ALL - MINUTES);
            crash(&place, seed);
            assert_int_equal(count(&place), ALL - MINUTES);
            end(&place);
        }
    }
}

/* A store that failed has lost the marks that it had not confirmed, in the middle of a sweep. */
static void a_sweep_begins_again_when_the_store_has_failed(void **state)
{
    (void)state;
    enum { DAYS = 60 }; /* more than a step of the sweep reads */
    struct place place;
    begin(&place);
    for (int day = 0; day < DAYS; day++) {
        write_line(&place, "a", -day * 1440, 1);
    }
    bring_to(&place, IN_BLOCKS);
    delete_points(&place, "tag=h=a", -DAYS * 1440, 1);
    vv_sim_clock_advance(&place.clock, VV_SECOND);
    assert_int_equal(step(&place, VV_TASK_SWEEP), VV_OK);
    assert_in_range(gauge(&place, "varve_deletion_spans_marked_total"), 1, DAYS - 1);
    write_line(&place, "b", 0, 1);
    vv_store_memory_fail(place.store, VV_IO, 1);
    assert_int_equal(step(&place, VV_TASK_FLUSH), VV_IO);
    vv_sim_clock_advance(&place.clock, VV_MINUTE);
    flush(&place);
    sweep_all(&place);
    seal_all(&place);
    assert_int_equal(count_bytes(&place), 2);
    end(&place);
}

static void a_deletion_that_the_journal_refused_deletes_nothing(void **state)
{
    (void)state;
    struct place place;
    struct vv_deleted deleted;
    struct vv_error error = {0};
    begin(&place);
    write_all(&place, 1);
    vv_sim_disk_fail_call(place.disk, VV_SIM_WRITE, 1, VV_FULL);
    assert_int_equal(try_delete(&place, "metric=m.v", 0, MINUTES, &deleted, &error), VV_FULL);
    assert_int_equal(count(&place), ALL);
    bring_to(&place, IN_BLOCKS);
    sweep_all(&place);
    seal_all(&place);
    assert_int_equal(count_bytes(&place), ALL);
    crash(&place, 1);
    assert_int_equal(count(&place), ALL);
    end(&place);
}

/* What another node's journal, or a copy of the data, brings afterwards. */
static void an_older_run_that_comes_late_stays_hidden(void **state)
{
    (void)state;
    struct place place;
    begin(&place);
    write_all(&place, 1);
    bring_to(&place, IN_BLOCKS);
    delete_points(&place, "tag=h=a", 0, MINUTES);
    sweep_all(&place);
    flush(&place);
    seal_all(&place);
    assert_int_equal(count_bytes(&place), ALL / 2);

    struct vv_registry *registry = vv_engine_query_context(place.engine)->registry;
    struct vv_piece_encoder encoder = {.rows_max = 1000, .bytes_max = 1 << 20};
    struct vv_rows rows;
    uint32_t source;
    assert_int_equal(vv_registry_source_by_id(registry, 0, VV_STR_LITERAL("h=a"), &source), VV_OK);
    assert_int_equal(vv_rows_alloc(2, 1, &rows), VV_OK);
    for (int i = 0; i < 2; i++) {
        rows.times[i] = (START + i * 60 + 7) * VV_SECOND;
        rows.stamps[i] =
            i == 0 ? vv_stamp_make(1000, 9) : UINT64_MAX / 2; /* one was written later */
        rows.columns[0].values[i] = 5;
        vv_column_mark(&rows.columns[0], (size_t)i);
    }
    rows.columns[0].metric = vv_registry_metric_named(registry, 0, VV_STR_LITERAL("m.v"));
    rows.columns[0].type = VV_FLOAT64;
    struct vv_piece piece = {.kind = VV_PIECE_RUN,
                             .key = {.partition = {.source = source,
                                                   .bucket_start = START * VV_SECOND,
                                                   .bucket_ns = VV_DAY},
                                     .span_start = START * VV_SECOND},
                             .run = vv_stamp_make(2000, 9)};
    assert_int_equal(vv_piece_encode(&encoder, &rows, 0, 2, &piece.bytes, NULL), VV_OK);
    struct vv_mark mark = {.key = piece.key, .span_ns = VV_HOUR, .run = piece.run};
    assert_int_equal(place.store->ops->put_run(place.store, &piece, NULL), VV_OK);
    assert_int_equal(place.store->ops->put_mark(place.store, &mark, NULL), VV_OK);
    assert_int_equal(place.store->ops->confirm(place.store, NULL), VV_OK);
    vv_piece_encoder_deinit(&encoder);
    vv_rows_free(&rows);

    assert_int_equal(count(&place), ALL / 2 + 1);
    assert_int_equal(count_bytes(&place), ALL / 2 + 2);
    seal_all(&place);
    assert_int_equal(count(&place), ALL / 2 + 1);
    assert_int_equal(count_bytes(&place), ALL / 2 + 1);
    end(&place);
}

static void nothing_is_deleted_because_a_word_was_forgotten(void **state)
{
    (void)state;
    static const struct {
        const char *words;
        bool timed;
        enum vv_status status;
        const char *says;
    } cases[] = {
        {"", true, VV_INVALID, "all=true"},
        {"all=false", true, VV_INVALID, "all=true"},
        {"all=true", false, VV_INVALID, "from and to"},
        {"tag=h=a", false, VV_INVALID, "time=all"},
        {"tag=h=a time=all", true, VV_INVALID, "time=all"},
        {"tag=h=a all=true", true, VV_INVALID, "all=true"},
        {"tag=h=a where=value>5", true, VV_INVALID, "where"},
        {"metric=m.x", true, VV_NOT_FOUND, "m.x"},
        {"measurement=n", true, VV_NOT_FOUND, "measurement"},
        {"tag=h=z", true, VV_OK, ""},
        {"metric=x.*", true, VV_OK, ""},
        {"all=true dry_run=true", true, VV_OK, ""},
    };
    struct place place;
    begin(&place);
    write_all(&place, 1);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct vv_deleted deleted;
        struct vv_error error = {0};
        assert_int_equal(
            try_delete(&place, cases[i].words, 0, cases[i].timed ? MINUTES : 0, &deleted, &error),
            cases[i].status);
        assert_non_null(strstr(error.message, cases[i].says));
        assert_int_equal(count(&place), ALL);
        if (strstr(cases[i].words, "dry_run")) {
            assert_true(deleted.dry_run);
            assert_int_equal(deleted.sources, 2);
            assert_int_equal(deleted.metrics, 2);
        }
    }
    assert_int_equal(gauge(&place, "varve_deletion_markers"), 0);
    end(&place);
}

/* The tiers above them could not be built again: some of what they were built of may be gone. */
static void spans_that_are_frozen_are_not_sealed_again(void **state)
{
    (void)state;
    struct place place;
    struct vv_error error = {0};
    begin(&place);
    const struct vv_retentions retentions = {.raw_ns = 2 * VV_DAY,
                                             .tiers_ns = {30 * VV_DAY, 365 * VV_DAY, 0}};
    if (vv_engine_set_retentions(place.engine, TENANT, &retentions, &error) != VV_OK) {
        fail_msg("%s", error.message);
    }
    expire(&place); /* nothing lives on that was kept before */
    write_all(&place, 1);
    bring_to(&place, IN_BLOCKS);
    delete_points(&place, "tag=h=b", 60, MINUTES);
    sweep_all(&place);
    assert_int_equal(gauge(&place, "varve_deletion_spans_marked_total"), 1);
    vv_sim_clock_advance(&place.clock, 2 * VV_HOUR); /* both hours are frozen by now */
    delete_points(&place, "tag=h=a", 0, MINUTES);
    assert_int_equal(count(&place), ALL / 4);
    sweep_all(&place);
    assert_int_equal(gauge(&place, "varve_deletion_spans_marked_total"), 1);
    end(&place);
}

/* How many values the steps of a tier have, as far as they are kept. */
static uint64_t count_steps_of(struct place *place, const char *tier, const char *length)
{
    const struct vv_parameter parameters[] = {
        {{"tenant", 6}, {"t", 1}},      {{"metric", 6}, {"m.*", 3}},
        {{"agg", 3}, {"count", 5}},     {{"step", 4}, vv_str_of(length)},
        {{"tier", 4}, vv_str_of(tier)}, {{"group_by", 8}, {"", 0}},
    };
    struct vv_request *request;
    struct vv_result *result = NULL;
    struct vv_query_limits limits;
    struct vv_buffer text = {0};
    struct vv_error error = {0};
    vv_engine_query_limits(place->engine, &limits);
    enum vv_status status =
        vv_request_parse(VV_REQUEST_QUERY, parameters, 6,
                         place->clock.clock.wall_ns(&place->clock.clock), &request, &error);
    if (status == VV_OK) {
        status = vv_result_open(vv_engine_query_context(place->engine), &limits, request,
                                VV_FORMAT_CSV, &result, &error);
    }
    while (status == VV_OK) {
        status = vv_result_write(result, &text, 4096, &error);
    }
    if (status != VV_DONE) {
        fail_msg("%s", error.message);
    }
    vv_result_close(result);
    vv_buffer_u8(&text, 0);
    uint64_t sum = 0;
    for (char *line = strtok((char *)text.data, "\r\n"); line; line = strtok(NULL, "\r\n")) {
        const char *last = strrchr(line, ',');
        sum += last ? strtoull(last + 1, NULL, 10) : 0; /* the header counts for nothing */
    }
    vv_buffer_deinit(&text);
    return sum;
}

static uint64_t count_steps(struct place *place)
{
    return count_steps_of(place, "minute", "1m");
}

/* At once, while units are stale, and after they were built again. */
static void tiers_follow_what_is_deleted(void **state)
{
    (void)state;
    struct place place;
    struct vv_error error = {0};
    begin(&place);
    const struct vv_retentions retentions = {.raw_ns = 0, .tiers_ns = {0, 0, 0}};
    if (vv_engine_set_retentions(place.engine, TENANT, &retentions, &error) != VV_OK) {
        fail_msg("%s", error.message);
    }
    write_all(&place, 1);
    bring_to(&place, IN_BLOCKS);
    seal_all(&place);
    assert_true(gauge(&place, "varve_tier_units_total") > 0);
    assert_int_equal(count_steps(&place), ALL);
    delete_points(&place, "metric=m.v", 0, 60);
    assert_int_equal(count_steps(&place), ALL - 120);
    crash(&place, 3);
    assert_int_equal(count_steps(&place), ALL - 120);
    sweep_all(&place);
    assert_int_equal(count_steps(&place), ALL - 120);
    flush(&place);
    seal_all(&place);
    assert_true(gauge(&place, "varve_tier_units_total") > 0); /* of this process: again */
    assert_int_equal(count_steps(&place), ALL - 120);
    write_line(&place, "a", 5, 2);
    assert_int_equal(count_steps(&place), ALL - 120 + 1); /* m.v again, m.w was there */
    end(&place);
}

static struct vv_sealing sealing_of(struct place *place, int from, int to)
{
    struct vv_sealing sealing;
    uint32_t part = 0;
    const int64_t second = 1000000000;
    assert_int_equal(vv_engine_read_sealing(place->engine, TENANT, (START + from * 60) * second,
                                            (START + to * 60) * second, &part, 1, &sealing, NULL),
                     VV_OK);
    return sealing;
}

/* Before that marks do not tell of it. */
static void sealing_counts_deletions_until_they_are_swept(void **state)
{
    (void)state;
    struct place place;
    begin(&place);
    write_all(&place, 1);
    bring_to(&place, IN_BLOCKS);
    delete_points(&place, "metric=m.v", 10, 20);
    assert_int_equal(sealing_of(&place, 0, 60).deletions, 2);
    assert_int_equal(sealing_of(&place, 20, 60).deletions, 0);
    sweep_all(&place);
    assert_int_equal(sealing_of(&place, 0, 60).deletions, 0);
    assert_true(sealing_of(&place, 0, 60).spans + sealing_of(&place, 0, 60).open > 0);
    end(&place);
}

/* What is sealed is durable at once: if its marks, and those of units above, were lost then, the
 * next sweep would find no deleted points in it. */
static void a_sweep_that_is_killed_behind_a_seal_loses_no_marks(void **state)
{
    (void)state;
    enum { POINTS = 80 }; /* days: more than a step sweeps */
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        struct place place;
        struct vv_error error = {0};
        begin(&place);
        const struct vv_retentions retentions = {.raw_ns = 0, .tiers_ns = {0, 0, 0}};
        assert_int_equal(vv_engine_set_retentions(place.engine, TENANT, &retentions, &error),
                         VV_OK);
        for (int day = 0; day < POINTS; day++) {
            write_line(&place, "a", -day * 24 * 60, 1);
        }
        flush(&place);
        seal_all(&place);
        delete_points(&place, "tag=h=a", -POINTS * 24 * 60, 60);
        assert_int_equal(step(&place, VV_TASK_SWEEP), VV_OK);
        assert_int_equal(step(&place, VV_TASK_SEAL_ALL), VV_OK);
        crash(&place, seed);
        sweep_all(&place);
        seal_all(&place);
        assert_int_equal(count_steps(&place), 0);
        assert_int_equal(count_steps_of(&place, "hour", "1h"), 0);
        assert_int_equal(count_steps_of(&place, "day", "1d"), 0);
        end(&place);
    }
}

/* By then the retention hides and frees all that they hide. */
static void markers_go_when_the_retention_has_passed_them_twice(void **state)
{
    (void)state;
    struct place place;
    begin(&place);
    assert_int_equal(vv_engine_set_retention(place.engine, TENANT, 2 * VV_DAY, NULL), VV_OK);
    expire(&place); /* nothing lives on that was kept before */
    write_all(&place, 1);
    delete_points(&place, "tag=h=a", 0, 60);
    flush(&place);
    seal_all(&place);
    vv_sim_clock_advance(&place.clock, 4 * VV_DAY);
    sweep_all(&place);
    assert_int_equal(gauge(&place, "varve_deletion_markers"), 1);
    vv_sim_clock_advance(&place.clock, 3 * VV_DAY);
    sweep_all(&place);
    assert_int_equal(gauge(&place, "varve_deletion_markers"), 0);
    crash(&place, 1);
    sweep_all(&place); /* the journal may have brought it again */
    assert_int_equal(gauge(&place, "varve_deletion_markers"), 0);
    crash(&place, 1);
    end(&place);
}

/* What was only in the journal is in memory then, and hidden by a marker that would have gone. */
static void what_is_deleted_does_not_come_back_when_the_node_was_away_for_long(void **state)
{
    (void)state;
    struct place place;
    struct vv_error error = {0};
    begin(&place);
    const struct vv_retentions retentions = {.raw_ns = 7 * VV_DAY, .tiers_ns = {0, 0, 0}};
    if (vv_engine_set_retentions(place.engine, TENANT, &retentions, &error) != VV_OK) {
        fail_msg("%s", error.message);
    }
    expire(&place); /* nothing lives on that was kept before */
    write_all(&place, 1);
    delete_points(&place, "metric=m.v", 0, 60);
    sweep_all(&place); /* nothing is in the store */
    vv_sim_clock_advance(&place.clock, 39 * VV_DAY);
    crash(&place, 3);
    sweep_all(&place);
    assert_int_equal(gauge(&place, "varve_deletion_markers"), 1 * 2);
    flush(&place);
    sweep_all(&place);
    expire(&place);
    seal_all(&place);
    assert_int_equal(count_steps(&place), ALL - 120);
    sweep_all(&place);
    vv_sim_clock_advance(&place.clock, VV_DAY);
    sweep_all(&place);
    assert_int_equal(gauge(&place, "varve_deletion_markers"), 0);
    assert_int_equal(count_steps(&place), ALL - 120);
    end(&place);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(deleted_points_are_in_no_answer_wherever_they_lie),
        cmocka_unit_test(the_newest_value_is_the_newest_that_is_left),
        cmocka_unit_test(a_point_that_is_written_again_is_there),
        cmocka_unit_test(the_bytes_of_what_is_deleted_go),
        cmocka_unit_test(a_deletion_survives_kill_9_at_each_step),
        cmocka_unit_test(a_sweep_begins_again_when_the_store_has_failed),
        cmocka_unit_test(a_deletion_that_the_journal_refused_deletes_nothing),
        cmocka_unit_test(an_older_run_that_comes_late_stays_hidden),
        cmocka_unit_test(nothing_is_deleted_because_a_word_was_forgotten),
        cmocka_unit_test(spans_that_are_frozen_are_not_sealed_again),
        cmocka_unit_test(tiers_follow_what_is_deleted),
        cmocka_unit_test(sealing_counts_deletions_until_they_are_swept),
        cmocka_unit_test(a_sweep_that_is_killed_behind_a_seal_loses_no_marks),
        cmocka_unit_test(markers_go_when_the_retention_has_passed_them_twice),
        cmocka_unit_test(what_is_deleted_does_not_come_back_when_the_node_was_away_for_long),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
