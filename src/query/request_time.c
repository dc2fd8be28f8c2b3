/* SPDX-License-Identifier: Apache-2.0 */
/* Times and steps of a request: RFC 3339, integers, and times relative to now. */
#include "query/request.h"
#include "query/words.h"

#define TIME_TEXT_MAX 48u

enum vv_status vv_request_epoch(struct vv_str text, int64_t *unit_ns_out, struct vv_error *error)
{
    static const char *const names[] = {"ns", "us", "ms", "s"};
    static const int64_t units[] = {1, VV_MICROSECOND, VV_MILLISECOND, VV_SECOND};
    size_t index = vv_words_find(names, 4, text);
    if (index == 4) {
        return vv_words_unknown(error, "epoch", text, names, 4);
    }
    *unit_ns_out = units[index];
    return VV_OK;
}

static int64_t clamp(__int128 time)
{
    if (time < VV_TIME_MIN) {
        return VV_TIME_MIN;
    }
    return time > VV_TIME_MAX ? VV_TIME_MAX + 1 : (int64_t)time;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* An optional sign and digits, nothing else. Of what is beyond 64 bits the sign is right. */
static bool take_integer(struct vv_str text, __int128 *value_out)
{
    const __int128 most = (__int128)INT64_MAX + 1;
    size_t at = text.size > 0 && (text.data[0] == '-' || text.data[0] == '+');
    if (text.size - at < 1) {
        return false;
    }
    __int128 value = 0;
    for (size_t i = at; i < text.size; i++) {
        if (!is_digit(text.data[i])) {
            return false;
        }
        value = value * 10 + (text.data[i] - '0');
        value = value > most ? most + 1 : value;
    }
    *value_out = text.data[0] == '-' ? -value : value;
    return true;
}

/* "now", "now-6h", "-6h", "+10m"; a blank stands for the plus that form decoding took. */
static bool take_relative(struct vv_str text, int64_t now_ns, int64_t *time_out)
{
    if (text.size >= 3 && memcmp(text.data, "now", 3) == 0) {
        text = (struct vv_str){text.data + 3, text.size - 3};
        if (text.size == 0) {
            *time_out = clamp(now_ns);
            return true;
        }
    }
    if (text.size < 2 || (text.data[0] != '-' && text.data[0] != '+' && text.data[0] != ' ')) {
        return false;
    }
    int64_t duration;
    struct vv_str rest = {text.data + 1, text.size - 1};
    if (vv_duration_parse(rest, &duration, NULL) != VV_OK) {
        return false;
    }
    *time_out = clamp((__int128)now_ns + (text.data[0] == '-' ? -duration : duration));
    return true;
}

/* An RFC 3339 time whose '+' before the zone's offset came through form decoding as a blank. */
static bool take_time_with_blank(struct vv_str text, int64_t *time_out)
{
    char copy[TIME_TEXT_MAX];
    if (text.size < 20 || text.size > sizeof copy || text.data[10] == ' ') {
        return false;
    }
    memcpy(copy, text.data, text.size);
    char *blank = memchr(copy + 11, ' ', text.size - 11);
    if (!blank) {
        return false;
    }
    *blank = '+';
    return vv_time_parse((struct vv_str){copy, text.size}, time_out, NULL) == VV_OK;
}

enum vv_status vv_request_time(struct vv_str text, int64_t now_ns, int64_t unit_ns,
                               int64_t *time_out, struct vv_error *error)
{
    char shown[VV_SHOWN_SIZE];
    __int128 integer;
    if (take_integer(text, &integer)) {
        if (integer < INT64_MIN || integer > INT64_MAX) {
            return vv_error_set(error, VV_INVALID,
                                "'%s' is out of range: an integer is between -2^63 and 2^63 - 1",
                                vv_shown(text, shown));
        }
        *time_out = clamp(integer * unit_ns);
        return VV_OK;
    }
    if (take_relative(text, now_ns, time_out)) {
        return VV_OK;
    }
    if (vv_time_parse(text, time_out, NULL) == VV_OK || take_time_with_blank(text, time_out)) {
        *time_out = clamp(*time_out);
        return VV_OK;
    }
    bool is_date = text.size >= 10 && text.data[4] == '-' && text.data[7] == '-';
    if (is_date && is_digit(text.data[0])) {
        return vv_time_parse(text, time_out, error); /* says what is wrong with it */
    }
    return vv_error_set(error, VV_INVALID,
                        "'%s' is not a time: write RFC 3339 (2013-12-02T21:15:00Z), an integer "
                        "(ns, or see epoch=), now, -6h or now-6h",
                        vv_shown(text, shown));
}

enum vv_status vv_request_step(struct vv_str text, int64_t *step_out, struct vv_error *error)
{
    char shown[VV_SHOWN_SIZE];
    if (vv_duration_parse(text, step_out, NULL) != VV_OK) {
        return vv_error_set(error, VV_INVALID,
                            "step '%s' is not a duration: write it as 30s, 5m, 1h, 1d or 1w",
                            vv_shown(text, shown));
    }
    if (*step_out < 1 || *step_out > VV_STEP_NS_MAX) {
        return vv_error_set(error, VV_INVALID, "step '%s' is out of range: 1ns to 1098d",
                            vv_shown(text, shown));
    }
    return VV_OK;
}
