/* SPDX-License-Identifier: Apache-2.0 */
/* What is put off, and what rests when it is too much. */
#include "seal/put_off.h"

#include "model/space.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static struct vv_span_key key_of(uint32_t source)
{
    return (struct vv_span_key){.partition = {.source = source}};
}

/* However many units wait, what they wait for goes on, and so does all else. */
static void units_that_wait_hold_up_no_finer_ones(void **state)
{
    (void)state;
    static struct vv_put_off put_off;
    struct vv_span_key key;
    for (uint32_t i = 0; i < 2 * VV_PUT_OFF_MAX; i++) {
        key = key_of(i);
        vv_put_off_wait(&put_off, &key, VV_SPACE_HOUR, 10, NULL);
    }
    assert_int_equal(put_off.n, VV_WAITING_MAX);
    assert_int_equal(put_off.rest_until_ns, 0);
    assert_false(vv_put_off_rests(&put_off, VV_SPACE_MINUTE, 10));
    assert_true(vv_put_off_rests(&put_off, VV_SPACE_HOUR, 10));
    assert_true(vv_put_off_rests(&put_off, VV_SPACE_DAY, 9 + VV_PUT_OFF_NS));
    assert_false(vv_put_off_rests(&put_off, VV_SPACE_DAY, 10 + VV_PUT_OFF_NS));
    for (uint32_t i = 0; i < VV_PUT_OFF_MAX - VV_WAITING_MAX; i++) { /* there is room for others */
        key = key_of(VV_PUT_OFF_MAX * 2 + i);
        vv_put_off_add(&put_off, &key, 20, NULL);
    }
    assert_int_equal(put_off.rest_until_ns, 0);
    vv_put_off_add(&put_off, &key, 20, NULL);
    assert_int_equal(put_off.rest_until_ns, 20 + VV_PUT_OFF_NS);
    vv_put_off_wait(&put_off, &key, VV_SPACE_DAY, 20, NULL); /* hours rest still */
    assert_true(vv_put_off_rests(&put_off, VV_SPACE_HOUR, 20));
    vv_put_off_forget(&put_off, 15 + VV_PUT_OFF_NS);
    assert_int_equal(put_off.n, VV_PUT_OFF_MAX - VV_WAITING_MAX);
    assert_int_equal(put_off.n_waiting, 0);
    vv_put_off_wait(&put_off, &key, VV_SPACE_DAY, 15 + VV_PUT_OFF_NS, NULL);
    assert_int_equal(put_off.n_waiting, 1);
    assert_true(vv_put_off_has(&put_off, &key));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(units_that_wait_hold_up_no_finer_ones),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
