/* SPDX-License-Identifier: Apache-2.0 */
/* Cells hold the mean of neighbouring values; when all are used, neighbours are joined. */
#include "cli/spark.h"

#include <math.h>

void vv_spark_init(struct vv_spark *spark)
{
    *spark = (struct vv_spark){.per_cell = 1, .least = INFINITY, .most = -INFINITY};
}

static void join_cells(struct vv_spark *spark)
{
    for (size_t i = 0; i < VV_SPARK_CELLS / 2; i++) {
        spark->sums[i] = spark->sums[2 * i] + spark->sums[2 * i + 1];
        spark->counts[i] = spark->counts[2 * i] + spark->counts[2 * i + 1];
    }
    spark->used = VV_SPARK_CELLS / 2;
    spark->per_cell *= 2;
    spark->in_last = spark->per_cell;
}

void vv_spark_add(struct vv_spark *spark, double value)
{
    if (isinf(value)) {
        return;
    }
    if (spark->used == 0 || spark->in_last == spark->per_cell) {
        if (spark->used == VV_SPARK_CELLS) {
            join_cells(spark);
        }
        spark->sums[spark->used] = 0;
        spark->counts[spark->used] = 0;
        spark->used++;
        spark->in_last = 0;
    }
    spark->in_last++;
    if (!isnan(value)) {
        spark->sums[spark->used - 1] += value;
        spark->counts[spark->used - 1]++;
        spark->values++;
        spark->least = value < spark->least ? value : spark->least;
        spark->most = value > spark->most ? value : spark->most;
    }
}

/* The mean of the cells [from, to); NaN for a gap. */
static double mean_of(const struct vv_spark *spark, size_t from, size_t to)
{
    double sum = 0;
    uint64_t count = 0;
    for (size_t i = from; i < to; i++) {
        sum += spark->sums[i];
        count += spark->counts[i];
    }
    return count > 0 ? sum / (double)count : NAN;
}

static void draw_bar(double mean, double least, double most, bool utf8, struct vv_buffer *out)
{
    static const char *const bars[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    static const char *const plain[] = {"_", ".", ",", "-", "=", "+", "*", "#"};
    if (isnan(mean)) {
        vv_buffer_u8(out, ' ');
        return;
    }
    double share = most > least ? (mean - least) / (most - least) : 0.5;
    size_t level = (size_t)(share * 7.999);
    level = level < 8 ? level : 7;
    vv_buffer_text(out, utf8 ? bars[level] : plain[level]);
}

void vv_spark_draw(const struct vv_spark *spark, size_t columns, bool backwards, bool utf8,
                   struct vv_buffer *out)
{
    double means[VV_SPARK_CELLS];
    double least = INFINITY;
    double most = -INFINITY;
    size_t n = spark->used < columns ? spark->used : columns;
    for (size_t i = 0; i < n; i++) {
        means[i] = mean_of(spark, i * spark->used / n, (i + 1) * spark->used / n);
        least = means[i] < least ? means[i] : least;
        most = means[i] > most ? means[i] : most;
    }
    for (size_t i = 0; i < n; i++) {
        draw_bar(means[backwards ? n - 1 - i : i], least, most, utf8, out);
    }
}
