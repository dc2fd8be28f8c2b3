/* SPDX-License-Identifier: Apache-2.0 */
/* Tokens: those that Cassandra gives, for every length of a key's last part. */
#include "cql/token.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cql/policy.h"
#include "simulation/sim_memory.h"

#define KEY_MAX 200

struct vector {
    const char *key; /* in hexadecimal */
    int64_t token;
};

/* From tests of DataStax's drivers: Murmur_Hash_Test of the C# driver's TokenTests.cs ("inputs and
 * result values from Cassandra"), and murmur3_spec.rb of the Ruby driver. */
static const struct vector published[] = {
    {"0102030405060708090a0b0c0d0e0f10", INT64_C(-5563837382979743776)},
    {"02030405060708090a0b0c0d0e0f1011", INT64_C(-1513403162740402161)},
    {"030405060708090a0b0c0d0e0f101112", INT64_C(-495360443712684655)},
    {"0405060708090a0b0c0d0e0f10111213", INT64_C(1734091135765407943)},
    {"05060708090a0b0c0d0e0f1011121314", INT64_C(-3199412112042527988)},
    {"060708090a0b0c0d0e0f101112131415", INT64_C(-6316563938475080831)},
    {"0708090a0b0c0d0e0f10111213141516", INT64_C(8228893370679682632)},
    {"00000000000000000000000000000000", INT64_C(5457549051747178710)},
    {"ffffffffffffffffffffffffffffffff", INT64_C(-2824192546314762522)},
    {"fefefefefefefefefefefefefefefefe", INT64_C(-833317529301936754)},
    {"00010203ffffffffffffffffffffffff", INT64_C(6463632673159404390)},
    {"fefefefefefefefefefefefefefefefefe", INT64_C(-1672437813826982685)},
    {"fefefefe", INT64_C(4566408979886474012)},
    {"00000000", INT64_C(-3485513579396041028)},
    {"00017f7f", INT64_C(6573459401642635627)},
    {"00ffffff", INT64_C(123573637386978882)},
    {"ff010203", INT64_C(-2839127690952877842)},
    {"e2e7", INT64_C(-8582699461035929883)},
    {"e2e7e2e7e2e701", INT64_C(2222373981930033306)},
    {"313233", INT64_C(-7468325962851647638)},
    {"00ff10fa9900ff10fa9900ff10fa9900ff10fa9900ff10fa99"
     "00ff10fa9900ff10fa9900ff10fa9900ff10fa9900ff10fa99",
     INT64_C(5837342703291459765)},
    {"fefefefefefefefe", INT64_C(-8927430733708461935)},
    {"1010101010101010", INT64_C(1446172840243228796)},
    {"39323233333732303336383534373735383037", INT64_C(7162290910810015547)},
};

