/* SPDX-License-Identifier: Apache-2.0 */
/* What a crash may take, and what not. */
#include "contract.h"

#include <string.h>

static void what_is_confirmed_survives(void **state)
{
    struct contract *c = *state;
    struct vv_span_key key = span_of(1, 1, 10, 3);
    for (uint64_t seed = 0; seed < 5; seed++) {
        put_run(c, &key, 1 + seed, 0, "a");
        put_mark(c, &key, (int64_t)seed, 1);
        char name[8];
        snprintf(name, sizeof name, "k%d", (int)seed);
        put_meta(c, 1, name, "v");
        confirm(c);
        contract_crash(c, seed);
    }
    assert_string_equal(pieces_text(c, &key.partition),
                        "R3.1.0=a R3.2.0=a R3.3.0=a R3.4.0=a R3.5.0=a");
    assert_string_equal(marks_text(c, 9, NULL), "0/1.3=1 1/1.3=1 2/1.3=1 3/1.3=1 4/1.3=1");
    assert_string_equal(meta_text(c, 1, ""), "k0=v k1=v k2=v k3=v k4=v");
    /* Removals too. */
    remove_run(c, &key, 1, 0);
    retire_mark(c, &key, 0, 1);
    remove_meta(c, 1, "k0");
    confirm(c);
    contract_crash(c, 9);
    assert_string_equal(pieces_text(c, &key.partition), "R3.2.0=a R3.3.0=a R3.4.0=a R3.5.0=a");
    assert_string_equal(marks_text(c, 9, NULL), "1/1.3=1 2/1.3=1 3/1.3=1 4/1.3=1");
    assert_string_equal(meta_text(c, 1, ""), "k1=v k2=v k3=v k4=v");
}

/* Numbered changes of every kind; after the crash they must be 1 … k for some k. */
static void a_crash_leaves_a_prefix_of_what_was_not_confirmed(void **state)
{
    struct contract *c = *state;
    enum { CHANGES = 24 };
    for (uint64_t seed = 0; seed < 20; seed++) {
        struct vv_span_key key = span_of(1, (uint32_t)seed, 10, 3);
        for (int i = 0; i < CHANGES; i++) {
            char name[16];
            snprintf(name, sizeof name, "%02d.%02d", (int)seed, i);
            if (i % 3 == 0) {
                put_run(c, &key, (vv_stamp)i + 1, 0, "a");
            } else if (i % 3 == 1) {
                put_mark(c, &key, i, 1);
            } else {
                put_meta(c, 1, name, "v");
            }
        }
        contract_crash(c, seed);
        bool present[CHANGES] = {0};
        for (int i = 0; i < CHANGES; i++) {
            char wanted[32];
            if (i % 3 == 0) {
                snprintf(wanted, sizeof wanted, "R3.%d.0=a", i + 1);
                present[i] = strstr(pieces_text(c, &key.partition), wanted) != NULL;
            } else if (i % 3 == 1) {
                snprintf(wanted, sizeof wanted, "%d/%d.3=1", i, (int)seed);
                present[i] = strstr(marks_text(c, i, NULL), wanted) != NULL;
            } else {
                snprintf(wanted, sizeof wanted, "%02d.%02d", (int)seed, i);
                present[i] = meta_text(c, 1, wanted)[0] != 0;
            }
            assert_true(i == 0 || present[i - 1] || !present[i]);
        }
    }
}

static void writing_goes_on_after_a_crash(void **state)
{
    struct contract *c = *state;
    struct vv_span_key key = span_of(1, 1, 10, 3);
    for (int round = 0; round < 10; round++) {
        put_run(c, &key, 1, 0, "a");
        put_mark(c, &key, 5, 1);
        put_meta(c, 1, "k", "v");
        contract_crash(c, (uint64_t)round);
        put_run(c, &key, 1, 0, "a");
        put_mark(c, &key, 5, 1);
        put_meta(c, 1, "k", "v");
        confirm(c);
        contract_crash(c, (uint64_t)round);
        assert_string_equal(pieces_text(c, &key.partition), "R3.1.0=a");
        assert_string_equal(marks_text(c, 9, NULL), "5/1.3=1");
        assert_string_equal(meta_text(c, 1, ""), "k=v");
        remove_run(c, &key, 1, 0);
        retire_mark(c, &key, 5, 1);
        remove_meta(c, 1, "k");
    }
}

/* Confirming what is much more than the buffers hold. */
static void more_than_the_buffers_hold_is_kept(void **state)
{
    struct contract *c = *state;
    static char bytes[4000];
    enum { SOURCES = 3000 };
    for (uint32_t source = 0; source < SOURCES; source++) {
        for (size_t i = 0; i < sizeof bytes; i++) {
            bytes[i] = (char)('a' + (source * 7 + i * i) % 23);
        }
        struct vv_span_key key = span_of(1, source, 10, 3);
        const struct vv_piece run = {VV_PIECE_RUN, key, 1, 0, {bytes, sizeof bytes}, 0, 0};
        assert_ok(c->store->ops->put_run(c->store, &run, NULL));
    }
    confirm(c);
    contract_crash(c, 5);
    for (uint32_t source = 0; source < SOURCES; source += 100) {
        struct vv_partition partition = partition_of(1, source, 10);
        const char *text = pieces_text(c, &partition);
        assert_int_equal(strlen(text), strlen("R3.1.0=") + sizeof bytes);
        assert_int_equal(text[7], 'a' + (source * 7) % 23);
    }
}

const struct contract_case durability_cases[] = {
    CONTRACT_CASE(what_is_confirmed_survives),
    CONTRACT_CASE_NEEDS(KEEPS_ORDER, a_crash_leaves_a_prefix_of_what_was_not_confirmed),
    CONTRACT_CASE_NEEDS(WRITES_AGAIN, writing_goes_on_after_a_crash),
    CONTRACT_CASE(more_than_the_buffers_hold_is_kept),
    {0},
};
