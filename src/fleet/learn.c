/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Learning: what another node told is found or made here, by name. What the registry does not take
 * is left out; what this program does not know, or has no memory for, ends the learning, so that it
 * comes again.
 */
#include "fleet/fleet_private.h"

#include "base/log.h"
#include "model/space.h"

/* What is being taken. Large: one at a time. */
struct taking {
    struct vv_fleet *fleet;
    const struct vv_told *told;
    struct vv_told_content content;
    struct vv_error *error;
};

/* Told in another region: that this one knows it is not said by that. */
static bool is_far(const struct taking *taking)
{
    return taking->told->region != 0;
}

/* Notes that the object is not in the metadata as it is now. What this node itself has told then
 * was told by halves, perhaps, when it died: it tells it again. */
static enum vv_status note_learnt(const struct taking *taking, enum vv_registry_kind kind,
                                  uint32_t number)
{
    struct vv_fleet *fleet = taking->fleet;
    if (vv_registry_settled(fleet->registry, kind, number)) {
        return VV_OK;
    }
    if (!vv_fleet_note_learnt(fleet, kind, number, is_far(taking))) {
        return VV_NO_MEMORY;
    }
    if (!is_far(taking) && taking->told->node == vv_fleet_ops(fleet)->node(fleet->store)) {
        vv_fleet_note_replayed(fleet, kind, number);
    }
    return VV_OK;
}

/* The first that is not VV_OK: what must end the learning comes first. */
static enum vv_status first_of(enum vv_status a, enum vv_status b)
{
    return a != VV_OK ? a : b;
}

/* ---- tenants ---- */

static bool is_said(const struct vv_whole *whole, int64_t shorter_ns)
{
    bool is = false;
    for (size_t i = 0; i < whole->n; i++) {
        is |= whole->longer[i].kept_ns <= shorter_ns;
    }
    return is;
}

/* Two nodes may begin a tenant at the same time, each as if it were new. Who gives it the longer
 * life can't say then that what the other one put had a shorter one: whoever hears of both does.
 * All say the same, whenever they hear of it. */
static void note_shorter_life(const struct taking *taking, uint32_t number)
{
    struct vv_fleet *fleet = taking->fleet;
    const struct vv_told_content *content = &taking->content;
    struct vv_terms own = vv_terms_of(fleet->registry, number);
    bool is_theirs = content->retention_stamp > own.retention_stamp;
    vv_stamp stamp = is_theirs ? content->retention_stamp : own.retention_stamp;
    int64_t lasting_ns = is_theirs ? content->retention_ns : own.retention_ns;
    int64_t other_ns = is_theirs ? own.retention_ns : content->retention_ns;
    if (content->retention_stamp == own.retention_stamp ||
        !vv_retention_is_longer(lasting_ns, other_ns) || is_said(&content->whole, other_ns) ||
        is_said(&own.whole, other_ns)) {
        return;
    }
    int64_t set_at = (int64_t)vv_stamp_clock_us(stamp) * VV_MICROSECOND;
    if (other_ns == VV_SPACE_OFF_NS &&
        (vv_whole_until(&content->whole) > set_at || vv_whole_until(&own.whole) > set_at)) {
        return; /* a tier that went on meanwhile, which lacks nothing */
    }
    int64_t ahead = VV_CLOCKS_DIFFER_NS + fleet->reach_ns; /* by then all know of it */
    int64_t from = set_at < VV_TIME_MAX - ahead ? set_at + ahead : VV_TIME_MAX;
    const struct vv_lengthened longer = {.from = from, .kept_ns = other_ns};
    vv_registry_note_whole(fleet->registry, number, (struct vv_whole){.longer = {longer}, .n = 1});
}

