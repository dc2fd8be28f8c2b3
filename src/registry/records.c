/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records of the registry, as they stand in the journal and in the store's metadata; version 1 of
 * the form, version 2 of what nodes of one store have agreed on with stamps, version 3 of tenants
 * that want something done with late points, version 4 of classes, version 5 of those of
 * which not all was kept for the present retention, version 6 of classes that nodes share,
 * version 7 of those whose retention was shortened, and
 * version 2 of measurements that are in one, 3 of those on whose place is not agreed yet, 4 of
 * those that were moved, 5 of those with moves that nodes agree on. Integers are varints, signed
 * ones zigzag; a text is its size and its bytes. No checksum: who keeps records has one.
 *
 *   u8 form, number, version of the object (from 1; not in `times`), then by kind:
 *   tenant       name, retention in ns (signed); forms 2 and 3: u64 stamp of the retention;
 *                form 3: late points (vv_late_pack), u64 stamp of that; from form 4 on: both,
 *                patterns; form 5: from when on it is whole in ns (signed), how long what is older
 *                lives in ns (signed); form 6: these, u64 stamp of the patterns; form 7: these,
 *                until when the retention before counts in ns (signed), and that one (signed);
 *                form 8: the same, u8 how often it was made longer but for the first time, of each
 *                as in form 5; form 9: the same (form 7's are 0), of each time that it was made
 *                longer until when a life counts that was longer still, and that one (both signed),
 *                u8 how often it was made shorter, of each time as in form 7; form 10: the same,
 *                which time that it was made longer it was built again behind, and from when on
 *                (both signed)
 *   measurement  tenant, name; from form 2 on: first place; form 4: number of moves, of each: the
 *                time in ns (signed), place; form 5: the same, of each move u8 state (128 more: it
 *                was proposed here) behind it, and then u8 1: its place is agreed on
 *   metric       measurement, u8 type, field, unit, description; form 2: u64 stamp of the unit,
 *                u64 stamp of the description
 *   source       see source_record.c
 *   times        first, last in ns (signed)
 *
 * Nothing may follow. A record replaces what is known of the object if its version is higher, and
 * changes nothing otherwise; what never changes must agree: names, and types but for a metric of
 * integers that a higher version makes one of floats.
 */
#include "registry/registry_private.h"
#include "registry/text.h"

#define FORM_PLAIN   1
#define FORM_STAMPED 2  /* tenants and metrics only */
#define FORM_PLACED  2  /* measurements only */
#define FORM_GUESSED 3  /* measurements only */
#define FORM_MOVED   4  /* measurements only */
#define FORM_AGREED  5  /* measurements only */
#define FORM_LATE    3  /* tenants only */
#define FORM_CLASS   4  /* tenants only */
#define FORM_WHOLE   5  /* tenants only */
#define FORM_SHARED  6  /* tenants only */
#define FORM_SHORTER 7  /* tenants only */
#define FORM_LONGER  8  /* tenants only */
#define FORM_LIVES   9  /* tenants only */
#define FORM_BUILT   10 /* tenants only */
#define OWN          128u
#define VERSION_MAX  (UINT64_MAX >> 1)
#define SETTLED      1u

static void encode_head(struct vv_buffer *buffer, uint8_t form, uint32_t number,
                        const vv_object_state *state)
{
    vv_buffer_u8(buffer, form);
    vv_buffer_varint(buffer, number);
    vv_buffer_varint(buffer, vv_state_version(state));
}

static uint64_t encode_tenant(struct vv_registry *registry, uint32_t number,
                              struct vv_buffer *buffer)
{
    struct vv_tenant *tenant = vv_tenant_at(registry, number);
    if (!tenant) {
        return 0;
    }
    pthread_mutex_lock(&registry->tenants.lock);
    vv_stamp stamp = atomic_load_explicit(&tenant->retention_stamp, memory_order_relaxed);
    uint64_t late = atomic_load_explicit(&tenant->late, memory_order_relaxed);
    vv_stamp late_stamp = atomic_load_explicit(&tenant->late_stamp, memory_order_relaxed);
    struct vv_str patterns = vv_registry_class_patterns(registry, number);
    const struct vv_whole *whole = &tenant->whole;
    uint8_t form = whole->built.longer_from > 0 ? FORM_BUILT
                   : vv_whole_has_lives(whole)  ? FORM_LIVES
                   : whole->n > 1               ? FORM_LONGER
                   : tenant->patterns_stamp > 0 ? FORM_SHARED
                   : whole->n > 0               ? FORM_WHOLE
                   : patterns.size > 0          ? FORM_CLASS
                   : late || late_stamp         ? FORM_LATE
                   : stamp                      ? FORM_STAMPED
                                                : FORM_PLAIN;
    encode_head(buffer, form, number, &tenant->state);
    vv_buffer_sized(buffer, vv_text_str(tenant->name));
    vv_buffer_zigzag(buffer, tenant->retention_ns);
    if (form >= FORM_STAMPED) {
        vv_buffer_u64(buffer, stamp);
    }
    if (form >= FORM_LATE) {
        vv_buffer_varint(buffer, late);
        vv_buffer_u64(buffer, late_stamp);
    }
    if (form >= FORM_CLASS) {
        vv_buffer_sized(buffer, patterns);
    }
    if (form >= FORM_WHOLE) {
        vv_whole_encode_first(whole, buffer);
    }
    if (form >= FORM_SHARED) {
        vv_buffer_u64(buffer, tenant->patterns_stamp);
    }
    if (form >= FORM_LONGER) {
        vv_whole_encode_rest(whole, buffer);
    }
    if (form >= FORM_LIVES) {
        vv_whole_encode_lives(whole, buffer);
    }
    if (form >= FORM_BUILT) {
        vv_whole_encode_built(whole, buffer);
    }
    uint64_t version = vv_state_version(&tenant->state);
    pthread_mutex_unlock(&registry->tenants.lock);
    return version;
}

static uint8_t form_of_moves(const struct vv_move *moves, size_t n, bool is_placed)
{
    bool are_settled = is_placed;
    for (size_t i = 0; i < n; i++) {
        are_settled &= moves[i].state == VV_MOVE_SETTLED && !moves[i].is_own;
    }
    return are_settled ? FORM_MOVED : FORM_AGREED;
}

static uint64_t encode_measurement(struct vv_registry *registry, uint32_t number,
                                   struct vv_buffer *buffer)
{
    struct vv_measurement *measurement = vv_measurement_at(registry, number);
    if (!measurement) {
        return 0;
    }
    pthread_mutex_lock(&registry->metrics.lock);
    uint32_t place = atomic_load_explicit(&measurement->place, memory_order_relaxed);
    bool is_placed = atomic_load_explicit(&measurement->is_placed, memory_order_relaxed);
    struct vv_move moves[VV_MOVES_MAX];
    size_t n_moves = vv_measurement_moves(measurement, moves);
    uint8_t form = n_moves > 0                    ? form_of_moves(moves, n_moves, is_placed)
                   : !is_placed                   ? FORM_GUESSED
                   : place != measurement->tenant ? FORM_PLACED
                                                  : FORM_PLAIN;
    encode_head(buffer, form, number, &measurement->state);
    vv_buffer_varint(buffer, measurement->tenant);
    vv_buffer_sized(buffer, vv_text_str(measurement->name));
    if (form >= FORM_PLACED) {
        vv_buffer_varint(buffer, place);
    }
    if (form >= FORM_MOVED) {
        vv_buffer_varint(buffer, n_moves);
    }
    for (size_t i = 0; i < n_moves; i++) {
        vv_buffer_zigzag(buffer, moves[i].from_ns);
        vv_buffer_varint(buffer, moves[i].place);
        if (form == FORM_AGREED) {
            vv_buffer_u8(buffer, (uint8_t)(moves[i].state | (moves[i].is_own ? OWN : 0)));
        }
    }
    if (form == FORM_AGREED) {
        vv_buffer_u8(buffer, is_placed);
    }
    uint64_t version = vv_state_version(&measurement->state);
    pthread_mutex_unlock(&registry->metrics.lock);
    return version;
}

static uint64_t encode_metric(struct vv_registry *registry, uint32_t number,
                              struct vv_buffer *buffer)
{
    struct vv_metric *metric = vv_metric_at(registry, number);
    if (!metric) {
        return 0;
    }
    pthread_mutex_lock(&registry->metrics.lock);
    struct vv_str name = vv_text_str(metric->name);
    bool stamped = metric->unit_stamp || metric->description_stamp;
    encode_head(buffer, stamped ? FORM_STAMPED : FORM_PLAIN, number, &metric->state);
    vv_buffer_varint(buffer, metric->measurement);
    vv_buffer_u8(buffer, (uint8_t)vv_metric_type(metric));
    vv_buffer_sized(buffer,
                    (struct vv_str){name.data + metric->field_at, name.size - metric->field_at});
    vv_buffer_sized(buffer, vv_text_str(metric->unit));
    vv_buffer_sized(buffer, vv_text_str(metric->description));
    if (stamped) {
        vv_buffer_u64(buffer, metric->unit_stamp);
        vv_buffer_u64(buffer, metric->description_stamp);
    }
    uint64_t version = vv_state_version(&metric->state);
    pthread_mutex_unlock(&registry->metrics.lock);
    return version;
}

static uint64_t encode_source(struct vv_registry *registry, uint32_t number,
                              struct vv_buffer *buffer)
{
    struct vv_source *source = vv_source_at(registry, number);
    if (!source) {
        return 0;
    }
    struct vv_index *index = &vv_tenant_at(registry, source->tenant)->index;
    pthread_rwlock_rdlock(&index->lock);
    encode_head(buffer, FORM_PLAIN, number, &source->state);
    vv_source_encode(registry, number, buffer);
    uint64_t version = vv_state_version(&source->state);
    pthread_rwlock_unlock(&index->lock);
    return version;
}

static uint64_t encode_times(struct vv_registry *registry, uint32_t number,
                             struct vv_buffer *buffer)
{
    int64_t first = 0;
    int64_t last = 0;
    if (!vv_registry_source_times(registry, number, &first, &last)) {
        return 0;
    }
    vv_buffer_u8(buffer, FORM_PLAIN);
    vv_buffer_varint(buffer, number);
    vv_buffer_zigzag(buffer, first);
    vv_buffer_zigzag(buffer, last);
    return (uint64_t)last - (uint64_t)first + 1;
}

uint64_t vv_registry_encode(struct vv_registry *registry, enum vv_registry_kind kind,
                            uint32_t number, struct vv_buffer *buffer)
{
    switch (kind) {
    case VV_REGISTRY_TENANT:
        return encode_tenant(registry, number, buffer);
    case VV_REGISTRY_MEASUREMENT:
        return encode_measurement(registry, number, buffer);
    case VV_REGISTRY_METRIC:
        return encode_metric(registry, number, buffer);
    case VV_REGISTRY_SOURCE:
        return encode_source(registry, number, buffer);
    case VV_REGISTRY_TIMES:
        return encode_times(registry, number, buffer);
    }
    return 0;
}

/* ---- applying ---- */

/* A record of this version has been applied, or is known already: it is settled. */
static void note_applied(vv_object_state *state, uint64_t version)
{
    if (version > vv_state_version(state)) {
        atomic_store_explicit(state, version << 1 | SETTLED, memory_order_release);
    } else {
        vv_state_set_settled(state, version);
    }
}

static enum vv_status damaged(struct vv_error *error, const char *why)
{
    return vv_error_set(error, VV_CORRUPT, "%s", why);
}

static bool is_done(const struct vv_reader *reader)
{
    return !reader->failed && vv_reader_left(reader) == 0;
}

/* A number that is read as an u64; NONE when it is too large for one. */
static uint32_t read_number(struct vv_reader *reader)
{
    uint64_t number = vv_reader_varint(reader);
    return number < VV_REGISTRY_NONE ? (uint32_t)number : VV_REGISTRY_NONE;
}

/* What stands at the beginning of each record. */
struct head {
    uint8_t form;
    uint32_t number;
    uint64_t version;
};

/* What is kept of a tenant beside its name. */
struct terms {
    int64_t retention_ns;
    vv_stamp retention_stamp;
    uint64_t late;
    vv_stamp late_stamp;
    struct vv_str patterns; /* of a class */
    vv_stamp patterns_stamp;
    struct vv_whole whole;
};

static enum vv_status set_terms(struct vv_registry *registry, uint32_t number,
                                const struct terms *terms)
{
    struct vv_tenant *tenant = vv_tenant_at(registry, number);
    bool has_patterns =
        !vv_str_equal(vv_registry_class_patterns(registry, number), terms->patterns);
    if (has_patterns && vv_class_keep_patterns(registry, number, terms->patterns) != VV_OK) {
        return VV_NO_MEMORY;
    }
    atomic_store_explicit(&tenant->retention_ns, terms->retention_ns, memory_order_relaxed);
    atomic_store_explicit(&tenant->retention_stamp, terms->retention_stamp, memory_order_relaxed);
    atomic_store_explicit(&tenant->late, terms->late, memory_order_relaxed);
    atomic_store_explicit(&tenant->late_stamp, terms->late_stamp, memory_order_relaxed);
    tenant->patterns_stamp = terms->patterns_stamp;
    vv_tenant_set_whole(tenant, &terms->whole);
    return VV_OK;
}

static struct terms read_terms(const struct head *head, struct vv_reader *reader)
{
    struct terms terms = {.retention_ns = vv_reader_zigzag(reader), .patterns = {"", 0}};
    if (head->form >= FORM_STAMPED) {
        terms.retention_stamp = vv_reader_u64(reader);
    }
    if (head->form >= FORM_LATE) {
        terms.late = vv_reader_varint(reader);
        terms.late_stamp = vv_reader_u64(reader);
    }
    if (head->form >= FORM_CLASS) {
        terms.patterns = vv_reader_sized(reader);
    }
    if (head->form >= FORM_WHOLE) {
        vv_whole_read_first(reader, &terms.whole);
    }
    if (head->form >= FORM_SHARED) {
        terms.patterns_stamp = vv_reader_u64(reader);
    }
    if (head->form >= FORM_SHORTER) {
        vv_whole_read_last(reader, &terms.whole);
    }
    if (head->form >= FORM_LONGER) {
        vv_whole_read_rest(reader, &terms.whole);
    }
    if (head->form >= FORM_LIVES) {
        vv_whole_read_lives(reader, &terms.whole);
    }
    if (head->form >= FORM_BUILT) {
        vv_whole_read_built(reader, &terms.whole);
    }
    return terms;
}

static bool has_good_name(struct vv_str name)
{
    return vv_name_check(name, VV_SPACE_NAME_MAX, "the name", NULL) == VV_OK &&
           vv_space_has_good_suffix(name);
}

static enum vv_status apply_tenant(struct vv_registry *registry, const struct head *head,
                                   struct vv_reader *reader, struct vv_error *error)
{
    uint32_t number = head->number;
    struct vv_str name = vv_reader_sized(reader);
    struct terms terms = read_terms(head, reader);
    if (!is_done(reader) || terms.retention_ns < 0 || !vv_whole_is_good(&terms.whole) ||
        !vv_late_is_good(vv_late_unpack(terms.late)) || !has_good_name(name) ||
        !vv_class_patterns_are_good(terms.patterns)) {
        return damaged(error, "its name, its retention, its patterns or what it wants with late "
                              "points is damaged");
    }
    struct vv_tenant *tenant = vv_tenant_at(registry, number);
    uint32_t known = vv_tenant_find(registry, name);
    if (known != (tenant ? number : VV_REGISTRY_NONE)) {
        return damaged(error, "its name and number belong to different tenants");
    }
    if (!tenant) {
        enum vv_status status =
            vv_tenant_add(registry, number, name, terms.retention_ns, head->version << 1 | SETTLED);
        return status == VV_OK ? set_terms(registry, number, &terms) : status;
    }
    enum vv_status status = VV_OK;
    if (head->version > vv_state_version(&tenant->state)) {
        status = set_terms(registry, number, &terms);
    }
    if (status == VV_OK) {
        note_applied(&tenant->state, head->version);
    }
    return status;
}

/* Whether points of the tenant may lie there. */
static bool is_place_of(struct vv_registry *registry, uint32_t place, uint32_t tenant)
{
    return place == tenant ||
           (vv_tenant_at(registry, place) && vv_registry_owner(registry, place) == tenant &&
            vv_registry_place_of(registry, place) == place);
}

/* False: damaged. */
static bool read_moves(struct vv_registry *registry, uint32_t tenant, uint8_t form,
                       struct vv_reader *reader, struct vv_move moves_out[VV_MOVES_MAX],
                       size_t *n_out)
{
    uint64_t n = vv_reader_varint(reader);
    bool is_good = n > 0 && n < VV_MOVES_MAX;
    for (size_t i = 0; i < n && is_good; i++) {
        moves_out[i].from_ns = vv_reader_zigzag(reader);
        moves_out[i].place = read_number(reader);
        uint8_t state = form == FORM_AGREED ? vv_reader_u8(reader) : VV_MOVE_SETTLED;
        moves_out[i].state = (enum vv_move_state)(state & ~OWN);
        moves_out[i].is_own = state & OWN;
        is_good = !reader->failed && is_place_of(registry, moves_out[i].place, tenant);
    }
    *n_out = is_good ? (size_t)n : 0;
    return is_good && vv_moves_are_good(moves_out, *n_out);
}

static enum vv_status apply_measurement(struct vv_registry *registry, const struct head *head,
                                        struct vv_reader *reader, struct vv_error *error)
{
    uint32_t number = head->number;
    struct vv_move moves[VV_MOVES_MAX];
    size_t n_moves = 0;
    uint32_t tenant = read_number(reader);
    struct vv_str name = vv_reader_sized(reader);
    uint32_t place = head->form >= FORM_PLACED ? read_number(reader) : tenant;
    bool are_good = head->form < FORM_MOVED ||
                    read_moves(registry, tenant, head->form, reader, moves, &n_moves);
    uint8_t placed = head->form == FORM_AGREED ? vv_reader_u8(reader) : head->form != FORM_GUESSED;
    are_good = are_good && placed <= 1;
    if (!are_good || !is_done(reader) || !vv_tenant_at(registry, tenant) ||
        !is_place_of(registry, place, tenant) ||
        vv_name_check(name, VV_NAME_BYTES_MAX, "the name", NULL) != VV_OK) {
        return damaged(error, "its name, tenant or class is damaged or missing");
    }
    struct vv_measurement *measurement = vv_measurement_at(registry, number);
    uint32_t known = vv_measurement_find(registry, tenant, name);
    if (known != (measurement ? number : VV_REGISTRY_NONE)) {
        return damaged(error, "its name and number belong to different measurements");
    }
    enum vv_status status = VV_OK;
    if (!measurement) {
        status = vv_measurement_add(registry, number, tenant, place, placed, name,
                                    head->version << 1 | SETTLED);
        return status == VV_OK && n_moves > 0
                   ? vv_measurement_set_moves(registry, vv_measurement_at(registry, number), moves,
                                              n_moves)
                   : status;
    }
    bool agrees = !placed || !vv_registry_is_placed(registry, number) ||
                  vv_registry_first_place(registry, number) == place;
    if (!agrees) {
        return damaged(error, "it is in another class");
    }
    if (head->version > vv_state_version(&measurement->state)) {
        vv_measurement_place(registry, measurement, place, placed);
        status = vv_measurement_set_moves(registry, measurement, moves, n_moves);
    }
    if (status == VV_OK) {
        note_applied(&measurement->state, head->version);
    }
    return status;
}

struct metric_record {
    uint32_t measurement;
    enum vv_value_type type;
    struct vv_str field;
    struct vv_str unit;
    struct vv_str description;
    vv_stamp unit_stamp;
    vv_stamp description_stamp;
};

static bool read_metric(struct vv_registry *registry, uint8_t form, struct vv_reader *reader,
                        struct metric_record *out)
{
    out->measurement = read_number(reader);
    uint8_t type = vv_reader_u8(reader);
    out->type = type == VV_INT64 ? VV_INT64 : VV_FLOAT64;
    out->field = vv_reader_sized(reader);
    out->unit = vv_reader_sized(reader);
    out->description = vv_reader_sized(reader);
    out->unit_stamp = form == FORM_STAMPED ? vv_reader_u64(reader) : 0;
    out->description_stamp = form == FORM_STAMPED ? vv_reader_u64(reader) : 0;
    return is_done(reader) && vv_measurement_at(registry, out->measurement) &&
           (type == VV_FLOAT64 || type == VV_INT64) &&
           vv_name_check(out->field, VV_NAME_BYTES_MAX, "the field", NULL) == VV_OK &&
           out->unit.size <= VV_UNIT_BYTES_MAX && vv_text_check(out->unit, "", NULL) == VV_OK &&
           out->description.size <= VV_DESCRIPTION_BYTES_MAX &&
           vv_text_check(out->description, "", NULL) == VV_OK;
}

/* Whether a record of this type fits: a higher version may have made integers floats. */
static bool type_fits(const struct vv_metric *metric, uint64_t version, enum vv_value_type type)
{
    enum vv_value_type known = vv_metric_type(metric);
    bool is_newer = version > vv_state_version(&metric->state);
    return type == known || (is_newer ? type == VV_FLOAT64 : known == VV_FLOAT64);
}

/* Puts what a newer record says into the metric. */
static enum vv_status update_metric(struct vv_registry *registry, struct vv_metric *metric,
                                    const struct metric_record *record)
{
    bool changed = false;
    enum vv_status status =
        vv_metric_describe(registry, metric, record->unit, record->description, &changed);
    if (status == VV_OK) {
        metric->unit_stamp = record->unit_stamp;
        metric->description_stamp = record->description_stamp;
        if (record->type == VV_FLOAT64) {
            vv_metric_widen(metric);
        }
    }
    return status;
}

static enum vv_status apply_metric(struct vv_registry *registry, const struct head *head,
                                   struct vv_reader *reader, struct vv_error *error)
{
    struct metric_record record;
    if (!read_metric(registry, head->form, reader, &record)) {
        return damaged(error, "its names, type or measurement are damaged or missing");
    }
    if (!vv_metric_at(registry, head->number)) {
        enum vv_status status = vv_metric_add(registry, head->number, record.measurement,
                                              record.field, record.type, 0, error);
        if (status != VV_OK) {
            return status == VV_EXISTS ? VV_CORRUPT : status;
        }
    }
    struct vv_metric *metric = vv_metric_at(registry, head->number);
    struct vv_str field = vv_text_str(metric->name);
    field = (struct vv_str){field.data + metric->field_at, field.size - metric->field_at};
    if (metric->measurement != record.measurement ||
        !type_fits(metric, head->version, record.type) || !vv_str_equal(field, record.field)) {
        return damaged(error, "another metric has its number");
    }
    enum vv_status status = VV_OK;
    if (head->version > vv_state_version(&metric->state)) {
        status = update_metric(registry, metric, &record);
    }
    if (status == VV_OK) {
        note_applied(&metric->state, head->version);
    }
    return status;
}

static enum vv_status apply_source(struct vv_registry *registry, uint32_t number, uint64_t version,
                                   struct vv_reader *reader, struct vv_error *error)
{
    uint32_t tenant_number = read_number(reader);
    struct vv_tenant *tenant = vv_tenant_at(registry, tenant_number);
    if (!tenant) {
        return damaged(error, "its tenant is damaged or missing");
    }
    pthread_rwlock_wrlock(&tenant->index.lock);
    enum vv_status status =
        vv_source_apply(registry, tenant_number, number, version, reader, error);
    if (status == VV_OK) {
        note_applied(&vv_source_at(registry, number)->state, version);
    }
    pthread_rwlock_unlock(&tenant->index.lock);
    return status;
}

static enum vv_status apply_times(struct vv_registry *registry, uint32_t number,
                                  struct vv_reader *reader, struct vv_error *error)
{
    int64_t first = vv_reader_zigzag(reader);
    int64_t last = vv_reader_zigzag(reader);
    if (!is_done(reader) || first > last || first < VV_TIME_MIN || last > VV_TIME_MAX) {
        return damaged(error, "its times are damaged");
    }
    struct vv_source *source = vv_source_at(registry, number);
    if (source) {
        bool known = vv_registry_settled(registry, VV_REGISTRY_TIMES, number);
        vv_times_widen(source, first, last);
        uint64_t version = (uint64_t)last - (uint64_t)first + 1;
        if (known && vv_times_version(source) == version) {
            vv_registry_settle(registry, VV_REGISTRY_TIMES, number, version);
        }
    }
    return VV_OK;
}

static struct vv_objects *objects_of(struct vv_registry *registry, enum vv_registry_kind kind)
{
    switch (kind) {
    case VV_REGISTRY_TENANT:
        return &registry->tenants;
    case VV_REGISTRY_MEASUREMENT:
        return &registry->measurements;
    case VV_REGISTRY_METRIC:
        return &registry->metrics;
    case VV_REGISTRY_SOURCE:
    case VV_REGISTRY_TIMES:
        return &registry->sources;
    }
    return NULL;
}

static const char *kind_name(enum vv_registry_kind kind)
{
    static const char *const names[] = {
        [VV_REGISTRY_TENANT] = "tenant", [VV_REGISTRY_MEASUREMENT] = "measurement",
        [VV_REGISTRY_METRIC] = "metric", [VV_REGISTRY_SOURCE] = "source",
        [VV_REGISTRY_TIMES] = "times",
    };
    return names[kind];
}

static enum vv_status apply_body(struct vv_registry *registry, enum vv_registry_kind kind,
                                 const struct head *head, struct vv_reader *reader,
                                 struct vv_error *error)
{
    enum vv_status status = VV_OK;
    uint32_t number = head->number;
    uint64_t version = head->version;
    switch (kind) {
    case VV_REGISTRY_TENANT:
        pthread_mutex_lock(&registry->tenants.lock);
        status = apply_tenant(registry, head, reader, error);
        pthread_mutex_unlock(&registry->tenants.lock);
        break;
    case VV_REGISTRY_MEASUREMENT:
        pthread_mutex_lock(&registry->metrics.lock);
        status = apply_measurement(registry, head, reader, error);
        pthread_mutex_unlock(&registry->metrics.lock);
        break;
    case VV_REGISTRY_METRIC:
        pthread_mutex_lock(&registry->metrics.lock);
        status = apply_metric(registry, head, reader, error);
        pthread_mutex_unlock(&registry->metrics.lock);
        break;
    case VV_REGISTRY_SOURCE:
        status = apply_source(registry, number, version, reader, error);
        break;
    case VV_REGISTRY_TIMES:
        status = apply_times(registry, number, reader, error);
        break;
    }
    return status;
}

static uint8_t form_max(enum vv_registry_kind kind)
{
    if (kind == VV_REGISTRY_TENANT) {
        return FORM_BUILT;
    }
    if (kind == VV_REGISTRY_MEASUREMENT) {
        return FORM_AGREED;
    }
    return kind == VV_REGISTRY_METRIC ? FORM_STAMPED : FORM_PLAIN;
}

enum vv_status vv_registry_apply(struct vv_registry *registry, enum vv_registry_kind kind,
                                 struct vv_str record, struct vv_error *error)
{
    const struct vv_objects *objects = objects_of(registry, kind);
    if (!objects) {
        return vv_error_set(error, VV_NEWER,
                            "there is no kind %d of registry records: use a newer program",
                            (int)kind);
    }
    struct vv_reader reader = vv_reader_of(record.data, record.size);
    struct head head = {.form = vv_reader_u8(&reader)};
    if (!reader.failed && head.form > form_max(kind)) {
        return vv_error_set(error, VV_NEWER,
                            "a record of a %s has form %u, this program knows up to %d: use a "
                            "newer program",
                            kind_name(kind), (unsigned)head.form, (int)form_max(kind));
    }
    head.number = read_number(&reader);
    head.version = kind == VV_REGISTRY_TIMES ? 1 : vv_reader_varint(&reader);
    if (reader.failed || head.form == 0 || head.version == 0 || head.version > VERSION_MAX ||
        !vv_objects_can_hold(objects, head.number)) {
        return vv_error_set(error, VV_CORRUPT, "the head of a record of a %s is damaged",
                            kind_name(kind));
    }
    struct vv_error why = {0};
    enum vv_status status = apply_body(registry, kind, &head, &reader, &why);
    if (status != VV_OK) {
        const char *text = why.message[0] ? why.message : "there is no memory for it";
        return vv_error_set(error, status, "the record of %s %u: %s", kind_name(kind),
                            (unsigned)head.number, text);
    }
    return VV_OK;
}

enum vv_status vv_registry_reserve(struct vv_registry *registry, enum vv_registry_kind kind,
                                   uint32_t number)
{
    struct vv_objects *objects = objects_of(registry, kind);
    if (!objects || !vv_objects_can_hold(objects, number)) {
        return VV_CORRUPT;
    }
    vv_objects_use(objects, number);
    return VV_OK;
}

enum vv_status vv_registry_record_number(enum vv_registry_kind kind, struct vv_str record,
                                         uint32_t *number_out)
{
    struct vv_reader reader = vv_reader_of(record.data, record.size);
    uint8_t form = vv_reader_u8(&reader);
    *number_out = read_number(&reader);
    return reader.failed || form == 0 || form > form_max(kind) ? VV_CORRUPT : VV_OK;
}

void vv_registry_key(uint32_t number, uint8_t key_out[4])
{
    for (int i = 0; i < 4; i++) {
        key_out[i] = (uint8_t)(number >> (24 - 8 * i));
    }
}
