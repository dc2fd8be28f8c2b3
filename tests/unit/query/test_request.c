/* SPDX-License-Identifier: Apache-2.0 */
/* Requests: every parameter, what must hold between them, messages, and memory that runs out. */
#include "query/request.h"
#include "query_fixture.h"

static const int64_t now = FIXTURE_NOW;

static enum vv_status parse(enum vv_request_kind kind, const char *const *words,
                            struct vv_request **request_out, struct vv_error *error)
{
    struct vv_parameter parameters[64];
    size_t n = 0;
    for (; words[n]; n++) {
        const char *equals = strchr(words[n], '=');
        parameters[n] =
            (struct vv_parameter){{words[n], (size_t)(equals - words[n])}, vv_str_of(equals + 1)};
    }
    *error = (struct vv_error){0};
    return vv_request_parse(kind, parameters, n, now, request_out, error);
}

#define LIST(...) ((const char *const[]){__VA_ARGS__, NULL})

static struct vv_request *accept(enum vv_request_kind kind, const char *const *words)
{
    struct vv_request *request;
    struct vv_error error;
    if (parse(kind, words, &request, &error) != VV_OK) {
        fail_msg("%s: %s", words[0], error.message);
    }
    return request;
}

static void refuse(enum vv_request_kind kind, const char *const *words, const char *part)
{
    struct vv_request *request;
    struct vv_error error;
    if (parse(kind, words, &request, &error) != VV_INVALID) {
        fail_msg("'%s' is accepted", words[0]);
    }
    assert_null(request);
    if (!strstr(error.message, part)) {
        fail_msg("'%s' does not say '%s'", error.message, part);
    }
}

static void nothing_given_means_defaults(void **state)
{
    (void)state;
    struct vv_request *request;
    struct vv_error error = {0};
    assert_int_equal(vv_request_parse(VV_REQUEST_QUERY, NULL, 0, now, &request, &error), VV_OK);
    assert_true(vv_str_equal(vv_request_tenant(request), VV_STR_LITERAL("default")));
    assert_int_equal(vv_request_format(request, VV_FORMAT_CSV), VV_FORMAT_CSV);
    assert_int_equal(vv_request_format(request, VV_FORMAT_JSON), VV_FORMAT_JSON);
    assert_false(request->has_from || request->has_to || request->descending || request->grouped);
    assert_true(request->from == VV_TIME_MIN && request->to == VV_TIME_MAX + 1);
    vv_request_destroy(request);
    vv_request_destroy(NULL);
}

static void tenants(void **state)
{
    (void)state;
    struct vv_request *request = accept(VV_REQUEST_TAGS, LIST("db=plant", "format=csv"));
    assert_true(vv_str_equal(vv_request_tenant(request), VV_STR_LITERAL("plant")));
    assert_int_equal(vv_request_format(request, VV_FORMAT_JSON), VV_FORMAT_CSV);
    vv_request_destroy(request);
    vv_request_destroy(accept(VV_REQUEST_TAGS, LIST("db=plant", "tenant=plant")));
    refuse(VV_REQUEST_TAGS, LIST("db=plant", "tenant=other"), "differ");
}

static int64_t from_of(const char *word, const char *epoch)
{
    struct vv_request *request = accept(VV_REQUEST_LATEST, LIST(epoch, word));
    int64_t from = request->from;
    vv_request_destroy(request);
    return from;
}

static void times(void **state)
{
    (void)state;
    assert_true(from_of("from=now", "epoch=ns") == now);
    assert_true(from_of("from=-6h", "epoch=ns") == now - 6 * VV_HOUR);
    assert_true(from_of("from=now-1h30m", "epoch=s") == now - 90 * VV_MINUTE);
    assert_true(from_of("from=+10m", "epoch=s") == now + 10 * VV_MINUTE);
    assert_true(from_of("from= 10m", "epoch=s") == now + 10 * VV_MINUTE); /* + after decoding */
    assert_true(from_of("from=now+1d", "epoch=s") == now + VV_DAY);
    assert_true(from_of("from=-60", "epoch=s") == -60 * VV_SECOND);
    assert_true(from_of("from=1700000000123", "epoch=ms") == 1700000000123000000);
    assert_true(from_of("from=1700000000123456", "epoch=us") == 1700000000123456000);
    assert_true(from_of("from=1700000000123456789", "epoch=ns") == 1700000000123456789);
    assert_true(from_of("from=2024-03-31T01:00:00+01:00", "epoch=ns") == 1711843200000000000);
    assert_true(from_of("from=2024-03-31T01:00:00 01:00", "epoch=ns") == 1711843200000000000);
    assert_true(from_of("from=2024-03-31", "epoch=ns") == 1711843200000000000);
    assert_true(from_of("from=9223372036854775807", "epoch=s") == VV_TIME_MAX + 1);
    assert_true(from_of("from=-9223372036854775808", "epoch=s") == VV_TIME_MIN);
}