static enum vv_status take_tenant(struct taking *taking, uint32_t number)
{
    struct vv_fleet *fleet = taking->fleet;
    const struct vv_told_content *content = &taking->content;
    if (!is_far(taking)) { /* regions keep what is theirs by themselves */
        note_shorter_life(taking, number);
        /* Before the retention: a tier that is off by it, and goes on, is never without both. */
        vv_registry_note_whole(fleet->registry, number, content->whole);
    }
    enum vv_status status = vv_registry_learn_retention(
        fleet->registry, number, content->retention_ns, content->retention_stamp, taking->error);
    if (status == VV_OK) {
        status = vv_registry_learn_late(fleet->registry, number, content->late, content->late_stamp,
                                        taking->error);
    }
    if (status == VV_OK && content->patterns_stamp > 0) {
        status = vv_registry_learn_patterns(fleet->registry, number, content->patterns,
                                            content->patterns_stamp, taking->error);
    }
    struct vv_str name = taking->told->tenant;
    bool is_class =
        vv_space_class_name(name).size > 0 && vv_space_place_name(name).size == name.size;
    if (status == VV_OK && is_class) {
        status = vv_fleet_note_class(fleet, number);
    }
    uint64_t present = vv_known_terms(vv_terms_of(fleet->registry, number));
    bool is_present = present == vv_known_terms(vv_terms_told(content));
    if (status == VV_OK && !is_far(taking) && is_present) {
        pthread_mutex_lock(&fleet->lock);
        uint64_t *known = vv_known_tenant(&fleet->known, number);
        if (known) {
            *known = present;
        }
        pthread_mutex_unlock(&fleet->lock);
        status = known ? VV_OK : VV_NO_MEMORY;
    }
    return first_of(note_learnt(taking, VV_REGISTRY_TENANT, number), status);
}

/* ---- measurements and metrics ---- */

static enum vv_status take_measurement(struct taking *taking, uint32_t tenant, struct vv_str name,
                                       uint32_t *measurement_out)
{
    struct vv_fleet *fleet = taking->fleet;
    enum vv_status status = vv_registry_measurement(fleet->registry, tenant, name, true,
                                                    measurement_out, taking->error);
    if (status != VV_OK) {
        return status;
    }
    return note_learnt(taking, VV_REGISTRY_MEASUREMENT, *measurement_out);
}

/* Others know where it lies. That somebody told something of it does not say so. */
static enum vv_status note_measurement(struct vv_fleet *fleet, uint32_t measurement)
{
    pthread_mutex_lock(&fleet->lock);
    bool *known = vv_known_measurement(&fleet->known, measurement);
    if (known) {
        *known = true;
    }
    pthread_mutex_unlock(&fleet->lock);
    return known ? VV_OK : VV_NO_MEMORY;
}

/* The class that was told of a measurement, or the tenant. */
static enum vv_status take_class(struct taking *taking, uint32_t tenant, uint32_t *place_out)
{
    struct vv_str name = taking->content.class_name;
    *place_out = tenant;
    if (name.size == 0) { /* where there are several regions there are none */
        return VV_OK;
    }
    enum vv_status status =
        vv_registry_learn_class(taking->fleet->registry, tenant, name, place_out, taking->error);
    return status == VV_OK ? note_learnt(taking, VV_REGISTRY_TENANT, *place_out) : status;
}

/* Where its points lie was agreed on by who told it. */
static enum vv_status take_place(struct taking *taking, uint32_t tenant)
{
    struct vv_fleet *fleet = taking->fleet;
    uint32_t measurement;
    uint32_t place;
    enum vv_status status = take_measurement(taking, tenant, taking->told->name, &measurement);
    if (status != VV_OK) {
        return status;
    }
    status = take_class(taking, tenant, &place);
    if (status == VV_OK && !vv_registry_set_place(fleet->registry, measurement, place)) {
        char text[600];
        vv_log(VV_LOG_ERROR, "places_contradict", "measurement=%s node=%u",
               vv_log_quote(taking->told->name.data, taking->told->name.size, text, sizeof text),
               (unsigned)taking->told->node);
    }
    if (status == VV_OK && !is_far(taking)) {
        status = note_measurement(fleet, measurement);
    }
    return first_of(note_learnt(taking, VV_REGISTRY_MEASUREMENT, measurement), status);
}

