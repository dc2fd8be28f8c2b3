/* SPDX-License-Identifier: Apache-2.0 */
/* A running door over the fake engine, for one test. */
#ifndef VV_TEST_DOOR_FIXTURE_H
#define VV_TEST_DOOR_FIXTURE_H

#include "fake_engine.h"
#include "http/server.h"
#include "http_client.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

struct door {
    struct vv_settings settings;
    struct vv_engine *engine;
    struct vv_http *http;
    const char *address;
};

static inline void door_open(struct door *door)
{
    struct vv_error error = {0};
    if (vv_http_start(&door->settings, door->engine, &door->http, &error) != VV_OK) {
        fail_msg("%s", error.message);
    }
    door->address = vv_http_address(door->http);
}

static inline int door_setup(void **state)
{
    struct door *door = calloc(1, sizeof *door);
    vv_settings_init(&door->settings);
    snprintf(door->settings.listen, sizeof door->settings.listen, "127.0.0.1:0");
    door->settings.http_threads = 2;
    door->settings.query_threads = 2;
    door->engine = fake_engine_create();
    fake_engine_of_results = door->engine;
    door_open(door);
    *state = door;
    return 0;
}

static inline int door_teardown(void **state)
{
    struct door *door = *state;
    if (door->http) {
        vv_http_stop(door->http, 0);
    }
    fake_engine_destroy(door->engine);
    free(door);
    return 0;
}

/* With other settings than the default ones. */
static inline void door_reopen(struct door *door)
{
    vv_http_stop(door->http, 0);
    door_open(door);
}

/* Sends one request on a connection of its own, and checks the answer's code. */
static inline struct response ask(struct door *door, const char *method, const char *target,
                                  const char *headers, const char *body, int code)
{
    struct response response =
        client_request(door->address, method, target, headers, body, body ? strlen(body) : 0);
    if (response.code != code) {
        fail_msg("%s %s gives %d, not %d: %s", method, target, response.code, code, response.body);
    }
    assert_true(response.complete);
    return response;
}

/* The same, when only the code matters. */
static inline void expect(struct door *door, const char *method, const char *target,
                          const char *headers, const char *body, int code)
{
    struct response response = ask(door, method, target, headers, body, code);
    response_free(&response);
}

static inline void assert_contains(const char *text, const char *part)
{
    if (!strstr(text, part)) {
        fail_msg("'%s' is not in: %s", part, text);
    }
}

static inline void assert_header(const struct response *response, const char *name,
                                 const char *value)
{
    char got[512];
    if (!response_header(response, name, got, sizeof got)) {
        fail_msg("no header %s in: %s", name, response->head);
    }
    assert_string_equal(got, value);
}

#define door_test(function) cmocka_unit_test_setup_teardown(function, door_setup, door_teardown)

#endif
