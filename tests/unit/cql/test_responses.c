/* SPDX-License-Identifier: Apache-2.0 */
/* Answers decoded: whole, cut at every byte, with wrong lengths and with more behind. */
#include "cql/responses.h"

#include "notation.h"

/* ---- what stands before a body ---- */

static struct vvcql_frame frame_of(uint8_t flags, struct vvcql_bytes body)
{
    return (struct vvcql_frame){.flags = flags, .opcode = VVCQL_OP_RESULT, .body = body};
}

static void test_nothing_before_a_body(void **state)
{
    (void)state;
    struct vvcql_frame frame = frame_of(0, bytes("'body'"));
    struct vvcql_prelude prelude;
    assert_int_equal(vvcql_decode_prelude(&frame, &prelude, NULL), VVCQL_OK);
    assert_false(prelude.has_tracing_id);
    assert_int_equal(prelude.n_warnings, 0);
    assert_text(prelude.body, "body");
}

static void test_tracing_warnings_and_payload_before_a_body(void **state)
{
    (void)state;
    struct vvcql_bytes body = bytes("000102030405060708090a0b0c0d0e0f"             /* tracing */
                                    "0002 0003 'one' 0000"                         /* warnings */
                                    "0002 0001 'k' 00000001 'v' 0001 'n' ffffffff" /* payload */
                                    "'body'");
    const uint8_t flags = VVCQL_FLAG_TRACING | VVCQL_FLAG_WARNING | VVCQL_FLAG_PAYLOAD;
    for (size_t size = 0; size <= body.size; size++) {
        struct vvcql_frame frame = frame_of(flags, prefix(body, size));
        struct vvcql_prelude prelude;
        struct vvcql_error error;
        enum vvcql_status status = vvcql_decode_prelude(&frame, &prelude, &error);
        if (size < body.size - 4) {
            assert_int_equal(status, VVCQL_PROTOCOL);
            assert_int_equal(error.status, VVCQL_PROTOCOL);
            assert_null(prelude.body.data);
            continue;
        }
        assert_int_equal(status, VVCQL_OK);
        assert_true(prelude.has_tracing_id);
        assert_memory_equal(prelude.tracing_id, body.data, 16);
        assert_int_equal(prelude.n_warnings, 2);
        assert_bytes(prelude.warnings, "0003 'one' 0000");
        assert_int_equal(prelude.body.size, size - (body.size - 4));
        assert_memory_equal(prelude.body.data, "body", prelude.body.size);
    }
}

static void test_huge_counts_before_a_body_are_refused(void **state)
{
    (void)state;
    struct vvcql_prelude prelude;
    struct vvcql_frame frame = frame_of(VVCQL_FLAG_WARNING, bytes("ffff 0000 0000"));
    assert_int_equal(vvcql_decode_prelude(&frame, &prelude, NULL), VVCQL_PROTOCOL);
    frame = frame_of(VVCQL_FLAG_PAYLOAD, bytes("ffff 0000 00000000"));
    assert_int_equal(vvcql_decode_prelude(&frame, &prelude, NULL), VVCQL_PROTOCOL);
    frame = frame_of(VVCQL_FLAG_PAYLOAD, bytes("0001 0000 7fffffff 00"));
    assert_int_equal(vvcql_decode_prelude(&frame, &prelude, NULL), VVCQL_PROTOCOL);
}

/* ---- errors ---- */

struct error_case {
    int32_t code;
    const char *details; /* behind code and message */
    struct vvcql_error expected;
};

#define DETAILS(...)                                                                               \
    {                                                                                              \
        .status = VVCQL_SERVER, __VA_ARGS__                                                        \
    }
#define UNKNOWN .outcome_unknown = true

