/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The byte format of a sketch, version 2; where nothing of another alpha was absorbed, version 1.
 *
 * Words are little-endian; "varint" is base 128, low bits first, at most 64 bits; "zigzag" maps
 * 0, -1, 1, -2 to 0, 1, 2, 3.
 *
 *   sketch = version u8, flags u8
 *            [error of what was absorbed float64]         version 2; above 0
 *            [alpha float64]                              flag ALPHA: not the default
 *            [min number, [max number]]                   any finite value; max if it differs
 *            [varint count of zeros]                      flag ZERO
 *            [varint counts of +infinity and -infinity]   flag INFINITE
 *            [store of positive values]                   flag POSITIVE
 *            [store of negative values, by magnitude]     flag NEGATIVE
 *   number = decimals u8 (0..9), varint zigzag of value * 10^decimals, if that is exact
 *          | 255, float64
 *   store  = varint n_bins - 1, varint zigzag index of the lowest bin, and for each bin
 *            u8: bits 0-1 distance from the index before - 1 (0 for the lowest), where 3 means
 *                that varint distance - 4 follows; bits 2-7 count - 1, where 63 means that
 *                varint count - 64 follows, after the distance
 */
#include <assert.h>
#include <float.h>
#include <math.h>
#include <string.h>

#include "sketch_private.h"

#define VERSION             1u
#define VERSION_ABSORBED    2u
#define ABSORBED_MAX        1e6
#define FLAG_ALPHA          0x01u
#define FLAG_POSITIVE       0x02u
#define FLAG_NEGATIVE       0x04u
#define FLAG_ZERO           0x08u
#define FLAG_INFINITE       0x10u
#define FLAG_COLLAPSED      0x20u /* the positive store */
#define FLAG_COLLAPSED_BACK 0x40u /* the negative store */
#define FLAG_SINGLE         0x80u /* min and max are one */
#define FLAGS_FINITE        (FLAG_POSITIVE | FLAG_NEGATIVE | FLAG_ZERO)

#define DECIMALS_MAX    9u
#define NUMBER_AS_BITS  255u
#define DISTANCE_BITS   2u
#define DISTANCE_ESCAPE 3u
#define COUNT_ESCAPE    63u
#define VARINT_MAX      10u
#define BIN_BYTES_MAX   (1u + 5u + VARINT_MAX)

static_assert(((COUNT_ESCAPE << DISTANCE_BITS) | DISTANCE_ESCAPE) == 0xff, "a bin's first byte");
static_assert(sizeof(double) == 8 && DBL_MANT_DIG == 53, "double is IEEE 754 binary64");
static_assert(FLT_EVAL_METHOD == 0, "decimals need arithmetic without excess precision");

struct output {
    uint8_t *at;
    uint8_t *end;
    bool overflowed;
};

struct input {
    const uint8_t *at;
    const uint8_t *end;
    bool failed;
};

static const double powers_of_ten[DECIMALS_MAX + 1] = {1e0, 1e1, 1e2, 1e3, 1e4,
                                                       1e5, 1e6, 1e7, 1e8, 1e9};

static void put_byte(struct output *output, unsigned byte)
{
    if (output->at == output->end) {
        output->overflowed = true;
        return;
    }
    *output->at++ = (uint8_t)byte;
}

static void put_varint(struct output *output, uint64_t value)
{
    for (; value >= 0x80; value >>= 7) {
        put_byte(output, (unsigned)(value & 0x7f) | 0x80);
    }
    put_byte(output, (unsigned)value);
}

static void put_double(struct output *output, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    for (unsigned shift = 0; shift < 64; shift += 8) {
        put_byte(output, (unsigned)(bits >> shift) & 0xff);
    }
}

static uint64_t zigzag(int64_t value)
{
    return ((uint64_t)value << 1) ^ (value < 0 ? UINT64_MAX : 0);
}

static int64_t unzigzag(uint64_t value)
{
    uint64_t magnitude = value >> 1;
    return (value & 1) ? -(int64_t)magnitude - 1 : (int64_t)magnitude;
}

