/* SPDX-License-Identifier: Apache-2.0 */
/* What a record lists of the deletions that meet its unit. */
#include "seal/pyramid_private.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#define DELETIONS 1000

static void a_record_lists_all_deletions_however_many_there_are(void **state)
{
    (void)state;
    static const struct vv_shared_ops shared;
    const struct vv_store_ops ops = {.shared = &shared};
    struct vv_store store = {.ops = &ops};
    struct vv_pyramid pyramid = {.options = {.store = &store}};
    struct vv_build build = {.pyramid = &pyramid};
    const struct vv_unit unit = {0, VV_HOUR};
    struct vv_buffer applied = {0};
    pyramid.deletions.items = calloc(DELETIONS, sizeof *pyramid.deletions.items);
    assert_non_null(pyramid.deletions.items);
    pyramid.deletions.n = DELETIONS;
    for (size_t i = 0; i < DELETIONS; i++) {
        pyramid.deletions.items[i] = (struct vv_deletion){
            .from = 0, .to = VV_MINUTE, .stamp = i + 1, .metric = VV_DELETION_ALL_METRICS};
    }
    assert_int_equal(vv_build_lacks_none(&build), VV_OK);
    vv_build_list_applied(&build, &unit, &applied);
    const struct vv_unit_record record = {
        .unit = unit, .kind = VV_UNIT_STEPS, .applied = {(char *)applied.data, applied.size}};
    assert_false(vv_build_lacks_any(&build, &record));
    const struct vv_unit_record without = {.unit = unit, .kind = VV_UNIT_STEPS};
    assert_true(vv_build_lacks(&build, DELETIONS - 1, &without));
    vv_build_note_lacks(&build, &without);
    vv_buffer_clear(&applied);
    vv_build_list_applied(&build, &unit, &applied);
    assert_int_equal(applied.size, 0);
    vv_buffer_deinit(&applied);
    vv_deletion_list_deinit(&pyramid.deletions);
    free(pyramid.lacks);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_record_lists_all_deletions_however_many_there_are),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
