/* SPDX-License-Identifier: Apache-2.0 */
/* The list of tag keys, or of one key's values, with how many sources have them. */
#include "query/result.h"

#include <stdlib.h>

static const char *const columns_keys[] = {"key", "sources"};
static const char *const columns_values[] = {"value", "sources"};

struct entry {
    struct vv_str text;
    uint64_t sources;
};

struct vv_answer {
    struct vv_arena arena; /* the texts */
    struct entry *entries;
    size_t n;
    size_t capacity;
    size_t given;
};

/* What the registry's visitor fills; `status` says why it stopped. */
struct collecting {
    struct vv_result *result;
    enum vv_status status;
};

static bool grow(struct vv_answer *answer)
{
    size_t capacity = answer->capacity ? answer->capacity * 2 : 64;
    struct entry *entries = realloc(answer->entries, capacity * sizeof *entries);
    if (!entries) {
        return false;
    }
    answer->entries = entries;
    answer->capacity = capacity;
    return true;
}

static bool collect(void *context, struct vv_str text, uint64_t sources)
{
    struct collecting *collecting = context;
    struct vv_result *result = collecting->result;
    struct vv_answer *answer = result->answer;
    uint64_t limit = result->request->limit;
    if (limit && answer->n >= limit) {
        return false;
    }
    if (answer->arena.bytes + answer->capacity * sizeof *answer->entries >
        result->limits.memory_bytes_max) {
        collecting->status = VV_TOO_LARGE;
        return false;
    }
    struct vv_str copy = vv_arena_str(&answer->arena, text);
    if (!copy.data || (answer->n == answer->capacity && !grow(answer))) {
        collecting->status = VV_NO_MEMORY;
        return false;
    }
    answer->entries[answer->n++] = (struct entry){copy, sources};
    return true;
}

static enum vv_status collect_all(struct vv_result *result, struct vv_error *error)
{
    struct collecting collecting = {result, VV_OK};
    enum vv_status status = vv_registry_tags(result->context.registry, result->tenant,
                                             result->request->key, collect, &collecting);
    status = status == VV_OK ? collecting.status : status;
    if (status == VV_TOO_LARGE) {
        return vv_error_set(error, status,
                            "the tags do not fit the query's memory (query.memory_bytes_max): "
                            "give a limit");
    }
    return status == VV_OK ? status : vv_result_no_memory(error);
}

static enum vv_status open_tags(struct vv_result *result, struct vv_error *error)
{
    result->answer = calloc(1, sizeof *result->answer);
    if (!result->answer) {
        return vv_result_no_memory(error);
    }
    bool values = result->request->key.data != NULL;
    result->layout.name = values ? "values" : "keys";
    result->layout.key = result->request->key;
    result->layout.columns = values ? columns_values : columns_keys;
    result->layout.n_columns = 2;
    return collect_all(result, error);
}

static void close_tags(struct vv_result *result)
{
    vv_arena_deinit(&result->answer->arena);
    free(result->answer->entries);
    free(result->answer);
}

static enum vv_status advance_tags(struct vv_result *result, struct vv_buffer *buffer,
                                   struct vv_error *error)
{
    (void)error;
    struct vv_answer *answer = result->answer;
    struct vv_writer *writer = &result->writer;
    vv_result_begin(result, buffer);
    size_t before = buffer->size;
    while (buffer->size - before < VV_RESULT_PIECE_BYTES) {
        if (answer->given == answer->n) {
            return VV_DONE;
        }
        const struct entry *entry = &answer->entries[answer->given++];
        writer->ops->record_begin(writer, buffer);
        writer->ops->field_text(writer, buffer, entry->text);
        writer->ops->field_cell(writer, buffer, vv_cell_integer((int64_t)entry->sources));
        writer->ops->record_end(writer, buffer);
        result->facts.rows++;
    }
    return VV_OK;
}

const struct vv_answer_ops vv_answer_tags = {
    .open = open_tags,
    .advance = advance_tags,
    .close = close_tags,
};
