/* SPDX-License-Identifier: Apache-2.0 */
/* Which tenants the settings want as rows. */
#include "store/cassandra/rows.h"

#include <setjmp.h>
#include <stdio.h>

#include <cmocka.h>

static struct vv_str tenant_name(void *context, uint32_t tenant)
{
    static const char *const names[] = {"a", "plant 1", "*", "b"};
    (void)context;
    return tenant < 4 ? vv_str_of(names[tenant]) : (struct vv_str){0};
}

/* A letter for each of the tenants a, "plant 1", *, b and one without a name. */
static void expect(const char *list, const char *layouts)
{
    char text[64];
    struct vv_cassandra store = {.names = {.tenant = tenant_name}, .rows_tenants = text};
    snprintf(text, sizeof text, "%s", list);
    for (uint32_t i = 0; i < 5; i++) {
        uint8_t layout = vv_cassandra_layout(&store, i);
        if (layout != (layouts[i] == 'r' ? VV_LAYOUT_ROWS : VV_LAYOUT_BLOCKS)) {
            fail_msg("'%s', tenant %u: %u", list, i, layout);
        }
    }
}

static void names_are_whole_words(void **state)
{
    (void)state;
    expect("", "bbbbb");
    expect(" ", "bbbbb");
    expect("a", "rbbbb");
    expect("plant", "bbbbb");
    expect("plant 1", "brbbb");
    expect("b,a", "rbbrb");
    expect(" b , plant 1 ", "brbrb");
    expect("aa,bb", "bbbbb");
    expect("a,", "rbbbb");
}

static void a_star_is_all(void **state)
{
    (void)state;
    expect("*", "rrrrr");
    expect("x, * ", "rrrrr");
    expect("**", "bbbbb");
    expect("a*", "bbbbb");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_whole_words),
        cmocka_unit_test(a_star_is_all),
    };
    return cmocka_run_group_tests_name("store_cassandra/layout", tests, NULL, NULL);
}