static void put_number(struct output *output, double value)
{
    for (unsigned decimals = 0; decimals <= DECIMALS_MAX; decimals++) {
        double scaled = nearbyint(value * powers_of_ten[decimals]);
        if (!(fabs(scaled) < 0x1p48)) {
            break; /* eight bytes are shorter */
        }
        if (scaled / powers_of_ten[decimals] == value) {
            put_byte(output, decimals);
            put_varint(output, zigzag((int64_t)scaled));
            return;
        }
    }
    put_byte(output, NUMBER_AS_BITS);
    put_double(output, value);
}

static void put_store(struct output *output, const struct vv_sketch_store *store)
{
    put_varint(output, store->n_bins - 1);
    put_varint(output, zigzag(store->indexes[0]));
    for (uint32_t i = 0; i < store->n_bins; i++) {
        int64_t before = i == 0 ? (int64_t)store->indexes[0] - 1 : store->indexes[i - 1];
        uint64_t distance = (uint64_t)(store->indexes[i] - before) - 1;
        uint64_t count = store->counts[i] - 1;
        unsigned distance_code = distance < DISTANCE_ESCAPE ? (unsigned)distance : DISTANCE_ESCAPE;
        unsigned count_code = count < COUNT_ESCAPE ? (unsigned)count : COUNT_ESCAPE;
        put_byte(output, distance_code | (count_code << DISTANCE_BITS));
        if (distance_code == DISTANCE_ESCAPE) {
            put_varint(output, distance - DISTANCE_ESCAPE);
        }
        if (count_code == COUNT_ESCAPE) {
            put_varint(output, count - COUNT_ESCAPE);
        }
    }
}

static unsigned flags_of(const struct vv_sketch *sketch)
{
    unsigned flags = 0;
    flags |= sketch->alpha != VV_SKETCH_ALPHA_DEFAULT ? FLAG_ALPHA : 0;
    flags |= sketch->positive.n_bins > 0 ? FLAG_POSITIVE : 0;
    flags |= sketch->negative.n_bins > 0 ? FLAG_NEGATIVE : 0;
    flags |= sketch->n_zero > 0 ? FLAG_ZERO : 0;
    flags |= sketch->n_infinite_positive > 0 || sketch->n_infinite_negative > 0 ? FLAG_INFINITE : 0;
    flags |= sketch->positive.collapsed ? FLAG_COLLAPSED : 0;
    flags |= sketch->negative.collapsed ? FLAG_COLLAPSED_BACK : 0;
    flags |= sketch->min == sketch->max ? FLAG_SINGLE : 0;
    return flags;
}

size_t vv_sketch_encoded_bound(const struct vv_sketch *sketch)
{
    size_t n_bins = (size_t)sketch->positive.n_bins + sketch->negative.n_bins;
    size_t fixed = 2 + 8 + 8 + 2 * (1 + VARINT_MAX) + 3 * VARINT_MAX + 2 * 2 * VARINT_MAX;
    return fixed + n_bins * BIN_BYTES_MAX;
}

size_t vv_sketch_encode(const struct vv_sketch *sketch, uint8_t *out, size_t capacity)
{
    struct output output = {out, out + capacity, false};
    unsigned flags = flags_of(sketch);
    put_byte(&output, sketch->absorbed > 0 ? VERSION_ABSORBED : VERSION);
    put_byte(&output, flags);
    if (sketch->absorbed > 0) {
        put_double(&output, sketch->absorbed);
    }
    if (flags & FLAG_ALPHA) {
        put_double(&output, sketch->alpha);
    }
    if (flags & FLAGS_FINITE) {
        put_number(&output, sketch->min);
    }
    if ((flags & FLAGS_FINITE) && !(flags & FLAG_SINGLE)) {
        put_number(&output, sketch->max);
    }
    if (flags & FLAG_ZERO) {
        put_varint(&output, sketch->n_zero);
    }
    if (flags & FLAG_INFINITE) {
        put_varint(&output, sketch->n_infinite_positive);
        put_varint(&output, sketch->n_infinite_negative);
    }
    if (flags & FLAG_POSITIVE) {
        put_store(&output, &sketch->positive);
    }
    if (flags & FLAG_NEGATIVE) {
        put_store(&output, &sketch->negative);
    }
    return output.overflowed ? 0 : (size_t)(output.at - out);
}

static unsigned take_byte(struct input *input)
{
    if (input->failed || input->at == input->end) {
        input->failed = true;
        return 0;
    }
    return *input->at++;
}