static void times_that_are_none(void **state)
{
    (void)state;
    static const char *const wrong[] = {
        "from=yesterday", "from=6h",   "from=-",
        "from=now6h",     "from=1.5",  "from=now-",
        "from=-6",        "from=--6h", "from=12345678901234567890123",
        "from=0x10"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        struct vv_request *request;
        struct vv_error error;
        enum vv_status status = parse(VV_REQUEST_QUERY, LIST(wrong[i]), &request, &error);
        bool is_integer = strcmp(wrong[i], "from=-6") == 0;
        assert_int_equal(status, is_integer ? VV_OK : VV_INVALID);
        assert_true(is_integer || strncmp(error.message, "from: ", 6) == 0);
        vv_request_destroy(request);
    }
    refuse(VV_REQUEST_QUERY, LIST("to=2024-13-01"), "to: ");
    refuse(VV_REQUEST_QUERY, LIST("to=9999-01-01"), "out of range");
    refuse(VV_REQUEST_QUERY, LIST("from=9223372036854775808"),
           "from: '9223372036854775808' is out");
    refuse(VV_REQUEST_QUERY, LIST("to=-9223372036854775809"), "out of range");
    refuse(VV_REQUEST_QUERY, LIST("from=340282366920938463463374607431768211457"), "out of range");
    refuse(VV_REQUEST_QUERY, LIST("epoch=min"), "allowed: ns, us, ms, s");
}

static void ranges(void **state)
{
    (void)state;
    struct vv_request *request = accept(VV_REQUEST_QUERY, LIST("before=now", "limit=5"));
    assert_true(request->has_to && request->to == now && request->descending);
    assert_int_equal(request->limit, 5);
    vv_request_destroy(request);
    vv_request_destroy(accept(VV_REQUEST_QUERY, LIST("before=now", "order=desc")));
    refuse(VV_REQUEST_QUERY, LIST("before=now", "order=asc"), "before=T means");
    refuse(VV_REQUEST_QUERY, LIST("before=now", "to=now"), "before=T means");
    refuse(VV_REQUEST_QUERY, LIST("from=now", "to=now"), "from must be earlier than to");
    refuse(VV_REQUEST_QUERY, LIST("from=now", "before=-1h"), "from must be earlier than before");
    refuse(VV_REQUEST_QUERY, LIST("limit=0"), "limit '0'");
    refuse(VV_REQUEST_QUERY, LIST("limit=-1"), "limit '-1'");
    refuse(VV_REQUEST_QUERY, LIST("limit=1e3"), "limit '1e3'");
    refuse(VV_REQUEST_QUERY, LIST("limit=99999999999999999999"), "limit '9");
    refuse(VV_REQUEST_QUERY, LIST("order=newest"), "allowed: asc, desc");
}

static void unknown_parameters_are_errors(void **state)
{
    (void)state;
    refuse(VV_REQUEST_QUERY, LIST("metrc=a"), "did you mean 'metric'?");
    refuse(VV_REQUEST_QUERY, LIST("groupby=a"), "did you mean 'group_by'?");
    refuse(VV_REQUEST_LATEST, LIST("step=1h"), "parameter 'step' is unknown");
    refuse(VV_REQUEST_SOURCES, LIST("metric=a"), "allowed: tenant, db, source, tag, limit");
    refuse(VV_REQUEST_TAGS, LIST("=x"), "parameter '' is unknown");
    refuse(VV_REQUEST_QUERY, LIST("step=1h", "step=2h"), "step is given twice");
    refuse(VV_REQUEST_QUERY, LIST("from="), "from is empty");
    refuse(VV_REQUEST_TAGS, LIST("key="), "key is empty");
}