static const struct error_case error_cases[] = {
    {VVCQL_CODE_SERVER_ERROR, "", DETAILS(UNKNOWN)},
    {VVCQL_CODE_PROTOCOL_ERROR, "", DETAILS(0)},
    {VVCQL_CODE_BAD_CREDENTIALS, "", {.status = VVCQL_REFUSED}},
    {VVCQL_CODE_UNAVAILABLE, "0006 00000002 00000001",
     DETAILS(.consistency = VVCQL_LOCAL_QUORUM, .required = 2, .received = 1)},
    {VVCQL_CODE_OVERLOADED, "", DETAILS(0)},
    {VVCQL_CODE_IS_BOOTSTRAPPING, "", DETAILS(0)},
    {VVCQL_CODE_TRUNCATE_ERROR, "", DETAILS(0)},
    {VVCQL_CODE_WRITE_TIMEOUT, "0004 00000001 00000002 0006 'SIMPLE'",
     DETAILS(UNKNOWN, .consistency = VVCQL_QUORUM, .received = 1, .required = 2,
             .write_type = VVCQL_WRITE_SIMPLE)},
    {VVCQL_CODE_WRITE_TIMEOUT, "0008 00000000 00000002 0003 'CAS'",
     DETAILS(UNKNOWN, .consistency = VVCQL_SERIAL, .required = 2, .write_type = VVCQL_WRITE_CAS)},
    {VVCQL_CODE_WRITE_TIMEOUT, "0001 00000000 00000001 0005 'NOVEL'",
     DETAILS(UNKNOWN, .consistency = VVCQL_ONE, .required = 1)},
    {VVCQL_CODE_READ_TIMEOUT, "0005 00000003 00000003 00",
     DETAILS(.consistency = VVCQL_ALL, .received = 3, .required = 3)},
    {VVCQL_CODE_READ_TIMEOUT, "0005 00000002 00000003 01",
     DETAILS(.consistency = VVCQL_ALL, .received = 2, .required = 3, .data_present = true)},
    {VVCQL_CODE_READ_FAILURE, "000a 00000000 00000001 00000002 ff",
     DETAILS(.consistency = VVCQL_LOCAL_ONE, .required = 1, .failures = 2, .data_present = true)},
    {VVCQL_CODE_FUNCTION_FAILURE, "", DETAILS(0)},
    {VVCQL_CODE_WRITE_FAILURE, "0004 00000001 00000002 00000001 000e 'UNLOGGED_BATCH'",
     DETAILS(UNKNOWN, .consistency = VVCQL_QUORUM, .received = 1, .required = 2, .failures = 1,
             .write_type = VVCQL_WRITE_UNLOGGED_BATCH)},
    {VVCQL_CODE_CDC_WRITE_FAILURE, "", DETAILS(UNKNOWN)},
    {VVCQL_CODE_CAS_WRITE_UNKNOWN, "0009 00000001 00000002",
     DETAILS(UNKNOWN, .consistency = VVCQL_LOCAL_SERIAL, .received = 1, .required = 2)},
    {VVCQL_CODE_SYNTAX_ERROR, "", DETAILS(0)},
    {VVCQL_CODE_UNAUTHORIZED, "", DETAILS(0)},
    {VVCQL_CODE_INVALID, "", DETAILS(0)},
    {VVCQL_CODE_CONFIG_ERROR, "", DETAILS(0)},
    {VVCQL_CODE_ALREADY_EXISTS, "", DETAILS(0)},
    {VVCQL_CODE_UNPREPARED, "0002 beef", DETAILS(0)},
    {0x7777, "", DETAILS(UNKNOWN)},
    {INT32_MIN, "", DETAILS(UNKNOWN)},
};

static struct vvcql_bytes error_body(const struct error_case *one, const char *behind)
{
    char notation[512];
    snprintf(notation, sizeof notation, "%08x 0004 'what' %s %s", (unsigned)one->code, one->details,
             behind);
    return bytes(notation);
}

static void assert_details(const struct vvcql_error *error, const struct error_case *one)
{
    assert_int_equal(error->code, one->code);
    assert_int_equal(error->status, one->expected.status);
    assert_int_equal(error->outcome_unknown, one->expected.outcome_unknown);
    assert_int_equal(error->consistency, one->expected.consistency);
    assert_int_equal(error->received, one->expected.received);
    assert_int_equal(error->required, one->expected.required);
    assert_int_equal(error->failures, one->expected.failures);
    assert_int_equal(error->data_present, one->expected.data_present);
    assert_int_equal(error->write_type, one->expected.write_type);
    assert_string_equal(error->message, "what");
    assert_string_equal(error->host, "");
}

static void test_every_error_with_its_details(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof error_cases / sizeof error_cases[0]; i++) {
        const struct error_case *one = &error_cases[i];
        for (int more = 0; more < 2; more++) { /* what follows is ignored */
            struct vvcql_error error;
            struct vvcql_bytes id;
            memset(&error, 0x5A, sizeof error);
            struct vvcql_bytes body = error_body(one, more ? "'later'" : "");
            assert_int_equal(vvcql_decode_error(body, &error, &id), one->expected.status);
            assert_details(&error, one);
            if (one->code == VVCQL_CODE_UNPREPARED) {
                assert_bytes(id, "beef");
            } else {
                assert_int_equal(id.size, 0);
            }
        }
    }
}

static void test_errors_cut_short_are_none(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof error_cases / sizeof error_cases[0]; i++) {
        struct vvcql_bytes body = error_body(&error_cases[i], "");
        for (size_t size = 0; size < body.size; size++) {
            struct vvcql_error error;
            struct vvcql_bytes id;
            assert_int_equal(vvcql_decode_error(prefix(body, size), &error, &id), VVCQL_PROTOCOL);
            assert_int_equal(error.status, VVCQL_PROTOCOL);
            assert_int_equal(error.code, VVCQL_CODE_NONE);
            assert_true(error.outcome_unknown);
            assert_int_equal(id.size, 0);
        }
    }
}