static uint64_t take_varint(struct input *input)
{
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64 && !input->failed; shift += 7) {
        uint64_t byte = take_byte(input);
        if (shift == 63 && byte > 1) {
            break;
        }
        value |= (byte & 0x7f) << shift;
        if (byte < 0x80) {
            return input->failed ? 0 : value;
        }
    }
    input->failed = true;
    return 0;
}

static double take_double(struct input *input)
{
    uint64_t bits = 0;
    double value;
    for (unsigned shift = 0; shift < 64; shift += 8) {
        bits |= (uint64_t)take_byte(input) << shift;
    }
    memcpy(&value, &bits, sizeof value);
    return value;
}

static double take_number(struct input *input)
{
    unsigned decimals = take_byte(input);
    if (decimals <= DECIMALS_MAX) {
        return (double)unzigzag(take_varint(input)) / powers_of_ten[decimals];
    }
    input->failed = input->failed || decimals != NUMBER_AS_BITS;
    return take_double(input);
}

/* No value has an index beyond these: the logarithms of all doubles are between -746 and 710. */
static bool is_index(const struct vv_sketch *sketch, int64_t index)
{
    double logarithm = (double)index * sketch->log_gamma;
    return logarithm > -746.0 && logarithm < 711.0;
}

/* A code, or if it is the escape, the escape and what follows it. */
static uint64_t take_escaped(struct input *input, uint64_t code, uint64_t escape)
{
    uint64_t more = code == escape ? take_varint(input) : 0;
    input->failed = input->failed || more > UINT64_MAX - code;
    return input->failed ? code : code + more;
}

/* One bin; its index is above index_before. */
static void take_bin(struct input *input, const struct vv_sketch *sketch, int64_t index_before,
                     struct vv_sketch_store *store)
{
    unsigned codes = take_byte(input);
    uint64_t distance = codes & DISTANCE_ESCAPE;
    uint64_t count = codes >> DISTANCE_BITS;
    distance = take_escaped(input, distance, DISTANCE_ESCAPE);
    count = take_escaped(input, count, COUNT_ESCAPE);
    bool fits = distance < UINT32_MAX && count < UINT64_MAX - store->total;
    int64_t index = fits ? index_before + 1 + (int64_t)distance : 0;
    if (!fits || input->failed || !is_index(sketch, index)) {
        input->failed = true;
        return;
    }
    store->indexes[store->n_bins] = (int32_t)index;
    store->counts[store->n_bins] = count + 1;
    store->total += count + 1;
    store->n_bins++;
}

/* Bins of one byte, as most are, up to one that is not, or n_bins in all; returns the index of the
 * last one, which is to be checked: those before it are below. */
static int64_t take_short_bins(struct input *input, int64_t index, uint32_t n_bins,
                               struct vv_sketch_store *store)
{
    const uint8_t *at = input->at;
    uint32_t n = store->n_bins;
    uint64_t total = 0;
    for (; n < n_bins && at < input->end; at++, n++) {
        unsigned distance = *at & DISTANCE_ESCAPE;
        unsigned count = *at >> DISTANCE_BITS;
        if (distance == DISTANCE_ESCAPE || count == COUNT_ESCAPE) {
            break;
        }
        index += 1 + distance;
        store->indexes[n] = (int32_t)index;
        store->counts[n] = count + 1;
        total += count + 1;
    }
    input->failed = total > UINT64_MAX - store->total;
    input->at = at;
    store->n_bins = n;
    store->total += total;
    return index;
}

static enum vv_sketch_status take_store(struct input *input, const struct vv_sketch *sketch,
                                        bool collapsed, struct vv_sketch_store *store)
{
    uint64_t n_bins = take_varint(input) + 1;
    int64_t index = unzigzag(take_varint(input));
    /* Each bin has a byte at least, so that no claim makes a large allocation. */
    if (input->failed || n_bins > VV_SKETCH_BINS_MAX || n_bins == 0 ||
        n_bins > (uint64_t)(input->end - input->at) || !is_index(sketch, index) ||
        (collapsed && n_bins != VV_SKETCH_BINS_MAX)) {
        return VV_SKETCH_CORRUPT;
    }
    if (!vv_sketch_store_reserve(store, (uint32_t)n_bins)) {
        return VV_SKETCH_NO_MEMORY;
    }
    index--;
    while (store->n_bins < n_bins && !input->failed) {
        index = take_short_bins(input, index, (uint32_t)n_bins, store);
        if (store->n_bins < n_bins) {
            take_bin(input, sketch, index, store);
            index = input->failed ? 0 : store->indexes[store->n_bins - 1];
        }
    }
    store->collapsed = collapsed;
    return input->failed || !is_index(sketch, index) ? VV_SKETCH_CORRUPT : VV_SKETCH_OK;
}