/* From Cassandra 5.0.8: rows with these blobs as partition keys, read back with token(). */
static const struct vector measured[] = {
    {"00", INT64_C(5048724184180415669)},
    {"7f", INT64_C(5072634478945617755)},
    {"80", INT64_C(-5284281814142962636)},
    {"ff", INT64_C(-4442228696663692417)},
    {"82", INT64_C(7188333716680067347)},
    {"b70e", INT64_C(-2897600088890940981)},
    {"ee7f1a", INT64_C(2995792290281166222)},
    {"5039bef0", INT64_C(2536436966116962960)},
    {"7ec2347f06", INT64_C(-5321377157885710781)},
    {"6ed08f5dc751", INT64_C(-125380943269022102)},
    {"2447e340430002", INT64_C(2235075917652867317)},
    {"6b6e545594a06568", INT64_C(-1260365401694515943)},
    {"5d64c4980bb8d4544a", INT64_C(7628396245054825549)},
    {"8721a99a01ad219eb59c", INT64_C(-618729354039416215)},
    {"f6a15ef6f15a1d830bb7ce", INT64_C(8452414501582548595)},
    {"09d6bbc004e7175c643c7dec", INT64_C(2650310639822331671)},
    {"b0b580ec37bc9712dd2e6aaeb9", INT64_C(1266953152421241572)},
    {"4bae8d2f9fa29c5a284c9ef75218", INT64_C(5603207880186104846)},
    {"29cf1079b080e9d74a1c10fcab6a42", INT64_C(635698129112123767)},
    {"a1e9", INT64_C(-3189156338157271298)},
    {"9babef", INT64_C(2858175350239921431)},
    {"dfa68feb", INT64_C(669984945735277608)},
    {"cba4f4abf4", INT64_C(-3396517244705633365)},
    {"fcd1fac6caf8", INT64_C(-6288876021516103996)},
    {"e7a59ce0adffd6", INT64_C(-6207856184275986280)},
    {"ae96fdc5dc90db88", INT64_C(2784683020053358478)},
    {"ceddc7fcc3cbd7ad82", INT64_C(6582055066420073115)},
    {"f9c0d3c6f6c9dbd9c6d8", INT64_C(1285504156352253206)},
    {"e8d9acf3ddd5a4aab2dcfa", INT64_C(-2969873062893140332)},
    {"c894eaabebcdc587b2a8f0ae", INT64_C(-1008390984634795488)},
    {"b8ae8af8b9aa8da29cd1aefbb1", INT64_C(4055374840644658735)},
    {"89eaf7d9e192b4bcdf80d9e7c7e8", INT64_C(4443797271569401118)},
    {"9ddf89cd98cbd6cbdaa1ebe8def7a4", INT64_C(-7149903166820612082)},
    {"50c3f465442eb300c337a648a6c0dbdd", INT64_C(-3579228777366161708)},
    {"73fc95f5c2c451859afe80d40aa39dfb92", INT64_C(1946759867317035501)},
    {"49f40c3ee37d961445c806f58c7cf2127dfa894f9296fc", INT64_C(601861823115366852)},
    {"f33c08409990ac970dedb3b843120181e9376107dbdaf6c5", INT64_C(-9089423087918024634)},
    {"f3c86497ee219b01dd92f19f4954f4fea94ed9182375882b20", INT64_C(8107000075137797082)},
    {"0daadb23cff9193f3e70384495e04c5d5ed352226d1637c2248f1d3ccc4405",
     INT64_C(-7927140811451726380)},
    {"dd2ea1fafab4bf1c46964d947086207882914478bee8c75b4309ae2b122e3fe8",
     INT64_C(-8235962644796835560)},
    {"7ac7ecf5a5370fc41b4ddb723b2afb6c47c0b57894aab2c5c145b797ddb9126e5c",
     INT64_C(550433569486299446)},
    {"ca203112105f676414faf6b200daf099dba5eeec33624f5124bfc5f04d82388e"
     "52927810f610b0bca11e0be9f14f3c",
     INT64_C(116432617254339198)},
    {"a695e87a5311660c7628cdba9f5eefb99022ef537b596a16dc8a03ec1fe7d256"
     "1711b3302479fb2ff11b7c19fecb1e18",
     INT64_C(4504287790240325153)},
    {"82d0e49c1a13635bce60772ba0372c52266d08e1b7f9d8c043069de5723b479f"
     "f72c86cea0434229f17d2bdb7d8d1ffc7f186692bf3224d7a0c20092430ee2",
     INT64_C(1415044125903531453)},
    /* Found by going backwards from INT64_MIN: the token that no partition has. */
    {"c10395365d817250538c6d0cb635108e", INT64_MAX},
};

static size_t read_hexadecimal(const char *text, uint8_t *bytes_out)
{
    size_t size = strlen(text) / 2;
    assert_true(size <= KEY_MAX);
    for (size_t i = 0; i < size; i++) {
        char digits[3] = {text[2 * i], text[2 * i + 1], 0};
        bytes_out[i] = (uint8_t)strtoul(digits, NULL, 16);
    }
    return size;
}

/* In memory that ends where the key ends, and begins at any place in a word. */
static int64_t token_of(const uint8_t *key, size_t size, size_t offset)
{
    uint8_t *memory = malloc(offset + size);
    assert_non_null(memory);
    memcpy(memory + offset, key, size);
    int64_t token = vvcql_token(memory + offset, size);
    free(memory);
    return token;
}

static void check(const struct vector *vectors, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        uint8_t key[KEY_MAX];
        size_t size = read_hexadecimal(vectors[i].key, key);
        for (size_t offset = 0; offset < 8; offset++) {
            if (token_of(key, size, offset) != vectors[i].token) {
                fail_msg("token of %s", vectors[i].key);
            }
        }
    }
}

static void tokens_that_were_published(void **state)
{
    (void)state;
    check(published, sizeof published / sizeof *published);
}

static void tokens_that_cassandra_gave(void **state)
{
    (void)state;
    check(measured, sizeof measured / sizeof *measured);
}

/* ---- a model: MurmurHash3 x64 128 as its author describes it, byte by byte ---- */

static uint64_t rotate(uint64_t x, int r)
{
    return x << r | x >> (64 - r);
}

static uint64_t avalanche(uint64_t k)
{
    k ^= k >> 33;
    k *= UINT64_C(0xff51afd7ed558ccd);
    k ^= k >> 33;
    k *= UINT64_C(0xc4ceb9fe1a85ec53);
    k ^= k >> 33;
    return k;
}

static int64_t model_token(const uint8_t *key, size_t size)
{
    const uint64_t c1 = UINT64_C(0x87c37b91114253d5);
    const uint64_t c2 = UINT64_C(0x4cf5ad432745937f);
    uint64_t h1 = 0;
    uint64_t h2 = 0;
    for (size_t at = 0; at < size; at += 16) {
        bool is_whole = size - at >= 16;
        uint64_t k[2] = {0, 0};
        for (size_t i = 0; i < 16 && at + i < size; i++) {
            uint64_t byte = is_whole ? key[at + i] : (uint64_t)(int8_t)key[at + i];
            k[i / 8] ^= byte << i % 8 * 8;
        }
        h1 ^= rotate(k[0] * c1, 31) * c2;
        if (is_whole) {
            h1 = (rotate(h1, 27) + h2) * 5 + 0x52dce729;
        }
        h2 ^= rotate(k[1] * c2, 33) * c1;
        if (is_whole) {
            h2 = (rotate(h2, 31) + h1) * 5 + 0x38495ab5;
        }
    }
    h1 ^= size;
    h2 ^= size;
    h1 += h2;
    h2 += h1;
    int64_t token = (int64_t)(avalanche(h1) + avalanche(h2));
    return token == INT64_MIN ? INT64_MAX : token;
}

