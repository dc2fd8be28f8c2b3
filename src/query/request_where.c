/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `where`: comparisons turned into closed intervals, one for doubles and one for integers, so that
 * a comparison with any number is exact for both and costs two comparisons a point.
 */
#include "query/request.h"
#include "query/words.h"

#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>

#define NUMBER_SIZE_MAX 40u

enum operator{ GREATER, GREATER_EQUAL, LESS, LESS_EQUAL, EQUAL, NOT_EQUAL };

struct number {
    bool is_integer;
    int64_t integer;
    double real;
};

void vv_where_init(struct vv_where *where)
{
    *where = (struct vv_where){
        .nan_passes = true,
        .low = -INFINITY,
        .high = INFINITY,
        .integer_low = INT64_MIN,
        .integer_high = INT64_MAX,
    };
}

static bool take_text(struct vv_str *text, const char *word)
{
    size_t size = strlen(word);
    if (text->size < size || memcmp(text->data, word, size) != 0) {
        return false;
    }
    *text = (struct vv_str){text->data + size, text->size - size};
    return true;
}

static void trim(struct vv_str *text)
{
    while (text->size > 0 && text->data[0] == ' ') {
        *text = (struct vv_str){text->data + 1, text->size - 1};
    }
    while (text->size > 0 && text->data[text->size - 1] == ' ') {
        text->size--;
    }
}

static bool take_operator(struct vv_str *text, enum operator* operator_out)
{
    static const struct {
        const char *text;
        enum operator operator;
    } operators[] = {{">=", GREATER_EQUAL}, {">", GREATER}, {"<=", LESS_EQUAL}, {"<", LESS},
                     {"==", EQUAL},         {"=", EQUAL},   {"!=", NOT_EQUAL}};
    for (size_t i = 0; i < sizeof operators / sizeof operators[0]; i++) {
        if (take_text(text, operators[i].text)) {
            *operator_out = operators[i].operator;
            return true;
        }
    }
    return false;
}

/* Digits with sign, fraction and exponent; "Infinity" or "inf" with a sign. No hex, no NaN. */
static bool parse_number(struct vv_str text, struct number *number_out)
{
    char copy[NUMBER_SIZE_MAX + 1];
    if (text.size == 0 || text.size > NUMBER_SIZE_MAX) {
        return false;
    }
    memcpy(copy, text.data, text.size);
    copy[text.size] = '\0';
    const char *unsigned_text = copy + (copy[0] == '-' || copy[0] == '+');
    bool infinite = strcmp(unsigned_text, "inf") == 0 || strcmp(unsigned_text, "Infinity") == 0;
    if (!infinite && strspn(unsigned_text, "0123456789.eE+-") != strlen(unsigned_text)) {
        return false;
    }
    char *end;
    errno = 0;
    long long integer = strtoll(copy, &end, 10);
    number_out->is_integer = *end == '\0' && errno == 0;
    number_out->integer = integer;
    number_out->real = strtod(copy, &end);
    return *end == '\0' && end != copy;
}

/* ---- doubles ---- */

/* The doubles nearest to a number from below and from above; both are the number where a double
 * can hold it. */
static void bracket(const struct number *number, double *below_out, double *above_out)
{
    double near = number->real;
    *below_out = near;
    *above_out = near;
    if (!number->is_integer) {
        return; /* what was written is the double that it rounds to */
    }
    __int128 difference = (__int128)near - number->integer;
    if (difference > 0) {
        *below_out = nextafter(near, -INFINITY);
    } else if (difference < 0) {
        *above_out = nextafter(near, INFINITY);
    }
}

static void raise_low(struct vv_where *where, double low)
{
    where->low = low > where->low ? low : where->low;
}

static void lower_high(struct vv_where *where, double high)
{
    where->high = high < where->high ? high : where->high;
}

/* No double is in the interval from now on. */
static void empty_doubles(struct vv_where *where)
{
    where->low = INFINITY;
    where->high = -INFINITY;
}

