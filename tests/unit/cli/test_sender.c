/* SPDX-License-Identifier: Apache-2.0 */
/* What a sender says of lines that it could not send. */
#include "cli/sender.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void a_parcel_given_up_is_never_taken_for_answered(void **state)
{
    (void)state;
    struct vv_load_report report;
    struct vv_client_options client = {.server = "http://127.0.0.1:1", .tenant = "default"};
    struct vv_sender_options options = {.client = &client,
                                        .lanes = 1,
                                        .lines_max = 1,
                                        .bytes_max = 1024,
                                        .retry_ns = 0,
                                        .report = &report};
    struct vv_sender_line line = {.text = VV_STR_LITERAL("m v=1 1"),
                                  .series_size = 1,
                                  .points = 1,
                                  .newlines = 1,
                                  .number = 1};
    struct vv_sender *sender;
    struct vv_error error = {0};
    vv_load_report_init(&report);
    assert_int_equal(vv_client_setup(&error), VV_OK);
    assert_int_equal(vv_sender_create(&options, &sender, &error), VV_OK);
    assert_int_equal(vv_sender_begin_file(sender, "f", "ns"), VV_OK);
    assert_int_equal(vv_sender_add(sender, &line), VV_OK);
    for (int i = 0; i < 10; i++) { /* while it is being sent, and when it was given up long ago */
        assert_int_equal(vv_sender_drain(sender), VV_IO);
    }
    assert_int_equal(vv_sender_finish(sender, &error), VV_IO);
    vv_sender_destroy(sender);
    vv_load_report_deinit(&report);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_parcel_given_up_is_never_taken_for_answered),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
