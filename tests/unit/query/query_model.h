/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A naive model of queries: every answer is computed from scratch in the most obvious way, from the
 * array of all points.
 */
#ifndef TESTS_UNIT_QUERY_MODEL_H
#define TESTS_UNIT_QUERY_MODEL_H

#include "query_world.h"

#include <time.h>

#define MODEL_ROWS_MAX 20000

/* ---- steps ---- */

/* By the C library's calendar; TZ must be Europe/Berlin. */
static inline int64_t model_local_midnight(int64_t time, int add_days)
{
    time_t seconds = (time_t)((time - ((time % VV_SECOND) + VV_SECOND) % VV_SECOND) / VV_SECOND);
    struct tm tm;
    localtime_r(&seconds, &tm);
    tm.tm_mday += add_days;
    tm.tm_hour = tm.tm_min = tm.tm_sec = 0;
    tm.tm_isdst = -1;
    return (int64_t)mktime(&tm) * VV_SECOND;
}

static inline int64_t model_local_day(int64_t time)
{
    time_t seconds = (time_t)(time / VV_SECOND);
    struct tm tm;
    localtime_r(&seconds, &tm);
    return vv_days_from_civil(tm.tm_year + 1900, (unsigned)tm.tm_mon + 1, (unsigned)tm.tm_mday);
}

static inline int64_t model_step_start(const struct model_query *q, int64_t time)
{
    if (q->step == 0) {
        return q->from;
    }
    int64_t origin = q->step % (7 * VV_DAY) ? 0 : 4; /* 1970-01-05 was a Monday */
    if (q->berlin && q->step % VV_DAY == 0) {
        int64_t days = q->step / VV_DAY;
        int64_t day = model_local_day(time);
        int64_t first = vv_time_floor(day - origin, days) + origin;
        return model_local_midnight(time, (int)(first - day));
    }
    return vv_time_floor(time - origin * VV_DAY, q->step) + origin * VV_DAY;
}

static inline int64_t model_step_next(const struct model_query *q, int64_t start)
{
    if (q->berlin && q->step % VV_DAY == 0) {
        return model_local_midnight(start + VV_HOUR, (int)(q->step / VV_DAY));
    }
    return start + q->step;
}

/* ---- points that count ---- */

static inline double model_real(int metric, uint64_t bits)
{
    return model_types[metric] == VV_INT64 ? (double)(int64_t)bits : vv_bits_double(bits);
}

static inline bool model_where(const struct model_query *q, double value)
{
    switch (q->where) {
    case 1:
        return value > 20;
    case 2:
        return value <= 80.5;
    case 3:
        return value != 0;
    default:
        return true;
    }
}

static inline bool model_in_group(const struct model_query *q, int source, int group)
{
    if (q->group == MODEL_ALL) {
        return true;
    }
    if (q->group == MODEL_BY_SITE) { /* groups 0 … 2: no site, north, south */
        const char *site = model_sites[source] ? model_sites[source] : "";
        return strcmp(site, group == 0 ? "" : group == 1 ? "north" : "south") == 0;
    }
    return source == group;
}

static inline bool model_counts(const struct model *m, const struct model_query *q,
                                const struct model_point *p, int group, int metric)
{
    (void)m;
    double value = model_real(p->metric, p->bits);
    return p->metric == metric && model_in_group(q, p->source, group) && model_where(q, value) &&
           (q->n_agg == 0 || !isnan(value));
}

/* ---- one step ---- */

struct model_step {
    int64_t start;
    const struct model_point *points[MODEL_POINTS_MAX];
    size_t n;
};

static inline int model_compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

static inline double model_percentile(const struct model_step *s, int metric, double q)
{
    static double values[MODEL_POINTS_MAX];
    for (size_t i = 0; i < s->n; i++) {
        values[i] = model_real(metric, s->points[i]->bits);
    }
    qsort(values, s->n, sizeof values[0], model_compare_doubles);
    double position = q * (double)(s->n - 1);
    size_t rank = (size_t)position;
    double part = position - (double)rank;
    if (part == 0 || values[rank] == values[rank + 1]) {
        return values[rank];
    }
    double value = values[rank] * (1 - part) + values[rank + 1] * part;
    return isnan(value) ? values[rank] : value;
}