static void test_every_type_of_write(void **state)
{
    (void)state;
    const char *const names[] = {"SIMPLE",    "BATCH", "UNLOGGED_BATCH", "COUNTER",
                                 "BATCH_LOG", "CAS",   "VIEW",           "CDC"};
    for (int i = 0; i < 8; i++) {
        char notation[128];
        snprintf(notation, sizeof notation, "00001100 0000 0001 00000000 00000001 %04zx '%s'",
                 strlen(names[i]), names[i]);
        struct vvcql_error error;
        struct vvcql_bytes id;
        assert_int_equal(vvcql_decode_error(bytes(notation), &error, &id), VVCQL_SERVER);
        assert_int_equal(error.write_type, VVCQL_WRITE_SIMPLE + i);
    }
}

static void test_messages_of_errors_are_made_fit_to_print(void **state)
{
    (void)state;
    struct vvcql_error error;
    struct vvcql_bytes id;
    assert_int_equal(vvcql_decode_error(bytes("00002000 0009 'line' 0a 1b 00 ff 'x'"), &error, &id),
                     VVCQL_SERVER);
    assert_string_equal(error.message, "line????x");
}

/* ---- greetings ---- */

static void test_authenticate(void **state)
{
    (void)state;
    struct vvcql_bytes body = bytes("0005 'a.b.C'");
    struct vvcql_bytes name;
    for (size_t size = 0; size < body.size; size++) {
        assert_int_equal(vvcql_decode_authenticate(prefix(body, size), &name, NULL),
                         VVCQL_PROTOCOL);
    }
    assert_int_equal(vvcql_decode_authenticate(body, &name, NULL), VVCQL_OK);
    assert_text(name, "a.b.C");
}

static const char *const supported =
    "0003 000b 'CQL_VERSION' 0001 0005 '3.4.7' 000b 'COMPRESSION' 0002 0006 'snappy' 0003 'lz4'"
    "0011 'PROTOCOL_VERSIONS' 0002 0004 '4/v4' 0000";

static void test_supported(void **state)
{
    (void)state;
    struct vvcql_bytes body = bytes(supported);
    static const struct {
        const char *key;
        const char *value;
        bool found;
    } questions[] = {
        {"COMPRESSION", "lz4", true},
        {"COMPRESSION", "snappy", true},
        {"COMPRESSION", "LZ4", false},
        {"COMPRESSION", "lz", false},
        {"COMPRESSIO", "lz4", false},
        {"CQL_VERSION", "lz4", false},
        {"CQL_VERSION", "3.4.7", true},
        {"PROTOCOL_VERSIONS", "", true},
        {"", "", false},
    };
    for (size_t i = 0; i < sizeof questions / sizeof questions[0]; i++) {
        bool found = !questions[i].found;
        assert_int_equal(
            vvcql_decode_supported(body, questions[i].key, questions[i].value, &found, NULL),
            VVCQL_OK);
        assert_int_equal(found, questions[i].found);
    }
    for (size_t size = 0; size < body.size; size++) {
        bool found = true;
        assert_int_equal(
            vvcql_decode_supported(prefix(body, size), "COMPRESSION", "lz4", &found, NULL),
            VVCQL_PROTOCOL);
        assert_false(found);
    }
    bool found;
    assert_int_equal(vvcql_decode_supported(bytes("ffff 0000 ffff 0000"), "", "", &found, NULL),
                     VVCQL_PROTOCOL);
    assert_int_equal(vvcql_decode_supported(bytes("0000"), "", "", &found, NULL), VVCQL_OK);
    assert_false(found);
}

/* ---- events ---- */

static void assert_event(const char *notation, enum vvcql_event_kind kind, const char *address,
                         uint16_t port, const char *keyspace)
{
    struct vvcql_bytes body = bytes(notation);
    struct vvcql_event event;
    assert_int_equal(vvcql_decode_event(body, &event, NULL), VVCQL_OK);
    assert_int_equal(event.kind, kind);
    assert_same(event.address, bytes(address));
    assert_int_equal(event.port, port);
    assert_text(event.keyspace, keyspace);
    for (size_t size = 0; size < body.size; size++) {
        struct vvcql_error error;
        assert_int_equal(vvcql_decode_event(prefix(body, size), &event, &error), VVCQL_PROTOCOL);
        assert_int_equal(event.kind, VVCQL_EVENT_OTHER);
        assert_null(event.address.data);
    }
}

