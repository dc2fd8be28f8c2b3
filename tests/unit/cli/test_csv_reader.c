/* SPDX-License-Identifier: Apache-2.0 */
/* Cells of CSV: quotes, newlines, what is malformed, and cuts anywhere. */
#include "cli/csv_reader.h"

#include "base/random.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#define SEED 20260103

/* The cells with bars between; "!" and the problem when there is one. */
static void flatten(const struct vv_csv_reader *csv, char *out, size_t out_size)
{
    size_t used = 0;
    out[0] = '\0';
    for (size_t i = 0; i < csv->n && used < out_size; i++) {
        used += (size_t)snprintf(out + used, out_size - used, "%s%.*s", i ? "|" : "",
                                 VV_STR_ARG(csv->cells[i]));
    }
    if (csv->problem && used < out_size) {
        snprintf(out + used, out_size - used, "!%s", csv->problem);
    }
}

static void expect(const char *text, const char *cells, size_t next, uint32_t newlines)
{
    struct vv_csv_reader csv;
    char found[256];
    assert_int_equal(vv_csv_reader_init(&csv, ','), VV_OK);
    assert_int_equal(vv_csv_reader_next(&csv, vv_str_of(text), true), VV_OK);
    flatten(&csv, found, sizeof found);
    assert_string_equal(found, cells);
    assert_int_equal(csv.next, next);
    assert_int_equal(csv.newlines, newlines);
    vv_csv_reader_deinit(&csv);
}

static void records_are_cut(void **state)
{
    (void)state;
    expect("a,b,c\nd", "a|b|c", 6, 1);
    expect("a,b\r\nd", "a|b", 5, 1);
    expect("a,,\n", "a||", 4, 1);
    expect(",\n", "|", 2, 1);
    expect("a", "a", 1, 1);
    expect("\n", "", 1, 1);
    expect("\r\n", "", 2, 1);
    expect("\"a,b\",c\n", "a,b|c", 8, 1);
    expect("\"a\nb\",c\nd", "a\nb|c", 8, 2);
    expect("\"say \"\"hi\"\"\",\"\"\"\"\n", "say \"hi\"|\"", 18, 1);
    expect("\"\"\n", "", 3, 1);
    expect("\"\",x\r\n", "|x", 6, 1);
    expect("a\"b,c\n", "a\"b|c", 6, 1);
    expect(" \"a\" ,b\n", " \"a\" |b", 8, 1);
}

static void what_is_malformed_is_one_record(void **state)
{
    (void)state;
    expect("\"a\"b,c\nd", "a!text behind a closing quote", 7, 1);
    expect("\"a,b\nc,d\n", "a,b\nc,d\n!a quote that does not end", 5, 1);
    expect("x,\"a", "x|a!a quote that does not end", 4, 1);
}

static void a_blank_line_has_no_cells(void **state)
{
    (void)state;
    struct vv_csv_reader csv;
    assert_int_equal(vv_csv_reader_init(&csv, ';'), VV_OK);
    assert_int_equal(vv_csv_reader_next(&csv, VV_STR_LITERAL("\nx"), false), VV_OK);
    assert_int_equal(csv.n, 0);
    assert_int_equal(vv_csv_reader_next(&csv, VV_STR_LITERAL("\"\"\nx"), false), VV_OK);
    assert_int_equal(csv.n, 1);
    assert_int_equal(vv_csv_reader_next(&csv, VV_STR_LITERAL("a,b;c\n"), false), VV_OK);
    assert_int_equal(csv.n, 2);
    vv_csv_reader_deinit(&csv);
}

static void too_many_cells_are_a_problem(void **state)
{
    (void)state;
    size_t size = VV_CSV_CELLS_MAX + 10;
    char *text = malloc(size);
    assert_non_null(text);
    memset(text, ',', size);
    struct vv_csv_reader csv;
    assert_int_equal(vv_csv_reader_init(&csv, ','), VV_OK);
    assert_int_equal(vv_csv_reader_next(&csv, (struct vv_str){text, size}, true), VV_OK);
    assert_non_null(csv.problem);
    assert_int_equal(csv.n, VV_CSV_CELLS_MAX);
    vv_csv_reader_deinit(&csv);
    free(text);
}

/* What was written is read again, and no cut before the record's end ends it early. */
static void written_cells_are_read_back(void **state)
{
    (void)state;
    static const char letters[] = "ab,\"\n;x ";
    struct vv_random random = {SEED};
    struct vv_csv_reader csv;
    assert_int_equal(vv_csv_reader_init(&csv, ','), VV_OK);
    for (int round = 0; round < 3000; round++) {
        char cells[4][8];
        struct vv_buffer text = {0};
        size_t n = 1 + vv_random_below(&random, 4);
        for (size_t i = 0; i < n; i++) {
            size_t size = vv_random_below(&random, 7);
            vv_buffer_text(&text, i ? ",\"" : "\"");
            for (size_t j = 0; j < size; j++) {
                cells[i][j] = letters[vv_random_below(&random, sizeof letters - 1)];
                vv_buffer_u8(&text, (uint8_t)cells[i][j]);
                if (cells[i][j] == '"') {
                    vv_buffer_u8(&text, '"');
                }
            }
            cells[i][size] = '\0';
            vv_buffer_u8(&text, '"');
        }
        vv_buffer_u8(&text, '\n');
        assert_int_equal(vv_buffer_status(&text), VV_OK);
        for (size_t cut = 1; cut <= text.size; cut++) {
            char *exact = malloc(cut);
            assert_non_null(exact);
            memcpy(exact, text.data, cut);
            enum vv_status status = vv_csv_reader_next(&csv, (struct vv_str){exact, cut}, false);
            assert_int_equal(status, cut < text.size ? VV_DONE : VV_OK);
            if (cut == text.size) {
                assert_int_equal(csv.n, n);
                for (size_t i = 0; i < n; i++) {
                    assert_true(vv_str_equal(csv.cells[i], vv_str_of(cells[i])));
                }
            }
            free(exact);
        }
        vv_buffer_deinit(&text);
    }
    vv_csv_reader_deinit(&csv);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(records_are_cut),
        cmocka_unit_test(what_is_malformed_is_one_record),
        cmocka_unit_test(a_blank_line_has_no_cells),
        cmocka_unit_test(too_many_cells_are_a_problem),
        cmocka_unit_test(written_cells_are_read_back),
    };
    printf("seed %d\n", SEED);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
