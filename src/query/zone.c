/* SPDX-License-Identifier: Apache-2.0 */
/* Reading TZif files, offsets, the starts of local days, and the cache of zones. */
#include "query/zone.h"

#include "query/words.h"
#include "query/zone_rule.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define ZONE_FOLDER         "/usr/share/zoneinfo/"
#define ZONE_NAME_SIZE_MAX  64u
#define ZONE_FILE_BYTES_MAX ((size_t)256 << 10)
#define ZONE_CACHE_MAX      2048u /* the database has some 600 names */
#define OFFSET_MAX          (26 * 3600)
#define DAY_S               INT64_C(86400)
#define TYPE_SIZE           6u
#define HEADER_RESERVED     15u

struct vv_zone {
    size_t n;         /* changes */
    int64_t *times;   /* n, ascending: instants of the changes */
    int32_t *offsets; /* n + 1: before the first change, after each */
    bool has_rule;
    struct vv_zone_rule rule; /* after the last change */
};

/* ---- TZif ---- */

struct header {
    uint8_t version;
    uint32_t n_utc, n_standard, n_leap, n_times, n_types, n_chars;
};

static bool read_header(struct vv_reader *reader, struct header *header)
{
    const uint8_t *magic = vv_reader_bytes(reader, 4);
    if (!magic || memcmp(magic, "TZif", 4) != 0) {
        return false;
    }
    header->version = vv_reader_u8(reader);
    (void)vv_reader_bytes(reader, HEADER_RESERVED);
    header->n_utc = vv_reader_be32(reader);
    header->n_standard = vv_reader_be32(reader);
    header->n_leap = vv_reader_be32(reader);
    header->n_times = vv_reader_be32(reader);
    header->n_types = vv_reader_be32(reader);
    header->n_chars = vv_reader_be32(reader);
    return !reader->failed && header->n_types > 0;
}

/* The bytes of what follows a header whose times have time_size bytes. */
static uint64_t body_size(const struct header *header, uint64_t time_size)
{
    return header->n_times * (time_size + 1) + header->n_types * (uint64_t)TYPE_SIZE +
           header->n_chars + header->n_leap * (time_size + 4) + header->n_standard + header->n_utc;
}

static bool read_offset(const uint8_t *types, uint32_t n_types, uint8_t type, int32_t *offset_out)
{
    if (type >= n_types) {
        return false;
    }
    struct vv_reader reader = vv_reader_of(types + (size_t)type * TYPE_SIZE, TYPE_SIZE);
    *offset_out = (int32_t)vv_reader_be32(&reader);
    return *offset_out >= -OFFSET_MAX && *offset_out <= OFFSET_MAX;
}

static bool read_changes(struct vv_zone *zone, const struct header *header, const uint8_t *times,
                         bool wide, const uint8_t *indexes, const uint8_t *types)
{
    size_t size = (size_t)header->n_times * (wide ? 8 : 4);
    struct vv_reader reader = vv_reader_of(times, size);
    if (!read_offset(types, header->n_types, 0, &zone->offsets[0])) {
        return false;
    }
    for (size_t i = 0; i < header->n_times; i++) {
        zone->times[i] = wide ? (int64_t)vv_reader_be64(&reader) : (int32_t)vv_reader_be32(&reader);
        if ((i > 0 && zone->times[i] <= zone->times[i - 1]) ||
            !read_offset(types, header->n_types, indexes[i], &zone->offsets[i + 1])) {
            return false;
        }
    }
    zone->n = header->n_times;
    return true;
}

/* The text between the newlines at the end; an empty one says nothing. */
static bool read_rule(struct vv_zone *zone, struct vv_reader *reader)
{
    struct vv_str text = {(const char *)reader->data + reader->at, vv_reader_left(reader)};
    if (text.size < 2 || text.data[0] != '\n' || text.data[text.size - 1] != '\n') {
        return false;
    }
    text = (struct vv_str){text.data + 1, text.size - 2};
    zone->has_rule = text.size > 0;
    return !zone->has_rule || vv_zone_rule_parse(text, &zone->rule);
}

