/* SPDX-License-Identifier: Apache-2.0 */
/* The folder of an embedded store: whose it is, what format it has, how small it is. */
#include "contract.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

static enum vv_status open_again(struct contract *c, struct vv_error *error)
{
    const struct vv_store_options options = {.folder = c->folder, .eras = 8};
    struct vv_store *store = NULL;
    *error = (struct vv_error){0};
    enum vv_status status = c->backend->open(&options, &store, error);
    if (status == VV_OK) {
        store->ops->close(store);
    } else {
        assert_true(error->message[0] != 0);
    }
    return status;
}

static void write_text(const char *folder, const char *name, const char *text)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static void a_store_is_locked_while_it_is_open(void **state)
{
    struct contract *c = *state;
    struct vv_error error;
    assert_int_equal(open_again(c, &error), VV_LOCKED);
    contract_close(c);
    assert_ok(open_again(c, &error));
}

static void an_empty_store_is_small(void **state)
{
    struct contract *c = *state;
    struct vv_store_figures figures;
    contract_crash(c, 1);
    c->store->ops->read_figures(c->store, &figures);
    assert_true(figures.disk_bytes < 1u << 20);
    assert_true(figures.memory_bytes < 4u << 20);
}

static void a_newer_format_is_refused(void **state)
{
    struct contract *c = *state;
    struct vv_error error;
    contract_close(c);
    write_text(c->folder, "FORMAT", "varve-store 4 something else\n");
    assert_int_equal(open_again(c, &error), VV_NEWER);
    assert_non_null(strstr(error.message, "format 4"));
}

/* What it has is what a store of today may have, too. */
static void an_older_format_is_read_and_becomes_a_newer_one(void **state)
{
    struct contract *c = *state;
    struct vv_error error;
    char text[64] = "varve-store 1 eras 8";
    char path[512];
    struct vv_span_key key = span_of(1, 1, 10, 3);
    put_block(c, &key, "a");
    contract_close(c);
    unsigned long long check = XXH3_64bits(text, strlen(text));
    snprintf(text + strlen(text), sizeof text - strlen(text), " check %016llx\n", check);
    write_text(c->folder, "FORMAT", text);
    assert_ok(open_again(c, &error));
    snprintf(path, sizeof path, "%s/FORMAT", c->folder);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    assert_non_null(fgets(text, sizeof text, file));
    assert_int_equal(fclose(file), 0);
    assert_int_equal(strncmp(text, "varve-store 3 eras 8 ", 21), 0);
    assert_ok(open_again(c, &error));
}

static void a_damaged_format_is_refused(void **state)
{
    struct contract *c = *state;
    struct vv_error error;
    contract_close(c);
    static const char *const texts[] = {"",
                                        "junk",
                                        "varve-store",
                                        "varve-store 1",
                                        "varve-store 0 eras 8 check 0000000000000000\n",
                                        "varve-store 1 eras 8 check 0000000000000000\n",
                                        "varve-store 1 eras 999999999999999999999 check 0\n"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        write_text(c->folder, "FORMAT", texts[i]);
        assert_int_equal(open_again(c, &error), VV_CORRUPT);
    }
}

static void a_folder_with_something_else_is_refused(void **state)
{
    struct contract *c = *state;
    struct vv_error error;
    contract_close(c);
    contract_remove_folder(c->folder);
    assert_int_equal(mkdir(c->folder, 0700), 0);
    write_text(c->folder, "holiday.jpg", "x");
    assert_int_equal(open_again(c, &error), VV_INVALID);
    assert_non_null(strstr(error.message, "holiday.jpg"));
}

static void a_missing_folder_is_made_but_not_its_parent(void **state)
{
    struct contract *c = *state;
    struct vv_error error;
    contract_close(c);
    contract_remove_folder(c->folder);
    assert_ok(open_again(c, &error));
    assert_ok(open_again(c, &error));
    struct contract deeper = *c;
    snprintf(deeper.folder, sizeof deeper.folder, "%.100s/no/such", c->folder);
    assert_int_equal(open_again(&deeper, &error), VV_NOT_FOUND);
}

/* A crash before the database is complete leaves a folder that can be opened. */
static void a_creation_that_was_cut_short_is_completed(void **state)
{
    struct contract *c = *state;
    struct vv_error error;
    char command[600];
    contract_close(c);
    snprintf(command, sizeof command, "%.200s/db", c->folder);
    contract_remove_folder(command);
    write_text(c->folder, "FORMAT.new", "half");
    assert_ok(open_again(c, &error));
    /* But data without the file that lists it is not taken for a new store. */
    write_text(command, "000012.sst", "data");
    snprintf(command, sizeof command, "%.200s/db/CURRENT", c->folder);
    assert_int_equal(unlink(command), 0);
    assert_int_equal(open_again(c, &error), VV_CORRUPT);
}

static void leftovers_of_ingestion_are_removed(void **state)
{
    struct contract *c = *state;
    struct vv_error error;
    char folder[600];
    contract_close(c);
    snprintf(folder, sizeof folder, "%.200s/ingest", c->folder);
    write_text(folder, "7.sst", "half a file");
    assert_ok(open_again(c, &error));
    snprintf(folder, sizeof folder, "%.200s/ingest/7.sst", c->folder);
    assert_int_not_equal(access(folder, F_OK), 0);
}

/* How many eras a retention has is fixed when the store is made. */
static void other_options_do_not_hide_what_is_stored(void **state)
{
    struct contract *c = *state;
    struct vv_span_key key = span_of(1, 1, 100, 3);
    set_retention(c, 1, 7 * VV_DAY);
    put_block(c, &key, "a");
    contract_close(c);
    const struct vv_store_options options = {
        .folder = c->folder, .eras = 64, .cache_bytes = 1, .write_buffer_bytes = 1};
    assert_ok(c->backend->open(&options, &c->store, NULL));
    assert_string_equal(pieces_text(c, &key.partition), "B3.0=a");
    put_block(c, &key, "b");
    assert_string_equal(pieces_text(c, &key.partition), "B3.0=b");
}

const struct contract_case folder_cases[] = {
    CONTRACT_CASE_NEEDS(IS_EMBEDDED, a_store_is_locked_while_it_is_open),
    CONTRACT_CASE_NEEDS(IS_EMBEDDED, an_empty_store_is_small),
    CONTRACT_CASE_NEEDS(IS_EMBEDDED, a_newer_format_is_refused),
    CONTRACT_CASE_NEEDS(IS_EMBEDDED, an_older_format_is_read_and_becomes_a_newer_one),
    CONTRACT_CASE_NEEDS(IS_EMBEDDED, a_damaged_format_is_refused),
    CONTRACT_CASE_NEEDS(IS_EMBEDDED, a_folder_with_something_else_is_refused),
    CONTRACT_CASE_NEEDS(IS_EMBEDDED, a_missing_folder_is_made_but_not_its_parent),
    CONTRACT_CASE_NEEDS(IS_EMBEDDED, a_creation_that_was_cut_short_is_completed),
    CONTRACT_CASE_NEEDS(IS_EMBEDDED, leftovers_of_ingestion_are_removed),
    CONTRACT_CASE_NEEDS(IS_EMBEDDED, other_options_do_not_hide_what_is_stored),
    {0},
};