static void sources_and_metrics(void **state)
{
    (void)state;
    struct vv_request *request = accept(
        VV_REQUEST_QUERY, LIST("source=a,b=c", "source=~press-*", "source=\\~x", "source=\\\\y",
                               "source=\\z", "metric=a.b,c\\,d", "metric=*"));
    assert_int_equal(request->ids.n, 4);
    assert_true(vv_str_equal(request->ids.items[0], vv_str_of("a,b=c")));
    assert_true(vv_str_equal(request->ids.items[1], vv_str_of("~x")));
    assert_true(vv_str_equal(request->ids.items[2], vv_str_of("\\y")));
    assert_true(vv_str_equal(request->ids.items[3], vv_str_of("\\z")));
    assert_int_equal(request->id_patterns.n, 1);
    assert_int_equal(request->metrics.n, 3);
    assert_true(vv_str_equal(request->metrics.items[1], vv_str_of("c\\,d")));
    vv_request_destroy(request);
    refuse(VV_REQUEST_QUERY, LIST("source=~"), "has no pattern");
    refuse(VV_REQUEST_QUERY, LIST("metric=a,,b"), "empty name");
}

static void expect_tag(const char *word, const char *key, enum vv_match_op op, const char *values)
{
    struct vv_request *request = accept(VV_REQUEST_QUERY, LIST(word));
    char joined[128] = "";
    assert_int_equal(request->n_matchers, 1);
    const struct vv_matcher *matcher = &request->matchers[0];
    assert_true(vv_str_equal(matcher->key, vv_str_of(key)));
    assert_int_equal(matcher->op, op);
    for (size_t i = 0; i < matcher->n_values; i++) {
        strcat(joined, i ? ";" : "");
        strncat(joined, matcher->values[i].data, matcher->values[i].size);
    }
    assert_string_equal(joined, values);
    vv_request_destroy(request);
}

static void tags(void **state)
{
    (void)state;
    expect_tag("tag=site=north", "site", VV_MATCH_IN, "north");
    expect_tag("tag=site=north|south", "site", VV_MATCH_IN, "north;south");
    expect_tag("tag=site!=north|south", "site", VV_MATCH_NOT_IN, "north;south");
    expect_tag("tag=site~n*|s?", "site", VV_MATCH_GLOB, "n*;s?");
    expect_tag("tag=site!~n\\*|x", "site", VV_MATCH_NOT_GLOB, "n\\*;x");
    expect_tag("tag=a\\=b=c=d", "a=b", VV_MATCH_IN, "c=d");
    expect_tag("tag=a!b=c", "a!b", VV_MATCH_IN, "c");
    expect_tag("tag=a\\!=c", "a!", VV_MATCH_IN, "c");
    expect_tag("tag=a=b\\|c", "a", VV_MATCH_IN, "b|c");
    expect_tag("tag=a=\\~b", "a", VV_MATCH_IN, "~b");
    expect_tag("tag=site=", "site", VV_MATCH_NOT_GLOB, "*");
    expect_tag("tag=site!=", "site", VV_MATCH_GLOB, "*");
    static const char *const wrong[] = {"tag=site",  "tag==x",     "tag=~x",    "tag=site=a|",
                                        "tag=site~", "tag=a=~b.*", "tag=a\\=b", "tag=!=x"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        refuse(VV_REQUEST_SOURCES, LIST(wrong[i]), "write tag=KEY=V1|V2");
    }
}

static void bounds_of_lists(void **state)
{
    (void)state;
    struct vv_parameter many[VV_MATCHERS_MAX + 1];
    struct vv_request *request;
    struct vv_error error = {0};
    for (size_t i = 0; i <= VV_MATCHERS_MAX; i++) {
        many[i] = (struct vv_parameter){VV_STR_LITERAL("tag"), VV_STR_LITERAL("a=b")};
    }
    assert_int_equal(
        vv_request_parse(VV_REQUEST_QUERY, many, VV_MATCHERS_MAX, now, &request, &error), VV_OK);
    vv_request_destroy(request);
    assert_int_equal(
        vv_request_parse(VV_REQUEST_QUERY, many, VV_MATCHERS_MAX + 1, now, &request, &error),
        VV_INVALID);
    assert_non_null(strstr(error.message, "too often"));
    char aggs[1024] = "agg=";
    for (int i = 0; i <= VV_AGGREGATES_MAX; i++) {
        snprintf(aggs + strlen(aggs), sizeof aggs - strlen(aggs), "%sp%d", i ? "," : "", i);
    }
    refuse(VV_REQUEST_QUERY, LIST(aggs), "at most 32");
}

