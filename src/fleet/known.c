/* SPDX-License-Identifier: Apache-2.0 */
/* What others know: hashes, bits and counts by number. */
#include "fleet/fleet_private.h"

#include <stdlib.h>
#include <xxhash.h>

#define CAPACITY_MIN 64

void vv_known_deinit(struct vv_known *known)
{
    free(known->tenants.items);
    free(known->measurements.items);
    free(known->metrics.items);
    free(known->sources.items);
    free(known->asked.items);
    *known = (struct vv_known){0};
}

void *vv_known_item(struct vv_known_list *list, uint32_t number, size_t size)
{
    if (number >= list->capacity) {
        size_t capacity = list->capacity ? list->capacity : CAPACITY_MIN;
        while (capacity <= number) {
            capacity += capacity / 2;
        }
        uint8_t *bigger = realloc(list->items, capacity * size);
        if (!bigger) {
            return NULL;
        }
        memset(bigger + list->capacity * size, 0, (capacity - list->capacity) * size);
        list->items = bigger;
        list->capacity = capacity;
    }
    return (uint8_t *)list->items + number * size;
}

uint64_t *vv_known_tenant(struct vv_known *known, uint32_t number)
{
    return vv_known_item(&known->tenants, number, sizeof(uint64_t));
}

bool *vv_known_measurement(struct vv_known *known, uint32_t number)
{
    return vv_known_item(&known->measurements, number, sizeof(bool));
}

struct vv_known_metric *vv_known_metric(struct vv_known *known, uint32_t number)
{
    return vv_known_item(&known->metrics, number, sizeof(struct vv_known_metric));
}

struct vv_known_source *vv_known_source(struct vv_known *known, uint32_t number)
{
    return vv_known_item(&known->sources, number, sizeof(struct vv_known_source));
}

uint32_t *vv_known_asked(struct vv_known *known, uint32_t number)
{
    return vv_known_item(&known->asked, number, sizeof(uint32_t));
}

uint64_t vv_known_hash(struct vv_str text, uint64_t seed)
{
    uint64_t hash = XXH3_64bits_withSeed(text.data, text.size, seed);
    return hash ? hash : 1;
}

struct vv_terms vv_terms_of(struct vv_registry *registry, uint32_t tenant)
{
    struct vv_terms terms;
    vv_registry_stamped_retention(registry, tenant, &terms.retention_ns, &terms.retention_stamp);
    vv_registry_stamped_late(registry, tenant, &terms.late, &terms.late_stamp);
    terms.whole = vv_registry_whole(registry, tenant);
    terms.patterns = vv_registry_stamped_patterns(registry, tenant, &terms.patterns_stamp);
    return terms;
}

struct vv_terms vv_terms_told(const struct vv_told_content *content)
{
    return (struct vv_terms){content->retention_ns,  content->retention_stamp, content->late,
                             content->late_stamp,    content->whole,           content->patterns,
                             content->patterns_stamp};
}

uint64_t vv_known_terms(struct vv_terms terms)
{
    const struct vv_whole *whole = &terms.whole;
    const struct vv_str longer = {(const char *)whole->longer, whole->n * sizeof whole->longer[0]};
    const struct vv_str shorter = {(const char *)whole->shorter,
                                   whole->n_shorter * sizeof whole->shorter[0]};
    const uint64_t words[] = {(uint64_t)terms.retention_ns,
                              terms.retention_stamp,
                              vv_late_pack(terms.late),
                              terms.late_stamp,
                              vv_known_hash(longer, 0),
                              vv_known_hash(shorter, 0),
                              terms.patterns_stamp,
                              vv_known_hash(terms.patterns, 0),
                              (uint64_t)whole->built.longer_from,
                              (uint64_t)whole->built.from};
    return vv_known_hash((struct vv_str){(const char *)words, sizeof words}, 0);
}

struct vv_known_metric vv_known_metric_of(enum vv_value_type type,
                                          const struct vv_described *described)
{
    return (struct vv_known_metric){
        .unit = vv_known_hash(described->unit, described->unit_stamp),
        .description = vv_known_hash(described->description, described->description_stamp),
        .type = (uint8_t)(type + 1),
    };
}