static enum vv_status take_move_to(struct taking *taking, uint32_t measurement, uint32_t place)
{
    struct vv_fleet *fleet = taking->fleet;
    bool is_withdrawn = taking->content.is_withdrawn;
    int64_t now = fleet->clock->wall_ns(fleet->clock);
    struct vv_move move = {.from_ns = taking->told->item,
                           .place = place,
                           .state = is_withdrawn ? VV_MOVE_WITHDRAWN : VV_MOVE_TOLD,
                           .is_own = taking->told->node == vv_fleet_ops(fleet)->node(fleet->store)};
    enum vv_status status = vv_registry_add_move(fleet->registry, measurement, &move, 0,
                                                 now - VV_FLEET_IDLE_NS, taking->error);
    if (status == VV_DONE && is_withdrawn) {
        status =
            vv_registry_withdraw_move(fleet->registry, measurement, move.from_ns, taking->error);
    } else if (status == VV_DONE) { /* what this node proposed itself others know, as it is here */
        move.is_own = true;
        status = vv_registry_change_move(fleet->registry, measurement, VV_MOVE_PROPOSED, &move,
                                         taking->error);
    }
    bool is_missed = status == VV_DONE || (status == VV_EXISTS && is_withdrawn);
    return is_missed ? VV_OK : status; /* of what goes nowhere nothing need be known */
}

/* Where the points of a later time may lie, or that they will not. */
static enum vv_status take_move(struct taking *taking, uint32_t tenant)
{
    uint32_t measurement;
    uint32_t place;
    enum vv_status status = take_measurement(taking, tenant, taking->told->name, &measurement);
    if (status != VV_OK) {
        return status;
    }
    status = take_class(taking, tenant, &place);
    if (status == VV_OK) {
        status = take_move_to(taking, measurement, place);
    }
    return first_of(note_learnt(taking, VV_REGISTRY_MEASUREMENT, measurement), status);
}

/* What of the metric is now as it was told, others know. */
static enum vv_status note_metric(struct taking *taking, uint32_t metric)
{
    struct vv_fleet *fleet = taking->fleet;
    struct vv_metric_info info;
    struct vv_described described;
    vv_registry_metric_info(fleet->registry, metric, &info);
    vv_registry_described(fleet->registry, metric, &described);
    struct vv_known_metric present = vv_known_metric_of(info.type, &described);
    struct vv_known_metric told =
        vv_known_metric_of(taking->content.type, &taking->content.described);
    pthread_mutex_lock(&fleet->lock);
    struct vv_known_metric *known = vv_known_metric(&fleet->known, metric);
    if (known) {
        known->type = told.type == present.type ? told.type : known->type;
        known->unit = told.unit == present.unit ? told.unit : known->unit;
        known->description =
            told.description == present.description ? told.description : known->description;
    }
    pthread_mutex_unlock(&fleet->lock);
    return known ? VV_OK : VV_NO_MEMORY;
}

static enum vv_status take_metric(struct taking *taking, uint32_t tenant)
{
    struct vv_fleet *fleet = taking->fleet;
    const struct vv_told_content *content = &taking->content;
    struct vv_str name = taking->told->name;
    struct vv_str prefix = {name.data, content->measurement_size};
    struct vv_str field = {name.data + prefix.size + 1, name.size - prefix.size - 1};
    uint32_t measurement;
    uint32_t metric = VV_REGISTRY_NONE;
    enum vv_value_type type;
    enum vv_status status = take_measurement(taking, tenant, prefix, &measurement);
    if (status == VV_OK) {
        status = vv_registry_metric(fleet->registry, measurement, field, content->type, true,
                                    &metric, &type, taking->error);
    }
    if (status != VV_OK) {
        return status;
    }
    if (type == VV_INT64 && content->type == VV_FLOAT64) {
        status = vv_registry_metric_widen(fleet->registry, metric, taking->error);
    }
    if (status == VV_OK) {
        status = vv_registry_learn_described(fleet->registry, metric, &content->described,
                                             taking->error);
    }
    if (status == VV_OK && !is_far(taking)) {
        status = note_metric(taking, metric);
    }
    return first_of(note_learnt(taking, VV_REGISTRY_METRIC, metric), status);
}