static void aggregates_and_steps(void **state)
{
    (void)state;
    struct vv_request *request =
        accept(VV_REQUEST_QUERY, LIST("agg=mean,p99.9,median", "agg=p0,p100", "step=1w",
                                      "tz=Europe/Berlin", "fill=linear"));
    assert_int_equal(request->n_aggregates, 5);
    assert_true(request->aggregates[1].quantile == 99.9 / 100);
    assert_true(request->aggregates[2].quantile == 0.5);
    assert_true(request->aggregates[4].quantile == 1);
    assert_int_equal(request->needs, VV_NEED_SUM | VV_NEED_PERCENTILES);
    assert_true(request->step_ns == 7 * VV_DAY);
    assert_int_equal(request->fill, VV_FILL_LINEAR);
    assert_non_null(request->zone);
    vv_request_destroy(request);
    static const char *const wrong[] = {"agg=p101",
                                        "agg=p",
                                        "agg=p.5",
                                        "agg=p5.",
                                        "agg=p1.2.3",
                                        "agg=p-1",
                                        "agg=",
                                        "agg=Mean",
                                        "agg=avg",
                                        "agg=mean,",
                                        "agg=p99999999999999999999"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        refuse(VV_REQUEST_QUERY, LIST(wrong[i]), "agg");
    }
    refuse(VV_REQUEST_QUERY, LIST("agg=maen"), "did you mean 'mean'?");
    refuse(VV_REQUEST_QUERY, LIST("agg=mean,mean"), "agg names 'mean' twice");
    refuse(VV_REQUEST_QUERY, LIST("step=1h"), "step needs agg");
    refuse(VV_REQUEST_QUERY, LIST("agg=mean", "fill=null"), "fill needs step");
    refuse(VV_REQUEST_QUERY, LIST("agg=mean", "step=0"), "out of range");
    refuse(VV_REQUEST_QUERY, LIST("agg=mean", "step=1099d"), "out of range");
    refuse(VV_REQUEST_QUERY, LIST("agg=mean", "step=1month"), "not a duration");
    refuse(VV_REQUEST_QUERY, LIST("agg=mean", "fill=next"), "allowed: none, null");
    refuse(VV_REQUEST_QUERY, LIST("agg=mean", "tz=Mars/Base"), "time zone database");
}

static void tiers_and_points(void **state)
{
    (void)state;
    struct vv_request *request = accept(
        VV_REQUEST_QUERY, LIST("agg=mean", "from=-6h", "points=800", "tier=hour", "fill=null"));
    assert_int_equal(request->points, 800);
    assert_int_equal(request->tier, VV_TIER_HOUR);
    assert_true(request->step_ns == 0);
    vv_request_destroy(request);
    request = accept(VV_REQUEST_QUERY, LIST("agg=mean", "tier=auto", "fill=null"));
    assert_int_equal(request->tier, VV_TIER_AUTO);
    vv_request_destroy(request);
    request = accept(VV_REQUEST_QUERY, LIST("agg=mean"));
    assert_int_equal(request->tier, VV_TIER_UNSAID);
    vv_request_destroy(request);
    static const char *const wrong[] = {"points=0", "points=100001", "points=-1", "points=many"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        refuse(VV_REQUEST_QUERY, LIST("agg=mean", "from=-6h", wrong[i]), "from 1 to 100000");
    }
    refuse(VV_REQUEST_QUERY, LIST("from=-6h", "points=800"), "points needs agg");
    refuse(VV_REQUEST_QUERY, LIST("agg=mean", "points=800"), "points needs from");
    refuse(VV_REQUEST_QUERY, LIST("agg=mean", "from=-6h", "points=800", "step=1h"),
           "points chooses the step");
    refuse(VV_REQUEST_QUERY, LIST("agg=mean", "tier=raw", "fill=null"), "fill needs step");
    refuse(VV_REQUEST_QUERY, LIST("tier=week"), "allowed: auto, raw, minute, hour, day");
    refuse(VV_REQUEST_LATEST, LIST("tier=hour"), "parameter 'tier' is unknown");
}