static bool is_number(double value)
{
    return isfinite(value) && !(value == 0.0 && signbit(value));
}

static bool take_absorbed(struct input *input, unsigned version, struct vv_sketch *sketch)
{
    sketch->absorbed = version == VERSION_ABSORBED ? take_double(input) : 0;
    return version == VERSION || (sketch->absorbed > 0 && sketch->absorbed <= ABSORBED_MAX);
}

/* What stands before the stores; false when the bytes are not those of a sketch. */
static bool take_values(struct input *input, unsigned flags, struct vv_sketch *sketch)
{
    if ((flags & FLAG_ALPHA) && !vv_sketch_set_alpha(sketch, take_double(input))) {
        return false;
    }
    if (flags & FLAGS_FINITE) {
        sketch->min = take_number(input);
        sketch->max = (flags & FLAG_SINGLE) ? sketch->min : take_number(input);
        if (!is_number(sketch->min) || !is_number(sketch->max) || sketch->min > sketch->max) {
            return false;
        }
    }
    sketch->n_zero = (flags & FLAG_ZERO) ? take_varint(input) : 0;
    if (flags & FLAG_INFINITE) {
        sketch->n_infinite_positive = take_varint(input);
        sketch->n_infinite_negative = take_varint(input);
    }
    return !input->failed;
}

static enum vv_sketch_status take_stores(struct input *input, unsigned flags,
                                         struct vv_sketch *sketch)
{
    enum vv_sketch_status status = VV_SKETCH_OK;
    if (flags & FLAG_POSITIVE) {
        status = take_store(input, sketch, (flags & FLAG_COLLAPSED) != 0, &sketch->positive);
    }
    if (status == VV_SKETCH_OK && (flags & FLAG_NEGATIVE)) {
        status = take_store(input, sketch, (flags & FLAG_COLLAPSED_BACK) != 0, &sketch->negative);
    }
    return status;
}

/* The total must not overflow, and the flags must be those that encoding would write. */
static bool is_sound(const struct vv_sketch *sketch, unsigned flags)
{
    const uint64_t counts[] = {sketch->positive.total, sketch->negative.total, sketch->n_zero,
                               sketch->n_infinite_positive, sketch->n_infinite_negative};
    uint64_t total = 0;
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        if (counts[i] > UINT64_MAX - total) {
            return false;
        }
        total += counts[i];
    }
    return flags_of(sketch) == flags;
}

enum vv_sketch_status vv_sketch_decode_again(const uint8_t *bytes, size_t size,
                                             struct vv_sketch *sketch)
{
    struct input input = {bytes, bytes + size, false};
    enum vv_sketch_status status = VV_SKETCH_CORRUPT;
    vv_sketch_clear(sketch);
    (void)vv_sketch_set_alpha(sketch, 0.0);
    unsigned version = take_byte(&input);
    if (version > VERSION_ABSORBED) {
        return VV_SKETCH_NEWER;
    }
    unsigned flags = take_byte(&input);
    if (version >= VERSION && take_absorbed(&input, version, sketch) &&
        take_values(&input, flags, sketch)) {
        status = take_stores(&input, flags, sketch);
    }
    if (status == VV_SKETCH_OK && (input.at != input.end || !is_sound(sketch, flags))) {
        status = VV_SKETCH_CORRUPT;
    }
    if (status != VV_SKETCH_OK) {
        vv_sketch_clear(sketch);
        (void)vv_sketch_set_alpha(sketch, 0.0);
    }
    return status;
}

enum vv_sketch_status vv_sketch_decode(const uint8_t *bytes, size_t size,
                                       struct vv_sketch *sketch_out)
{
    (void)vv_sketch_init(sketch_out, 0.0);
    enum vv_sketch_status status = vv_sketch_decode_again(bytes, size, sketch_out);
    if (status != VV_SKETCH_OK) {
        vv_sketch_deinit(sketch_out);
    }
    return status;
}
