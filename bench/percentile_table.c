/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How far percentiles of merged sketches are from exact ones, as a table in Markdown:
 *
 *   percentile_table examples/data/FILE.csv… > docs/percentiles.md
 *
 * Made-up data by seeded distributions, and the second column of files. The values are divided into
 * steps of 60, as minutes of a second each; each has a sketch, and all of them are merged.
 */
#include "base/random.h"
#include "sketch/sketch.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define VALUES_MAX  200000
#define MADE_VALUES 100000
#define STEP_VALUES 60

struct series {
    double values[VALUES_MAX];
    size_t n;
};

/* ---- made-up data ---- */

static double unit(struct vv_random *random)
{
    return ((double)(vv_random_next(random) >> 11) + 0.5) * 0x1.0p-53;
}

/* Box and Muller, "A Note on the Generation of Random Normal Deviates", 1958. */
static double normal(struct vv_random *random)
{
    double angle = 6.283185307179586 * unit(random);
    return sqrt(-2 * log(unit(random))) * cos(angle);
}

static double make_normal(struct vv_random *random)
{
    return 100 + 15 * normal(random);
}

static double make_lognormal(struct vv_random *random)
{
    return exp(3 + 1.5 * normal(random));
}

static double make_pareto(struct vv_random *random)
{
    return pow(unit(random), -1 / 1.2);
}

static double make_bimodal(struct vv_random *random)
{
    return vv_random_below(random, 10) < 7 ? 2 + 0.2 * normal(random) : 500 + 40 * normal(random);
}

static double make_negative(struct vv_random *random)
{
    return -exp(2 + normal(random));
}

static double make_near_zero(struct vv_random *random)
{
    return vv_random_below(random, 10) == 0 ? 0 : 1e-6 * normal(random);
}

static const struct {
    const char *name;
    double (*make)(struct vv_random *);
} makers[] = {
    {"normal (100 ± 15)", make_normal},      {"lognormal (σ 1.5)", make_lognormal},
    {"Pareto (α 1.2)", make_pareto},         {"bimodal (2 and 500)", make_bimodal},
    {"negative (lognormal)", make_negative}, {"near zero (1e-6, a tenth 0)", make_near_zero},
};

/* ---- the table ---- */

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

static void fail(const char *what)
{
    fprintf(stderr, "percentile_table: %s\n", what);
    exit(1);
}

static void merge_all(const struct series *series, struct vv_sketch *merged, double *bytes_out)
{
    size_t n_steps = 0;
    size_t bytes = 0;
    for (size_t first = 0; first < series->n; first += STEP_VALUES, n_steps++) {
        struct vv_sketch step;
        uint8_t encoded[65536];
        (void)vv_sketch_init(&step, VV_SKETCH_ALPHA_DEFAULT);
        for (size_t i = first; i < series->n && i < first + STEP_VALUES; i++) {
            if (!vv_sketch_add(&step, series->values[i], 1)) {
                fail("out of memory");
            }
        }
        bytes += vv_sketch_encode(&step, encoded, sizeof encoded);
        if (!vv_sketch_merge(merged, &step)) {
            fail("out of memory");
        }
        vv_sketch_deinit(&step);
    }
    *bytes_out = n_steps ? (double)bytes / (double)n_steps : 0;
}

static double relative(double is, double exact)
{
    return exact == 0 ? fabs(is) : fabs(is - exact) / fabs(exact);
}

static void write_row(const char *name, struct series *series)
{
    struct vv_sketch merged;
    double bytes;
    double worst = 0;
    (void)vv_sketch_init(&merged, VV_SKETCH_ALPHA_DEFAULT);
    merge_all(series, &merged, &bytes);
    qsort(series->values, series->n, sizeof *series->values, compare);
    printf("| %s | %zu |", name, series->n);
    for (int i = 0; i <= 1000; i++) {
        double q = i / 1000.0;
        double exact = series->values[(size_t)floor(q * (double)(series->n - 1))];
        double is = vv_sketch_quantile(&merged, q);
        double error = relative(is, exact);
        worst = error > worst ? error : worst;
        if (i == 500 || i == 990 || i == 999) {
            printf(" %.4g | %.4g |", exact, is);
        }
    }
    printf(" %.2f %% | %.0f |\n", 100 * worst, bytes);
    vv_sketch_deinit(&merged);
}

static void read_file(const char *path, struct series *series)
{
    char line[256];
    FILE *file = fopen(path, "r");
    series->n = 0;
    while (file && fgets(line, sizeof line, file) && series->n < VALUES_MAX) {
        char *comma = strchr(line, ',');
        char *end = NULL;
        double value = comma ? strtod(comma + 1, &end) : 0;
        if (comma && end != comma + 1) {
            series->values[series->n++] = value;
        }
    }
    if (!file || series->n == 0) {
        fail(path);
    }
    fclose(file);
}

int main(int argc, char **argv)
{
    static struct series series;
    printf(
        "# Percentiles of merged sketches\n\n"
        "Tiers keep a sketch for each step (DDSketch), of which percentiles of any longer time are "
        "made by merging. Beside exact percentiles of the same values: the sketches of all "
        "steps of %d values, merged; relative error %.0f %% by setting. The greatest error is that "
        "of 1,001 percentiles from the least to the greatest value. Written by `make "
        "percentiles`.\n\n",
        STEP_VALUES, 100 * VV_SKETCH_ALPHA_DEFAULT);
    printf("| data | values | exact p50 | p50 | exact p99 | p99 | exact p99.9 | p99.9 | greatest "
           "error "
           "| bytes a step |\n|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n");
    for (size_t i = 0; i < sizeof makers / sizeof makers[0]; i++) {
        struct vv_random random = {i + 1};
        for (series.n = 0; series.n < MADE_VALUES; series.n++) {
            series.values[series.n] = makers[i].make(&random);
        }
        write_row(makers[i].name, &series);
    }
    for (int i = 1; i < argc; i++) {
        const char *name = strrchr(argv[i], '/');
        read_file(argv[i], &series);
        write_row(name ? name + 1 : argv[i], &series);
    }
    return 0;
}