/* The last point of the series before a step: in the range, or in the lookback before it. */
static inline const struct model_point *model_previous(const struct model *m,
                                                       const struct model_query *q, int source,
                                                       int metric, int64_t before)
{
    int64_t step = q->step || !q->has_from ? q->step : q->to - q->from; /* one is the range */
    int64_t lookback = step > VV_HOUR ? step : VV_HOUR;
    const struct model_point *found = NULL;
    for (size_t i = 0; i < m->n; i++) {
        const struct model_point *p = &m->points[i];
        double value = model_real(p->metric, p->bits);
        if (p->source == source && p->metric == metric && p->time < before && p->time < q->to &&
            (!q->has_from || p->time >= q->from - lookback) && model_where(q, value) &&
            !isnan(value)) {
            found = p;
        }
    }
    return found;
}

struct model_change {
    double rate, increase, delta;
    int n;
};

static inline struct model_change model_changes(const struct model *m, const struct model_query *q,
                                                const struct model_step *s, int metric)
{
    struct model_change sum = {0};
    for (int source = 0; source < MODEL_SOURCES; source++) {
        const struct model_point *first = NULL;
        const struct model_point *last = NULL;
        double increase = 0;
        for (size_t i = 0; i < s->n; i++) {
            const struct model_point *p = s->points[i];
            if (p->source != source) {
                continue;
            }
            if (!last) {
                first = last = model_previous(m, q, source, metric, p->time);
            }
            if (last) {
                double change = model_real(metric, p->bits) - model_real(metric, last->bits);
                increase += change < 0 ? model_real(metric, p->bits) : change;
            } else {
                first = p;
            }
            last = p;
        }
        if (last && last != first) {
            sum.n++;
            sum.increase += increase;
            sum.rate += increase / ((double)(last->time - first->time) / 1e9);
            sum.delta += model_real(metric, last->bits) - model_real(metric, first->bits);
        }
    }
    return sum;
}

#define MODEL_NULL (-1234567.25) /* stands for null among the numbers */

static inline double model_aggregate(const struct model *m, const struct model_query *q,
                                     const struct model_step *s, int metric, int agg)
{
    if (agg == 0) {
        return (double)s->n;
    }
    if (agg >= MODEL_RATE) {
        struct model_change change = model_changes(m, q, s, metric);
        double values[] = {change.rate, change.increase, change.delta};
        return change.n ? values[agg - MODEL_RATE] : MODEL_NULL;
    }
    if (agg >= 8 && agg <= 10) {
        static const double quantiles[] = {0, 0.5, 0.999};
        return model_percentile(s, metric, quantiles[agg - 8]);
    }
    long double sum = 0;
    long double squares = 0;
    double min = INFINITY;
    double max = -INFINITY;
    const struct model_point *first = s->points[0];
    const struct model_point *last = s->points[0];
    for (size_t i = 0; i < s->n; i++) {
        const struct model_point *p = s->points[i];
        double value = model_real(metric, p->bits);
        sum += value;
        min = value < min ? value : min;
        max = value > max ? value : max;
        first = p->time < first->time ? p : first;
        last = p->time > last->time ? p : last;
    }
    for (size_t i = 0; i < s->n; i++) {
        long double apart = model_real(metric, s->points[i]->bits) - sum / s->n;
        squares += apart * apart;
    }
    double results[] = {0,
                        (double)sum,
                        min,
                        max,
                        (double)(sum / s->n),
                        s->n > 1 ? sqrt((double)(squares / (s->n - 1))) : MODEL_NULL,
                        model_real(metric, first->bits),
                        model_real(metric, last->bits)};
    return results[agg];
}

/* ---- rows ---- */

struct model_row {
    int64_t time;
    bool filled;
    double cells[14];
};

struct model_rows {
    struct model_row rows[MODEL_ROWS_MAX];
    size_t n;
};

static inline int model_compare_rows(const void *a, const void *b)
{
    const struct model_row *x = a;
    const struct model_row *y = b;
    return (x->time > y->time) - (x->time < y->time);
}

static inline void model_points_rows(const struct model *m, const struct model_query *q, int group,
                                     int metric, struct model_rows *out)
{
    for (size_t i = 0; i < m->n; i++) {
        const struct model_point *p = &m->points[i];
        if (p->time >= q->from && p->time < q->to && model_counts(m, q, p, group, metric)) {
            out->rows[out->n++] = (struct model_row){p->time, false, {model_real(metric, p->bits)}};
        }
    }
}