static void groups(void **state)
{
    (void)state;
    struct vv_request *request = accept(VV_REQUEST_QUERY, LIST("agg=mean", "group_by=site,line"));
    assert_true(request->grouped);
    assert_int_equal(request->n_group_tags, 2);
    vv_request_destroy(request);
    request = accept(VV_REQUEST_QUERY, LIST("group_by=source,site"));
    assert_false(request->grouped);
    assert_int_equal(request->n_group_tags, 1);
    vv_request_destroy(request);
    request = accept(VV_REQUEST_QUERY, LIST("agg=mean", "group_by=\\source,a\\,b"));
    assert_true(request->grouped);
    assert_true(vv_str_equal(request->group_tags[0], vv_str_of("source")));
    assert_true(vv_str_equal(request->group_tags[1], vv_str_of("a,b")));
    vv_request_destroy(request);
    request = accept(VV_REQUEST_QUERY, LIST("agg=mean", "group_by="));
    assert_true(request->grouped);
    assert_int_equal(request->n_group_tags, 0);
    vv_request_destroy(request);
    refuse(VV_REQUEST_QUERY, LIST("group_by=site"), "group_by needs agg");
    refuse(VV_REQUEST_QUERY, LIST("group_by=all,site", "agg=mean"), "stands alone");
    refuse(VV_REQUEST_QUERY, LIST("group_by=site,site", "agg=mean"), "'site' twice");
    refuse(VV_REQUEST_QUERY, LIST("group_by=site,", "agg=mean"), "empty name");
}

static void lists_have_their_own(void **state)
{
    (void)state;
    struct vv_request *request =
        accept(VV_REQUEST_SOURCES, LIST("after=x", "history=true", "limit=10", "time_format=ms"));
    assert_true(request->history);
    assert_int_equal(request->time_format, VV_TIME_MS);
    vv_request_destroy(request);
    request = accept(VV_REQUEST_TAGS, LIST("key=site"));
    assert_true(vv_str_equal(request->key, vv_str_of("site")));
    vv_request_destroy(request);
    refuse(VV_REQUEST_SOURCES, LIST("history=yes"), "allowed: true, false");
    refuse(VV_REQUEST_METRICS, LIST("time_format=ms"), "unknown");
}

static void messages_are_harmless(void **state)
{
    (void)state;
    char word[2000];
    memset(word, 'x', sizeof word);
    memcpy(word, "order=\xc3\xbc\"", 9);
    word[sizeof word - 1] = '\0';
    refuse(VV_REQUEST_QUERY, LIST(word), "order 'ü\"xxx");
    memcpy(word, "\x01\xff", 2);
    refuse(VV_REQUEST_QUERY, LIST(word), "parameter '??der");
    refuse(VV_REQUEST_TAGS, LIST("key=a\xff"), "is not UTF-8");
    refuse(VV_REQUEST_QUERY, LIST("group_by=a\nb", "agg=mean"), "control character");
}

static void memory_that_runs_out(void **state)
{
    (void)state;
    const char *const *words =
        LIST("tenant=t", "source=a", "source=~b*", "tag=site=n|s", "tag=x~y", "metric=a,b,c",
             "agg=mean,p99", "group_by=site,line", "step=1d", "tz=Asia/Tokyo", "where=value>1");
    uint64_t k = 1;
    for (;; k++) {
        struct vv_request *request;
        struct vv_error error;
        vv_sim_memory_fail(k);
        enum vv_status status = parse(VV_REQUEST_QUERY, words, &request, &error);
        bool failed = vv_sim_memory_failed();
        vv_request_destroy(request);
        if (!failed) {
            assert_int_equal(status, VV_OK);
            break;
        }
        assert_int_equal(status, VV_NO_MEMORY);
        assert_null(request);
        assert_non_null(strstr(error.message, "memory"));
    }
    assert_true(k > 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_that_runs_out), /* first: zones are not in the cache yet */
        cmocka_unit_test(nothing_given_means_defaults),
        cmocka_unit_test(tenants),
        cmocka_unit_test(times),
        cmocka_unit_test(times_that_are_none),
        cmocka_unit_test(ranges),
        cmocka_unit_test(unknown_parameters_are_errors),
        cmocka_unit_test(sources_and_metrics),
        cmocka_unit_test(tags),
        cmocka_unit_test(bounds_of_lists),
        cmocka_unit_test(aggregates_and_steps),
        cmocka_unit_test(tiers_and_points),
        cmocka_unit_test(groups),
        cmocka_unit_test(lists_have_their_own),
        cmocka_unit_test(messages_are_harmless),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