/* ---- markers of deletion ---- */

/* Whether the rest can be learnt without this. */
static bool can_be_left_out(enum vv_status status)
{
    return status == VV_INVALID || status == VV_EXISTS || status == VV_TOO_LARGE ||
           status == VV_OVERLOAD || status == VV_CORRUPT;
}

/* The metric may be told of later than that something of it is deleted. */
static enum vv_status number_metric(struct taking *taking, uint32_t measurement,
                                    const struct vv_told_marker *told, uint32_t *metric_out)
{
    struct vv_registry *registry = taking->fleet->registry;
    enum vv_value_type type;
    enum vv_status status = vv_registry_metric(registry, measurement, told->field, told->type, true,
                                               metric_out, &type, taking->error);
    if (status == VV_OK && type == VV_INT64 && told->type == VV_FLOAT64) {
        status = vv_registry_metric_widen(registry, *metric_out, taking->error);
    }
    return status == VV_OK ? note_learnt(taking, VV_REGISTRY_METRIC, *metric_out) : status;
}

/* The marker with this node's own number. Nobody else has cleared what this node put. */
static enum vv_status number_marker(struct taking *taking, uint32_t tenant,
                                    const struct vv_told_marker *told, struct vv_marker *marker_out)
{
    bool is_own = !is_far(taking) &&
                  taking->told->node == vv_fleet_ops(taking->fleet)->node(taking->fleet->store);
    uint32_t number = 0;
    enum vv_status status = VV_OK;
    if (told->marker.scope != VV_DELETION_SOURCE) {
        status = take_measurement(taking, tenant, told->measurement, &number);
    }
    if (status == VV_OK && told->marker.scope == VV_DELETION_METRIC) {
        uint32_t measurement = number;
        status = number_metric(taking, measurement, told, &number);
    }
    *marker_out = told->marker;
    marker_out->number = number;
    /* What it told itself it told by halves, perhaps; of what another region told the others here
     * may have heard nothing. */
    marker_out->is_told = !is_own && !is_far(taking);
    marker_out->is_swept = told->marker.is_swept && !is_far(taking); /* there, but not here */
    return status;
}

/* Those of metrics that this node can't know hide nothing here. */
static enum vv_status take_markers(struct taking *taking, uint32_t source, uint32_t tenant)
{
    struct vv_fleet *fleet = taking->fleet;
    const struct vv_told_content *content = &taking->content;
    struct vv_marker markers[VV_TOLD_MARKERS_MAX];
    enum vv_status status = VV_OK;
    size_t n = 0;
    for (size_t i = 0; i < content->n && status == VV_OK; i++) {
        status = number_marker(taking, tenant, &content->markers[i], &markers[n]);
        n += status == VV_OK;
        status = can_be_left_out(status) ? VV_OK : status;
    }
    if (status == VV_OK && n > 0) {
        status = vv_deletions_learn(fleet->deletions, source, markers, n);
    }
    if (status != VV_OK || n == 0) {
        return status;
    }
    return vv_fleet_note_learnt(fleet, (enum vv_registry_kind)VV_META_DELETION, source,
                                is_far(taking))
               ? VV_OK
               : VV_NO_MEMORY;
}

/* ---- sources ---- */

static enum vv_status note_source(struct vv_fleet *fleet, uint32_t source)
{
    pthread_mutex_lock(&fleet->lock);
    struct vv_known_source *known = vv_known_source(&fleet->known, source);
    if (known) {
        known->itself = true;
    }
    pthread_mutex_unlock(&fleet->lock);
    return known ? VV_OK : VV_NO_MEMORY;
}

/* What others tell of a source's plans while this node's own first one is tentative: theirs was
 * agreed. It is taken at once, since what they have flushed lies where it says, and the next beat
 * that is learnt says that this node can read it. */