static enum vv_status parse_body(struct vv_zone *zone, const struct header *header,
                                 struct vv_reader *reader, bool wide)
{
    if (header->n_leap > 0 || body_size(header, wide ? 8 : 4) > vv_reader_left(reader)) {
        return VV_CORRUPT; /* zones that count leap seconds are not UTC's */
    }
    zone->times = malloc((header->n_times + (size_t)1) * sizeof *zone->times);
    zone->offsets = malloc((header->n_times + (size_t)1) * sizeof *zone->offsets);
    if (!zone->times || !zone->offsets) {
        return VV_NO_MEMORY;
    }
    const uint8_t *times = vv_reader_bytes(reader, (size_t)header->n_times * (wide ? 8 : 4));
    const uint8_t *indexes = vv_reader_bytes(reader, header->n_times);
    const uint8_t *types = vv_reader_bytes(reader, (size_t)header->n_types * TYPE_SIZE);
    (void)vv_reader_bytes(reader, (size_t)header->n_chars + header->n_standard + header->n_utc);
    if (!times || !indexes || !types || reader->failed) {
        return VV_CORRUPT;
    }
    return read_changes(zone, header, times, wide, indexes, types) ? VV_OK : VV_CORRUPT;
}

static enum vv_status parse_file(struct vv_zone *zone, struct vv_str bytes)
{
    struct vv_reader reader = vv_reader_of(bytes.data, bytes.size);
    struct header header;
    if (!read_header(&reader, &header)) {
        return VV_CORRUPT;
    }
    if (header.version < '2') {
        return parse_body(zone, &header, &reader, false);
    }
    uint64_t skipped = body_size(&header, 4);
    if (skipped > vv_reader_left(&reader) || !vv_reader_bytes(&reader, (size_t)skipped) ||
        !read_header(&reader, &header)) {
        return VV_CORRUPT;
    }
    enum vv_status status = parse_body(zone, &header, &reader, true);
    if (status != VV_OK) {
        return status;
    }
    return read_rule(zone, &reader) ? VV_OK : VV_CORRUPT;
}

enum vv_status vv_zone_parse(struct vv_str bytes, struct vv_zone **zone_out, struct vv_error *error)
{
    *zone_out = NULL;
    struct vv_zone *zone = calloc(1, sizeof *zone);
    enum vv_status status = zone ? parse_file(zone, bytes) : VV_NO_MEMORY;
    if (status == VV_OK) {
        *zone_out = zone;
        return VV_OK;
    }
    vv_zone_destroy(zone);
    return vv_error_set(error, status,
                        status == VV_CORRUPT ? "not a usable TZif file" : "out of memory");
}

void vv_zone_destroy(struct vv_zone *zone)
{
    if (zone) {
        free(zone->times);
        free(zone->offsets);
        free(zone);
    }
}

/* ---- offsets ---- */

int32_t vv_zone_offset(const struct vv_zone *zone, int64_t instant, int64_t *until_out)
{
    int64_t ignored;
    int64_t *until = until_out ? until_out : &ignored;
    if (zone->has_rule && (zone->n == 0 || instant >= zone->times[zone->n - 1])) {
        return vv_zone_rule_offset(&zone->rule, instant, until);
    }
    size_t low = 0; /* changes at or before the instant: between low and high */
    size_t high = zone->n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (zone->times[middle] <= instant) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    *until = low < zone->n ? zone->times[low] : INT64_MAX;
    return zone->offsets[low];
}

int64_t vv_zone_day_start(const struct vv_zone *zone, int64_t day)
{
    int64_t midnight = day * DAY_S; /* as the local clock shows it */
    int64_t instant = midnight - OFFSET_MAX - 1;
    for (;;) {
        int64_t until;
        int32_t offset = vv_zone_offset(zone, instant, &until);
        int64_t candidate = midnight - offset > instant ? midnight - offset : instant;
        if (candidate < until) {
            return candidate;
        }
        instant = until;
    }
}

/* ---- the cache ---- */

struct entry {
    char name[ZONE_NAME_SIZE_MAX];
    struct vv_zone *zone;
};

static pthread_mutex_t cache_lock = PTHREAD_MUTEX_INITIALIZER;
static struct entry *cache;
static size_t cache_size;
static size_t cache_capacity;

/* Parts of letters, digits, '_', '+' and '-', joined by single slashes: nothing that could leave
 * the folder or name one file in two ways. */