static void limit_doubles(struct vv_where *where, enum operator operator,
                          const struct number * number)
{
    double below;
    double above;
    bracket(number, &below, &above);
    bool exact = below == above;
    switch (operator) {
    case GREATER:
        if (exact && above == INFINITY) {
            empty_doubles(where);
        } else {
            raise_low(where, exact ? nextafter(above, INFINITY) : above);
        }
        break;
    case GREATER_EQUAL:
        raise_low(where, above);
        break;
    case LESS:
        if (exact && below == -INFINITY) {
            empty_doubles(where);
        } else {
            lower_high(where, exact ? nextafter(below, -INFINITY) : below);
        }
        break;
    case LESS_EQUAL:
        lower_high(where, below);
        break;
    case EQUAL:
        if (exact) {
            raise_low(where, above);
            lower_high(where, below);
        } else {
            empty_doubles(where);
        }
        break;
    case NOT_EQUAL:
        if (exact) {
            where->excluded[where->n_excluded++] = above;
        }
        break;
    }
}

/* ---- integers ---- */

/* The integers nearest to a number from below and from above, in 128 bits. */
static void bracket_integers(const struct number *number, __int128 *below_out, __int128 *above_out)
{
    if (number->is_integer) {
        *below_out = number->integer;
        *above_out = number->integer;
        return;
    }
    double limit = 0x1.0p100; /* far beyond every int64 */
    double real = number->real < -limit ? -limit : number->real > limit ? limit : number->real;
    *below_out = (__int128)floor(real);
    *above_out = (__int128)ceil(real);
}

static void raise_integer_low(struct vv_where *where, __int128 low)
{
    if (low > INT64_MAX) {
        where->integer_low = INT64_MAX; /* nothing passes */
        where->integer_high = INT64_MIN;
    } else if (low > where->integer_low) {
        where->integer_low = (int64_t)low;
    }
}

static void lower_integer_high(struct vv_where *where, __int128 high)
{
    if (high < INT64_MIN) {
        where->integer_low = INT64_MAX;
        where->integer_high = INT64_MIN;
    } else if (high < where->integer_high) {
        where->integer_high = (int64_t)high;
    }
}

static void limit_integers(struct vv_where *where, enum operator operator,
                           const struct number * number)
{
    __int128 below;
    __int128 above;
    bracket_integers(number, &below, &above);
    bool exact = below == above;
    switch (operator) {
    case GREATER:
        raise_integer_low(where, exact ? above + 1 : above);
        break;
    case GREATER_EQUAL:
        raise_integer_low(where, above);
        break;
    case LESS:
        lower_integer_high(where, exact ? below - 1 : below);
        break;
    case LESS_EQUAL:
        lower_integer_high(where, below);
        break;
    case EQUAL:
        raise_integer_low(where, exact ? above : (__int128)INT64_MAX + 1);
        lower_integer_high(where, below);
        break;
    case NOT_EQUAL:
        if (exact && above >= INT64_MIN && above <= INT64_MAX) {
            where->excluded_integers[where->n_excluded_integers++] = (int64_t)above;
        }
        break;
    }
}

/* value>80 */
static bool parse_condition(struct vv_str rest, enum operator* operator_out,
                            struct number *number_out)
{
    trim(&rest);
    if (!take_text(&rest, "value")) {
        return false;
    }
    trim(&rest);
    if (!take_operator(&rest, operator_out)) {
        return false;
    }
    trim(&rest);
    return parse_number(rest, number_out);
}

enum vv_status vv_where_parse(struct vv_where *where, struct vv_str text, struct vv_error *error)
{
    enum operator operator;
    struct number number;
    if (!parse_condition(text, &operator, & number)) {
        char shown[VV_SHOWN_SIZE];
        return vv_error_set(error, VV_INVALID,
                            "where '%s' is not a condition: write value>80, with one of > >= < <= "
                            "= != and a number",
                            vv_shown(text, shown));
    }
    if (where->n_excluded == VV_WHERE_MAX || where->n_excluded_integers == VV_WHERE_MAX) {
        return vv_error_set(error, VV_INVALID,
                            "where is given too often: at most %d times with !=", VV_WHERE_MAX);
    }
    where->active = true;
    where->nan_passes = where->nan_passes && operator== NOT_EQUAL;
    limit_doubles(where, operator, & number);
    limit_integers(where, operator, & number);
    return VV_OK;
}