static enum vv_status take_against(struct taking *taking, uint32_t source)
{
    struct vv_fleet *fleet = taking->fleet;
    const struct vv_told_content *content = &taking->content;
    enum vv_status status =
        vv_fleet_begin_told_move(fleet, source, &content->plans[0], taking->error);
    return status == VV_OK ? vv_registry_learn_plans(fleet->registry, source, 0, content->plans,
                                                     content->n, taking->error)
                           : status;
}

/* Whether what is known goes on with a plan from a time on from which none is known. */
static bool has_more(const struct vv_plans *known, const struct vv_told_content *content)
{
    size_t at = 0;
    if (known->n == 0 || !vv_plan_divides_alike(&known->plans[0], &content->plans[0])) {
        return false; /* it takes the place of what is known */
    }
    for (size_t i = 0; i < content->n; i++) {
        while (at < known->n && known->plans[at].from_ns < content->plans[i].from_ns) {
            at++;
        }
        if (at == known->n || known->plans[at].from_ns != content->plans[i].from_ns) {
            return true;
        }
    }
    return false;
}

/* Under the lock, like the plans that are agreed: so that none of this node's own comes between. */
static enum vv_status take_plans(struct taking *taking, uint32_t source)
{
    struct vv_fleet *fleet = taking->fleet;
    const struct vv_told_content *content = &taking->content;
    uint8_t region = taking->told->region;
    if (region != 0) { /* nothing is agreed or told of them here */
        return vv_registry_learn_plans(fleet->registry, source, region, content->plans, content->n,
                                       taking->error);
    }
    pthread_mutex_lock(&fleet->lock);
    struct vv_known_source *known = vv_known_source(&fleet->known, source);
    struct vv_plans before = vv_registry_source_plans(fleet->registry, source);
    enum vv_status status = known ? VV_OK : VV_NO_MEMORY;
    if (known && known->is_tentative && has_more(&before, content)) {
        status = vv_fleet_begin_told_growth(fleet, source, taking->error);
    }
    if (status == VV_OK) {
        status = vv_registry_learn_plans(fleet->registry, source, 0, content->plans, content->n,
                                         taking->error);
    }
    size_t now = vv_registry_source_plans(fleet->registry, source).n;
    if (status == VV_CORRUPT && known->is_tentative) {
        status = take_against(taking, source);
    } else if (status == VV_OK && (content->n == now || known->plans == before.n)) {
        known->plans = (uint8_t)now;
    }
    pthread_mutex_unlock(&fleet->lock);
    return status;
}

static enum vv_status take_source(struct taking *taking, uint32_t tenant)
{
    struct vv_fleet *fleet = taking->fleet;
    const struct vv_told_content *content = &taking->content;
    bool canonical = content->kind == VV_TOLD_TAGS ? false : content->canonical;
    uint32_t source = VV_REGISTRY_NONE;
    enum vv_status status = vv_registry_learn_source(fleet->registry, tenant, taking->told->name,
                                                     canonical, &source, taking->error);
    if (status != VV_OK) {
        return status;
    }
    status = is_far(taking) ? VV_OK : note_source(fleet, source);
    if (status == VV_OK && content->kind == VV_TOLD_TAGS) {
        struct vv_tag_version version = {taking->told->item, content->n, content->tags};
        status = vv_registry_learn_tags(fleet->registry, source, &version, taking->error);
    }
    if (status == VV_OK && content->kind == VV_TOLD_PLAN) {
        status = take_plans(taking, source);
    }
    if (status == VV_OK && content->kind == VV_TOLD_MARKERS) {
        status = take_markers(taking, source, tenant);
    }
    return first_of(note_learnt(taking, VV_REGISTRY_SOURCE, source), status);
}

/* ---- all kinds ---- */

static bool is_of_class(const struct taking *taking)
{
    return vv_space_class_name(taking->told->tenant).size > 0 ||
           (taking->content.kind == VV_TOLD_MEASUREMENT && taking->content.class_name.size > 0) ||
           taking->content.kind == VV_TOLD_MOVE;
}