static inline void model_step_rows(const struct model *m, const struct model_query *q, int group,
                                   int metric, struct model_rows *out)
{
    static struct model_step step;
    static bool used[MODEL_POINTS_MAX];
    memset(used, 0, sizeof used);
    for (size_t i = 0; i < m->n; i++) {
        const struct model_point *p = &m->points[i];
        if (used[i] || p->time < q->from || p->time >= q->to ||
            !model_counts(m, q, p, group, metric)) {
            continue;
        }
        step.start = model_step_start(q, p->time);
        step.n = 0;
        int64_t earliest = p->time;
        for (size_t k = i; k < m->n; k++) {
            const struct model_point *other = &m->points[k];
            if (other->time >= q->from && other->time < q->to &&
                model_counts(m, q, other, group, metric) &&
                model_step_start(q, other->time) == step.start) {
                step.points[step.n++] = other;
                used[k] = true;
                earliest = other->time < earliest ? other->time : earliest;
            }
        }
        struct model_row *row = &out->rows[out->n++];
        *row = (struct model_row){.time = q->step || q->has_from ? step.start : earliest};
        for (int a = 0; a < q->n_agg; a++) {
            row->cells[a] = model_aggregate(m, q, &step, metric, q->agg[a]);
        }
    }
    qsort(out->rows, out->n, sizeof out->rows[0], model_compare_rows);
}

static inline void model_fill_row(const struct model_query *q, struct model_row *row,
                                  const struct model_row *older, const struct model_row *newer)
{
    row->filled = true;
    for (int a = 0; a < q->n_agg; a++) {
        bool both =
            older && newer && older->cells[a] != MODEL_NULL && newer->cells[a] != MODEL_NULL;
        row->cells[a] = MODEL_NULL;
        if (q->agg[a] == 0 || q->fill == 2) {
            row->cells[a] = 0;
        } else if (q->fill == 3 && older) {
            row->cells[a] = older->cells[a];
        } else if (q->fill == 4 && both) {
            double part = (double)(row->time - older->time) / (double)(newer->time - older->time);
            row->cells[a] = older->cells[a] + (newer->cells[a] - older->cells[a]) * part;
        }
    }
}

/* Rows for empty steps, ascending. */
static inline void model_fill(const struct model_query *q, struct model_rows *rows)
{
    static struct model_rows filled;
    filled.n = 0;
    if (q->fill == 0 || rows->n == 0) {
        return;
    }
    int64_t at = q->has_from ? model_step_start(q, q->from) : rows->rows[0].time;
    int64_t end = q->has_to ? q->to : rows->rows[rows->n - 1].time + 1;
    size_t next = 0;
    for (; at < end; at = model_step_next(q, at)) {
        assert_true(filled.n < MODEL_ROWS_MAX);
        if (next < rows->n && rows->rows[next].time == at) {
            filled.rows[filled.n++] = rows->rows[next++];
        } else {
            struct model_row *row = &filled.rows[filled.n++];
            row->time = at;
            model_fill_row(q, row, next > 0 ? &rows->rows[next - 1] : NULL,
                           next < rows->n ? &rows->rows[next] : NULL);
        }
    }
    assert_int_equal(next, rows->n);
    *rows = filled;
}

static inline void model_order(const struct model_query *q, struct model_rows *rows)
{
    for (size_t i = 0; q->descending && i < rows->n / 2; i++) {
        struct model_row swap = rows->rows[i];
        rows->rows[i] = rows->rows[rows->n - 1 - i];
        rows->rows[rows->n - 1 - i] = swap;
    }
    if (q->limit && rows->n > q->limit) {
        rows->n = (size_t)q->limit;
    }
}

static inline void model_answer(const struct model *m, const struct model_query *q, int group,
                                int metric, struct model_rows *out)
{
    out->n = 0;
    if (q->n_agg == 0) {
        model_points_rows(m, q, group, metric, out);
    } else {
        model_step_rows(m, q, group, metric, out);
        model_fill(q, out);
    }
    model_order(q, out);
}

/* ---- comparing ---- */

static inline double model_cell(const json_t *cell)
{
    if (json_is_null(cell)) {
        return MODEL_NULL;
    }
    if (json_is_string(cell)) {
        const char *text = json_string_value(cell);
        assert_true(!strcmp(text, "NaN") || !strcmp(text, "Infinity") ||
                    !strcmp(text, "-Infinity"));
        return text[0] == 'N' ? NAN : text[0] == '-' ? -INFINITY : INFINITY;
    }
    assert_true(json_is_number(cell));
    return json_number_value(cell);
}

