/* SPDX-License-Identifier: Apache-2.0 */
/* RESULT of kind prepared (section 4.2.5.4), without the metadata of rows at its end. */
#include "metadata.h"
#include "responses.h"

#include <string.h>

struct counts {
    uint32_t flags;
    uint32_t values;
    uint32_t key_parts;
};

static struct counts read_counts(struct vvcql_reader *reader)
{
    struct counts counts;
    counts.flags = vvcql_read_u32(reader);
    counts.values = vvcql_read_u32(reader);
    counts.key_parts = vvcql_read_u32(reader);
    if (counts.values > VVCQL_COLUMNS_MAX || counts.key_parts > counts.values) {
        vvcql_reader_fail(reader);
    }
    return counts;
}

static void read_key_parts(struct vvcql_reader *reader, const struct counts *counts,
                           struct vvcql_prepared_answer *answer)
{
    bool is_kept = counts->key_parts <= VVCQL_KEY_PARTS_MAX;
    for (uint32_t i = 0; i < counts->key_parts && !reader->failed; i++) {
        uint16_t part = vvcql_read_u16(reader);
        if (part >= counts->values) {
            vvcql_reader_fail(reader);
        }
        if (is_kept) {
            answer->key_parts[i] = part;
        }
    }
    answer->n_key_parts = is_kept ? counts->key_parts : 0;
}

static void keep_keyspace(struct vvcql_prepared_answer *answer, struct vvcql_bytes keyspace)
{
    /* No keyspace has so long a name; half a name would be another keyspace. */
    if (keyspace.size > 0 && keyspace.size < sizeof answer->keyspace) {
        memcpy(answer->keyspace, keyspace.data, keyspace.size);
        answer->keyspace[keyspace.size] = '\0';
    }
}

static void read_values(struct vvcql_reader *reader, const struct counts *counts,
                        struct vvcql_prepared_answer *answer)
{
    bool is_global = (counts->flags & VVCQL_METADATA_GLOBAL_TABLE) != 0;
    if (is_global) {
        keep_keyspace(answer, vvcql_read_table(reader));
    }
    for (uint32_t i = 0; i < counts->values && !reader->failed; i++) {
        struct vvcql_bytes keyspace = {0};
        if (!is_global) {
            keyspace = vvcql_read_table(reader);
        }
        if (i == 0) {
            keep_keyspace(answer, keyspace);
        }
        vvcql_read_column(reader);
    }
}

enum vvcql_status vvcql_decode_prepared(struct vvcql_bytes body,
                                        struct vvcql_prepared_answer *answer_out,
                                        struct vvcql_error *error)
{
    struct vvcql_reader reader = vvcql_reader_of(body);
    *answer_out = (struct vvcql_prepared_answer){0};
    if (vvcql_read_u32(&reader) != VVCQL_RESULT_PREPARED) {
        vvcql_reader_fail(&reader);
    }
    answer_out->id = vvcql_read_short_bytes(&reader);
    struct counts counts = read_counts(&reader);
    answer_out->n_values = counts.values;
    read_key_parts(&reader, &counts, answer_out);
    read_values(&reader, &counts, answer_out);
    if (reader.failed) {
        *answer_out = (struct vvcql_prepared_answer){0};
        return vvcql_error_set(error, VVCQL_PROTOCOL,
                               "the answer to PREPARE (%zu bytes) can't be read", body.size);
    }
    return VVCQL_OK;
}