static void every_length_is_that_of_a_model(void **state)
{
    (void)state;
    uint64_t random = 11;
    print_message("seed %d\n", (int)random);
    for (size_t size = 0; size <= KEY_MAX; size++) {
        for (int round = 0; round < 40; round++) {
            uint8_t key[KEY_MAX];
            for (size_t i = 0; i < size; i++) {
                uint64_t number = vvcql_random(&random);
                /* All of them, those of 0x80 and more, or the outermost. */
                uint8_t byte = (uint8_t)(number >> 8);
                uint8_t edge = (uint8_t)(0x7f + byte % 3);
                key[i] = round % 4 == 0 ? (uint8_t)(byte | 0x80) : round % 4 == 1 ? edge : byte;
            }
            assert_int_equal(token_of(key, size, 0), model_token(key, size));
        }
    }
    assert_int_equal(vvcql_token(NULL, 0), 0);
}

/* ---- keys of several values ---- */

static void add(struct vvcql_buffer *key, const void *data, size_t size)
{
    vvcql_key_add(key, (struct vvcql_bytes){data, size});
}

static void bytes_of_a_key_of_several_values(void **state)
{
    (void)state;
    struct vvcql_buffer key = {0};
    add(&key, "pump", 4);
    add(&key, "", 0);
    add(&key, "\xff\x01", 2);
    assert_false(key.failed);
    static const uint8_t expected[] = {0, 4, 'p', 'u', 'm', 'p', 0, 0, 0, 0, 0, 2, 0xff, 1, 0};
    assert_int_equal(key.size, sizeof expected);
    assert_memory_equal(key.data, expected, sizeof expected);
    vvcql_buffer_deinit(&key);
}

/* From Cassandra 5.0.8: token(a, b, c) of a table with PRIMARY KEY ((a text, b int, c blob)). */
static void tokens_of_keys_of_several_values(void **state)
{
    (void)state;
    char long_text[300];
    memset(long_text, 'a', sizeof long_text);
    char blob[20];
    memset(blob, 0x80, sizeof blob);
    const struct {
        struct vvcql_bytes values[3];
        int64_t token;
    } rows[] = {
        {{{(const uint8_t *)"pump", 4}, {(const uint8_t *)"\0\0\0\7", 4}, {NULL, 0}},
         INT64_C(2079235587649690681)},
        {{{NULL, 0}, {(const uint8_t *)"\xff\xff\xff\xff", 4}, {(const uint8_t *)"\xff", 1}},
         INT64_C(2081178061949215796)},
        {{{(const uint8_t *)"gr\xc3\xbc\xc3\x9f"
                            "e",
           7},
          {(const uint8_t *)"\x7f\xff\xff\xff", 4},
          {(const uint8_t *)blob, sizeof blob}},
         INT64_C(544391572085661870)},
        {{{(const uint8_t *)long_text, sizeof long_text},
          {(const uint8_t *)"\0\0\0\0", 4},
          {(const uint8_t *)"\0", 1}},
         INT64_C(-3309074095443398961)},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct vvcql_buffer key = {0};
        for (size_t k = 0; k < 3; k++) {
            vvcql_key_add(&key, rows[i].values[k]);
        }
        assert_false(key.failed);
        assert_int_equal(vvcql_token(key.data, key.size), rows[i].token);
        vvcql_buffer_deinit(&key);
    }
}

static void values_of_up_to_65535_bytes(void **state)
{
    (void)state;
    uint8_t *value = calloc(65536, 1);
    assert_non_null(value);
    struct vvcql_buffer key = {0};
    add(&key, value, 65535);
    assert_false(key.failed);
    assert_int_equal(key.size, 65538);
    add(&key, value, 65536);
    assert_true(key.failed);
    vvcql_buffer_deinit(&key);
    free(value);
}

static void a_key_without_memory_has_failed(void **state)
{
    (void)state;
    struct vvcql_buffer key = {0};
    vv_sim_memory_fail(1);
    add(&key, "pump", 4);
    assert_true(vv_sim_memory_failed());
    assert_true(key.failed);
    vvcql_buffer_deinit(&key);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tokens_that_were_published),
        cmocka_unit_test(tokens_that_cassandra_gave),
        cmocka_unit_test(every_length_is_that_of_a_model),
        cmocka_unit_test(bytes_of_a_key_of_several_values),
        cmocka_unit_test(tokens_of_keys_of_several_values),
        cmocka_unit_test(values_of_up_to_65535_bytes),
        cmocka_unit_test(a_key_without_memory_has_failed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