static inline bool model_near(double a, double b)
{
    if (isnan(a) || isnan(b)) {
        return isnan(a) && isnan(b);
    }
    return a == b || fabs(a - b) <= 1e-9 * (fabs(a) + fabs(b) + 1);
}

/* With infinite values, changes and moments have no value that is worth comparing. */
static inline bool model_is_loose(const struct model_query *q, int agg, int metric)
{
    return metric == 1 && (q->agg[agg] == 5 || q->agg[agg] >= MODEL_RATE || q->fill == 4);
}

static inline void model_compare(const struct model_query *q, int metric, const json_t *series,
                                 const struct model_rows *expected)
{
    const json_t *points = json_object_get(series, "points");
    assert_int_equal(json_array_size(points), expected->n);
    for (size_t i = 0; i < expected->n; i++) {
        const json_t *row = json_array_get(points, i);
        const struct model_row *wanted = &expected->rows[i];
        int n = q->n_agg ? q->n_agg : 1;
        assert_int_equal(json_array_size(row), n + 1);
        assert_int_equal(json_integer_value(json_array_get(row, 0)), wanted->time);
        for (int k = 0; k < n; k++) {
            double got = model_cell(json_array_get(row, (size_t)k + 1));
            if (!model_near(got, wanted->cells[k]) && !(q->n_agg && model_is_loose(q, k, metric))) {
                fail_msg("row %zu, %s of %s: %.17g, not %.17g", i,
                         q->n_agg ? model_aggs[q->agg[k]] : "value", model_names[metric], got,
                         wanted->cells[k]);
            }
        }
    }
}

static inline int model_group_count(const struct model_query *q)
{
    return q->group == MODEL_ALL ? 1 : q->group == MODEL_BY_SITE ? 3 : MODEL_SOURCES;
}

/* The series' names must be right as well. */
static inline void model_compare_head(const struct model_query *q, int group, int metric,
                                      const json_t *series)
{
    const json_t *source = json_object_get(series, "source");
    const json_t *tags = json_object_get(series, "tags");
    const json_t *site = json_object_get(tags, "site");
    assert_string_equal(json_string_value(json_object_get(series, "metric")), model_names[metric]);
    if (q->group == MODEL_ALL || q->group == MODEL_BY_SITE) {
        assert_true(json_is_null(source));
    } else {
        assert_string_equal(json_string_value(source), model_ids[group]);
    }
    if (q->group == MODEL_BY_SITE) {
        assert_string_equal(json_string_value(site), group == 0   ? ""
                                                     : group == 1 ? "north"
                                                                  : "south");
    } else if (q->group == MODEL_WITH_SITE) {
        assert_string_equal(json_string_value(site), model_sites[group] ? model_sites[group] : "");
    } else {
        assert_int_equal(json_object_size(tags), 0);
    }
}

/* Asks, and compares every series of the answer with the model. */
static inline void model_check(struct model *m, struct model_query *q)
{
    static struct model_rows expected;
    model_write_words(q);
    json_t *answer = ask_json(&m->f, VV_REQUEST_QUERY, q->list);
    const json_t *series = json_object_get(answer, "series");
    size_t next = 0;
    size_t rows = 0;
    for (int group = 0; group < model_group_count(q); group++) {
        for (int metric = 0; metric < MODEL_METRICS; metric++) {
            model_answer(m, q, group, metric, &expected);
            if (expected.n == 0) {
                continue;
            }
            const json_t *one = json_array_get(series, next++);
            assert_non_null(one);
            model_compare_head(q, group, metric, one);
            model_compare(q, metric, one, &expected);
            rows += expected.n;
        }
    }
    assert_int_equal(json_array_size(series), next);
    assert_int_equal(m->f.facts.rows, rows);
    json_decref(answer);
}

/* Says which request failed. */
static inline void model_print(uint64_t seed, const struct model_query *q)
{
    fprintf(stderr, "seed %llu:", (unsigned long long)seed);
    for (int i = 0; q->list[i]; i++) {
        fprintf(stderr, " %s", q->list[i]);
    }
    fprintf(stderr, "\n");
}

#endif