static bool is_name(struct vv_str name)
{
    bool part_empty = true;
    for (size_t i = 0; i < name.size; i++) {
        char c = name.data[i];
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                      c == '_' || c == '+' || c == '-';
        if (!letter && (c != '/' || part_empty)) {
            return false;
        }
        part_empty = c == '/';
    }
    return !part_empty && name.size < ZONE_NAME_SIZE_MAX;
}

static enum vv_status unknown_zone(struct vv_str name, struct vv_error *error)
{
    char shown[VV_SHOWN_SIZE];
    return vv_error_set(error, VV_INVALID,
                        "tz '%s' is not in the time zone database of this machine (package "
                        "tzdata); write it as Europe/Berlin, America/New_York or UTC",
                        vv_shown(name, shown));
}

static enum vv_status load_file(FILE *file, struct vv_zone **zone_out, struct vv_error *error)
{
    uint8_t *bytes = malloc(ZONE_FILE_BYTES_MAX);
    if (!bytes) {
        return vv_error_set(error, VV_NO_MEMORY, "out of memory");
    }
    size_t size = fread(bytes, 1, ZONE_FILE_BYTES_MAX, file);
    enum vv_status status = vv_zone_parse((struct vv_str){(char *)bytes, size}, zone_out, error);
    free(bytes);
    return status;
}

static enum vv_status load(const char *name, struct vv_zone **zone_out, struct vv_error *error)
{
    char path[sizeof ZONE_FOLDER + ZONE_NAME_SIZE_MAX];
    snprintf(path, sizeof path, "%s%s", ZONE_FOLDER, name);
    FILE *file = fopen(path, "rbe");
    if (!file) {
        return unknown_zone(vv_str_of(name), error);
    }
    enum vv_status status = load_file(file, zone_out, error);
    fclose(file);
    return status == VV_CORRUPT ? unknown_zone(vv_str_of(name), error) : status;
}

static const struct vv_zone *find_cached(const char *name)
{
    for (size_t i = 0; i < cache_size; i++) {
        if (strcmp(cache[i].name, name) == 0) {
            return cache[i].zone;
        }
    }
    return NULL;
}

/* Keeps a zone for good; under the lock. */
static bool keep(const char *name, struct vv_zone *zone)
{
    if (cache_size == cache_capacity) {
        size_t capacity = cache_capacity ? cache_capacity * 2 : 16;
        struct entry *entries =
            capacity <= ZONE_CACHE_MAX ? realloc(cache, capacity * sizeof *entries) : NULL;
        if (!entries) {
            return false;
        }
        cache = entries;
        cache_capacity = capacity;
    }
    struct entry *entry = &cache[cache_size++];
    snprintf(entry->name, sizeof entry->name, "%s", name);
    entry->zone = zone;
    return true;
}

static enum vv_status find_or_load(const char *name, const struct vv_zone **zone_out,
                                   struct vv_error *error)
{
    *zone_out = find_cached(name);
    if (*zone_out) {
        return VV_OK;
    }
    struct vv_zone *zone;
    enum vv_status status = load(name, &zone, error);
    if (status != VV_OK) {
        return status;
    }
    if (!keep(name, zone)) {
        vv_zone_destroy(zone);
        return vv_error_set(error, VV_NO_MEMORY, "out of memory for time zones");
    }
    *zone_out = zone;
    return VV_OK;
}

enum vv_status vv_zone_find(struct vv_str name, const struct vv_zone **zone_out,
                            struct vv_error *error)
{
    *zone_out = NULL;
    if (vv_str_equal(name, VV_STR_LITERAL("UTC")) ||
        vv_str_equal(name, VV_STR_LITERAL("Etc/UTC"))) {
        return VV_OK;
    }
    if (!is_name(name)) {
        return unknown_zone(name, error);
    }
    char text[ZONE_NAME_SIZE_MAX];
    memcpy(text, name.data, name.size);
    text[name.size] = '\0';
    vv_invariant(pthread_mutex_lock(&cache_lock) == 0);
    enum vv_status status = find_or_load(text, zone_out, error);
    vv_invariant(pthread_mutex_unlock(&cache_lock) == 0);
    return status;
}