static void test_events(void **state)
{
    (void)state;
    const char *const v6 = "20010db8000000000000000000000001";
    assert_event("000f 'TOPOLOGY_CHANGE' 0008 'NEW_NODE' 04 0a000001 00002352",
                 VVCQL_EVENT_NEW_NODE, "0a000001", 9042, "");
    assert_event("000f 'TOPOLOGY_CHANGE' 000c 'REMOVED_NODE' 04 0a000001 00002352",
                 VVCQL_EVENT_REMOVED_NODE, "0a000001", 9042, "");
    assert_event("000f 'TOPOLOGY_CHANGE' 000a 'MOVED_NODE' 04 0a000001 00002352",
                 VVCQL_EVENT_MOVED_NODE, "0a000001", 9042, "");
    assert_event("000d 'STATUS_CHANGE' 0002 'UP' 10 20010db8000000000000000000000001 0000ffff",
                 VVCQL_EVENT_UP, v6, 65535, "");
    assert_event("000d 'STATUS_CHANGE' 0004 'DOWN' 04 0a000001 00000000", VVCQL_EVENT_DOWN,
                 "0a000001", 0, "");
    assert_event("000d 'STATUS_CHANGE' 0005 'SHAKY' 04 0a000001 00000001", VVCQL_EVENT_OTHER,
                 "0a000001", 1, "");
    assert_event("000d 'SCHEMA_CHANGE' 0007 'CREATED' 0005 'TABLE' 0002 'ks'", VVCQL_EVENT_SCHEMA,
                 "", 0, "ks");
}

static void test_events_of_no_known_type_are_no_failure(void **state)
{
    (void)state;
    struct vvcql_event event;
    assert_int_equal(vvcql_decode_event(bytes("0005 'NOVEL' ff"), &event, NULL), VVCQL_OK);
    assert_int_equal(event.kind, VVCQL_EVENT_OTHER);
    assert_int_equal(
        vvcql_decode_event(bytes("000d 'SCHEMA_CHANGE' 0007 'DROPPED' 0008 'FUNCTION' 0001 'k'"
                                 "0001 'f' 0001 0003 'int'"),
                           &event, NULL),
        VVCQL_OK);
    assert_text(event.keyspace, "k");
}

static void test_addresses_of_other_lengths_are_refused(void **state)
{
    (void)state;
    struct vvcql_event event;
    const char *const wrong[] = {
        "000d 'STATUS_CHANGE' 0002 'UP' 00 00002352",
        "000d 'STATUS_CHANGE' 0002 'UP' 05 0a00000100 00002352",
        "000d 'STATUS_CHANGE' 0002 'UP' 04 0a000001 00010000",
        "000d 'STATUS_CHANGE' 0002 'UP' 04 0a000001 ffffffff",
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        assert_int_equal(vvcql_decode_event(bytes(wrong[i]), &event, NULL), VVCQL_PROTOCOL);
    }
}

/* ---- kinds ---- */

static void test_kinds_of_results(void **state)
{
    (void)state;
    enum vvcql_result_kind kind;
    for (int i = 1; i <= 5; i++) {
        char notation[16];
        snprintf(notation, sizeof notation, "%08x", (unsigned)i);
        assert_int_equal(vvcql_decode_kind(bytes(notation), &kind, NULL), VVCQL_OK);
        assert_int_equal(kind, i);
    }
    const char *const wrong[] = {"", "00", "000001", "00000000", "00000006", "ffffffff"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        struct vvcql_error error;
        assert_int_equal(vvcql_decode_kind(bytes(wrong[i]), &kind, &error), VVCQL_PROTOCOL);
        assert_int_equal(error.status, VVCQL_PROTOCOL);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_nothing_before_a_body, forget_bytes),
        cmocka_unit_test_teardown(test_tracing_warnings_and_payload_before_a_body, forget_bytes),
        cmocka_unit_test_teardown(test_huge_counts_before_a_body_are_refused, forget_bytes),
        cmocka_unit_test_teardown(test_every_error_with_its_details, forget_bytes),
        cmocka_unit_test_teardown(test_errors_cut_short_are_none, forget_bytes),
        cmocka_unit_test_teardown(test_every_type_of_write, forget_bytes),
        cmocka_unit_test_teardown(test_messages_of_errors_are_made_fit_to_print, forget_bytes),
        cmocka_unit_test_teardown(test_authenticate, forget_bytes),
        cmocka_unit_test_teardown(test_supported, forget_bytes),
        cmocka_unit_test_teardown(test_events, forget_bytes),
        cmocka_unit_test_teardown(test_events_of_no_known_type_are_no_failure, forget_bytes),
        cmocka_unit_test_teardown(test_addresses_of_other_lengths_are_refused, forget_bytes),
        cmocka_unit_test_teardown(test_kinds_of_results, forget_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
