/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses to listen on, and what is said when they cannot be. */
#include "http/listen.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

static void test_parse(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *host;
        const char *port;
    } good[] = {{"127.0.0.1:8987", "127.0.0.1", "8987"},
                {"localhost:0", "localhost", "0"},
                {"[::1]:8987", "::1", "8987"},
                {"[::]:65535", "::", "65535"},
                {"0.0.0.0:1", "0.0.0.0", "1"}};
    char host[64];
    char port[6];
    struct vv_error error = {0};
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        assert_int_equal(vv_listen_parse(good[i].text, host, sizeof host, port, &error), VV_OK);
        assert_string_equal(host, good[i].host);
        assert_string_equal(port, good[i].port);
    }
    static const char *const bad[] = {
        "",
        ":",
        "127.0.0.1",
        "127.0.0.1:",
        ":8987",
        "::1:8987",
        "[::1]",
        "[]:80",
        "127.0.0.1:x",
        "host:123456",
        "host:65536",
        "host:-1",
        "host: 80",
        "host:+80",
        "http://h:80/x",
        "0123456789012345678901234567890123456789012345678901234567890123456789:80"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        if (vv_listen_parse(bad[i], host, sizeof host, port, &error) != VV_INVALID) {
            fail_msg("'%s' was taken", bad[i]);
        }
        assert_non_null(strstr(error.message, "HOST:PORT"));
    }
}

static void test_open(void **state)
{
    (void)state;
    struct vv_listener first;
    struct vv_listener second;
    struct vv_error error = {0};
    assert_int_equal(vv_listen_open("127.0.0.1:0", &first, &error), VV_OK);
    assert_true(first.local);
    assert_int_equal(strncmp(first.address, "127.0.0.1:", 10), 0);
    assert_string_not_equal(first.address, "127.0.0.1:0");
    assert_int_equal(vv_listen_open(first.address, &second, &error), VV_LOCKED);
    assert_non_null(strstr(error.message, "in use"));
    close(first.fd);
    assert_int_equal(vv_listen_open("0.0.0.0:0", &first, &error), VV_OK);
    assert_false(first.local);
    close(first.fd);
    assert_int_equal(vv_listen_open("192.0.2.1:0", &first, &error), VV_INVALID);
    assert_int_equal(vv_listen_open("nonsense.invalid:80", &first, &error), VV_INVALID);
}

static void test_open_ipv6(void **state)
{
    (void)state;
    int probe = socket(AF_INET6, SOCK_STREAM, 0);
    FILE *addresses = fopen("/proc/net/if_inet6", "re");
    bool usable = probe >= 0 && addresses && fgetc(addresses) != EOF;
    if (probe >= 0) {
        close(probe);
    }
    if (addresses) {
        fclose(addresses);
    }
    if (!usable) {
        print_message("skipped: this machine has no IPv6\n");
        skip();
    }
    struct vv_listener listener;
    struct vv_error error = {0};
    assert_int_equal(vv_listen_open("[::1]:0", &listener, &error), VV_OK);
    assert_true(listener.local);
    assert_int_equal(strncmp(listener.address, "[::1]:", 6), 0);
    close(listener.fd);
}

static void test_silence(void **state)
{
    (void)state;
    int fd = -1;
    struct vv_error error = {0};
    assert_int_equal(vv_listen_silence(&fd, &error), VV_OK);
    assert_true(accept(fd, NULL, NULL) < 0);
    close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parse),
        cmocka_unit_test(test_open),
        cmocka_unit_test(test_open_ipv6),
        cmocka_unit_test(test_silence),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
