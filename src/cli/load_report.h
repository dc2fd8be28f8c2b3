/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The account of `varve load`: what was read, stored and refused, with the first examples of each
 * reason. Any thread.
 */
#ifndef VV_CLI_LOAD_REPORT_H
#define VV_CLI_LOAD_REPORT_H

#include "base/bytes.h"

#include <pthread.h>
#include <stdio.h>

#define VV_LOAD_REASONS_MAX  16
#define VV_LOAD_EXAMPLES_MAX 3

/* A line's number can say which one of several files it is in. */
#define VV_PLACE_LINES (UINT64_C(1) << 40)
static inline uint64_t vv_place(size_t file, uint64_t line)
{
    return (uint64_t)file * VV_PLACE_LINES + (line < VV_PLACE_LINES ? line : VV_PLACE_LINES - 1);
}

struct vv_load_reason {
    char name[32];
    uint64_t points;
    size_t n_examples;
    char examples[VV_LOAD_EXAMPLES_MAX][256]; /* "file:17: what is wrong" */
};

struct vv_load_report {
    pthread_mutex_t lock; /* guards all below */
    uint64_t lines;       /* rows of data, good or bad */
    uint64_t accepted;    /* points that the server stored */
    uint64_t refused;     /* points, the sum of the reasons */
    uint64_t requests;
    uint64_t retries;
    struct vv_load_reason reasons[VV_LOAD_REASONS_MAX];
    size_t n_reasons;
    const char *const *files; /* if set: lines' numbers are places in these */
    FILE *refused_file;       /* if set: refused lines are written to it */
    bool wants_times;         /* the lines' times are asked for; all are in ns */
    bool has_times;           /* there is an accepted line */
    int64_t first;            /* the least and the greatest time of accepted lines */
    int64_t last;
};

void vv_load_report_init(struct vv_load_report *report);
void vv_load_report_deinit(struct vv_load_report *report);
void vv_load_report_accept(struct vv_load_report *report, uint64_t points);
/* Notes the time of an accepted line. */
void vv_load_report_time(struct vv_load_report *report, int64_t time);
/* Counts refused points. */
void vv_load_report_refuse(struct vv_load_report *report, struct vv_str reason, uint64_t points);
/* Keeps an example of a reason while there is room; what is no UTF-8 in it becomes a sign. line 0:
 * not known; column 0: it has none. */
void vv_load_report_example(struct vv_load_report *report, struct vv_str reason, const char *file,
                            uint64_t line, uint32_t column, const char *detail);

/* Writes refused lines to the report's file, if it has one: why, in a comment, and their text (size
 * 0: it is not known). `line`, `column` as above. */
void vv_load_report_keep(struct vv_load_report *report, struct vv_str reason, const char *file,
                         uint64_t line, const char *detail, struct vv_str text);
/* The same of a record of CSV, which becomes a comment, too, as it is no line. */
void vv_load_report_keep_record(struct vv_load_report *report, struct vv_str reason,
                                const char *file, uint64_t line, const char *detail,
                                struct vv_str record);

/* The summary. */
void vv_load_report_print(struct vv_load_report *report, size_t files, double seconds, FILE *file);

#define VV_COUNT_TEXT_SIZE 32
/* 1234567 as "1,234,567"; out holds VV_COUNT_TEXT_SIZE bytes. Returns out. */
const char *vv_count_text(uint64_t count, char *out);
/* A rate in three or four digits: "950", "12.3 k", "1.24 M". Returns out. */
const char *vv_rate_text(double rate, char *out);

#endif