/* Its tenant is made before a class is, so that records can be read in the order of numbers. What
 * nodes set at the same time may be more than one of them would: it is taken, as measurements may
 * be in any of them. */
static enum vv_status take_owner(struct taking *taking)
{
    uint32_t tenant;
    if (is_far(taking)) {
        vv_fleet_note_far_class(taking->fleet, taking->told->region);
        return vv_error_set(taking->error, VV_INVALID,
                            "another region has a class of measurements, which is not possible "
                            "where there are several regions: what is in it can't be read here");
    }
    enum vv_status status =
        vv_registry_space_named(taking->fleet->registry, vv_space_tenant_name(taking->told->tenant),
                                true, &tenant, taking->error);
    struct vv_str name = vv_space_class_name(taking->told->tenant);
    uint32_t class;
    if (status == VV_OK && name.size > 0) {
        status =
            vv_registry_learn_class(taking->fleet->registry, tenant, name, &class, taking->error);
    }
    return status == VV_OK ? note_learnt(taking, VV_REGISTRY_TENANT, tenant) : status;
}

static enum vv_status take(struct taking *taking)
{
    struct vv_fleet *fleet = taking->fleet;
    uint32_t tenant;
    enum vv_status status = vv_told_decode(taking->told, &taking->content, taking->error);
    if (status == VV_OK && is_of_class(taking)) {
        status = take_owner(taking);
    }
    if (status == VV_OK) {
        status = vv_registry_space_named(fleet->registry, taking->told->tenant, true, &tenant,
                                         taking->error);
    }
    if (status == VV_OK) {
        status = note_learnt(taking, VV_REGISTRY_TENANT, tenant);
    }
    if (status != VV_OK) {
        return status;
    }
    switch (taking->content.kind) {
    case VV_TOLD_TENANT:
        return take_tenant(taking, tenant);
    case VV_TOLD_MEASUREMENT:
        return take_place(taking, tenant);
    case VV_TOLD_HEARD:
        return vv_fleet_note_heard(fleet, tenant, taking->told->node);
    case VV_TOLD_MOVE:
        return take_move(taking, tenant);
    case VV_TOLD_METRIC:
        return take_metric(taking, tenant);
    case VV_TOLD_SOURCE:
    case VV_TOLD_TAGS:
    case VV_TOLD_PLAN:
    case VV_TOLD_MARKERS:
        return take_source(taking, tenant);
    }
    return VV_OK;
}

static void note_refused(struct vv_fleet *fleet, enum vv_status status, const struct vv_told *told,
                         const struct vv_error *error)
{
    atomic_fetch_add_explicit(&fleet->refused, 1, memory_order_relaxed);
    vv_fleet_note_lacking(fleet, told, status);
    uint32_t bit = 1u << (unsigned)status;
    if (!(fleet->refusals_logged & bit)) {
        char text[600];
        fleet->refusals_logged |= bit;
        vv_log(VV_LOG_WARN, "fleet_not_learnt", "node=%u kind=%u status=%s message=%s",
               (unsigned)told->node, (unsigned)told->kind, vv_status_name(status),
               vv_log_quote(error->message, strlen(error->message), text, sizeof text));
    }
}

/* Made anew for each: its content is some kilobytes that need not be cleared. */
enum vv_status vv_fleet_take(void *context, const struct vv_told *told)
{
    struct vv_fleet *fleet = context;
    struct vv_error error = {0};
    struct taking taking;
    taking.fleet = fleet;
    taking.told = told;
    taking.error = &error;
    enum vv_status status = take(&taking);
    if (can_be_left_out(status)) {
        note_refused(fleet, status, told, &error);
        vv_fleet_note_lack(fleet, told, &error);
        return VV_OK;
    }
    if (status == VV_OK) {
        atomic_fetch_add_explicit(&fleet->taken, 1, memory_order_relaxed);
    } else if (status == VV_NEWER) {
        note_refused(fleet, status, told, &error);
    }
    return status;
}
