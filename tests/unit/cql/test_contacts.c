/* SPDX-License-Identifier: Apache-2.0 */
/* Contact points as operators write them, right and wrong. */
#include "notation.h"

#include "cql/address.h"
#include "cql/contacts.h"

static struct vvcql_contact *contacts;
static size_t n_contacts;
static struct vvcql_error error;

static enum vvcql_status parse(const char *text)
{
    return vvcql_contacts_parse(text, 9042, &contacts, &n_contacts, &error);
}

static void assert_contact(size_t i, const char *host, uint16_t port, bool is_address)
{
    assert_true(i < n_contacts);
    assert_string_equal(contacts[i].host, host);
    assert_int_equal(contacts[i].port, port);
    assert_int_equal(contacts[i].is_address, is_address);
}

static void test_all_forms(void **state)
{
    (void)state;
    assert_int_equal(parse("a.example, 10.0.0.1:19042,[::1]:7 , ::2,[fe80::1]\t,b_1:65535"),
                     VVCQL_OK);
    assert_int_equal(n_contacts, 6);
    assert_contact(0, "a.example", 9042, false);
    assert_contact(1, "10.0.0.1", 19042, true);
    assert_contact(2, "::1", 7, true);
    assert_contact(3, "::2", 9042, true);
    assert_contact(4, "fe80::1", 9042, true);
    assert_contact(5, "b_1", 65535, false);
    char name[VVCQL_HOST_MAX];
    vvcql_address_name(&contacts[2].address, name);
    assert_string_equal(name, "[::1]:7");
    vvcql_contacts_free(contacts, n_contacts);
}

static void test_wrong_ones(void **state)
{
    static const char *const texts[] = {
        "",        ",",        "a,,b",        "a, ",     ":9042",     "a:",     "a:0",
        "a:65536", "a:9o42",   "a:000009042", "[::1",    "[::1]9042", "[::1]:", "[]:9042",
        "a b",     "http://a", "a/b",         "[a b]:1", "a:-1",
    };
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        if (parse(texts[i]) != VVCQL_INVALID) {
            fail_msg("\"%s\" was taken", texts[i]);
        }
        assert_null(contacts);
        assert_true(error.message[0] != '\0');
    }
}

static void test_too_many_or_too_long(void **state)
{
    (void)state;
    char many[4096];
    char name[300];
    memset(many, ',', sizeof many - 1);
    many[sizeof many - 1] = '\0';
    assert_int_equal(parse(many), VVCQL_INVALID);
    memset(name, 'a', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    assert_int_equal(parse(name), VVCQL_INVALID);
}

static void test_memory_runs_out(void **state)
{
    (void)state;
    bool failed = true;
    for (uint64_t k = 1; failed; k++) {
        vv_sim_memory_fail(k);
        enum vvcql_status status = parse("a,b");
        failed = vv_sim_memory_failed();
        assert_int_equal(status, failed ? VVCQL_NO_MEMORY : VVCQL_OK);
        vvcql_contacts_free(contacts, n_contacts);
    }
}

static void test_addresses(void **state)
{
    struct sockaddr_storage a;
    struct sockaddr_storage b;
    (void)state;
    assert_false(vvcql_address_parse(&a, "localhost", 1));
    assert_true(vvcql_address_parse(&a, "127.0.0.1", 1));
    assert_true(vvcql_address_set(&b, bytes("7f000001"), 1));
    assert_true(vvcql_address_equal(&a, &b));
    vvcql_address_set_port(&b, 2);
    assert_false(vvcql_address_equal(&a, &b));
    assert_false(vvcql_address_is_any(&a));
    assert_true(vvcql_address_parse(&a, "0.0.0.0", 1));
    assert_true(vvcql_address_is_any(&a));
    assert_true(vvcql_address_parse(&a, "::", 2));
    assert_true(vvcql_address_is_any(&a));
    assert_false(vvcql_address_equal(&a, &b));
    assert_false(vvcql_address_set(&a, bytes("7f0000"), 1));
    assert_false(vvcql_address_set(&a, (struct vvcql_bytes){NULL, 4}, 1));
    (void)forget_bytes(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_forms),
        cmocka_unit_test(test_wrong_ones),
        cmocka_unit_test(test_too_many_or_too_long),
        cmocka_unit_test(test_memory_runs_out),
        cmocka_unit_test(test_addresses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
