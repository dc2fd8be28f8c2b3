/* SPDX-License-Identifier: Apache-2.0 */
/* The list of sources with their tags and times, a page of the registry at a time. */
#include "query/result.h"

#include <stdlib.h>

#define PAGE_SOURCES 1000u

static const char *const columns[] = {"source", "tags", "first", "last"};
static const char *const columns_history_json[] = {"source", "tags", "first", "last", "history"};
static const char *const columns_history_csv[] = {"source", "tags", "first", "last", "from"};

struct vv_answer {
    bool json;
    uint32_t after; /* the last source that was listed */
    uint32_t *page;
    size_t n_page;
    size_t given; /* of the page */
    uint64_t left;
    bool at_end;
};

static enum vv_status find_after(struct vv_result *result, struct vv_error *error)
{
    struct vv_answer *answer = result->answer;
    struct vv_str after = result->request->after;
    answer->after = VV_REGISTRY_NONE;
    if (!after.data || vv_registry_source_by_id(result->context.registry, result->tenant, after,
                                                &answer->after) == VV_OK) {
        return VV_OK;
    }
    return vv_error_set(error, VV_NOT_FOUND,
                        "after names a source that does not exist: give the `next` of the page "
                        "before, unchanged");
}

static enum vv_status open_sources(struct vv_result *result, struct vv_error *error)
{
    const struct vv_request *request = result->request;
    struct vv_answer *answer = calloc(1, sizeof *answer);
    result->answer = answer;
    if (!answer) {
        return vv_result_no_memory(error);
    }
    answer->json = result->format == VV_FORMAT_JSON;
    answer->left = request->limit ? request->limit : UINT64_MAX;
    result->layout.name = "sources";
    result->layout.columns = columns;
    result->layout.n_columns = 4;
    if (request->history) {
        result->layout.columns = answer->json ? columns_history_json : columns_history_csv;
        result->layout.n_columns = 5;
    }
    result->facts.times_are_own = result->facts.has_peers || result->facts.n_regions > 1;
    return find_after(result, error);
}

static void close_sources(struct vv_result *result)
{
    free(result->answer->page);
    free(result->answer);
}

static enum vv_status read_page(struct vv_result *result, size_t limit, struct vv_error *error)
{
    struct vv_answer *answer = result->answer;
    struct vv_selector selector = vv_request_selector(result->request);
    free(answer->page);
    answer->page = NULL;
    answer->n_page = answer->given = 0;
    enum vv_status status =
        vv_registry_select(result->context.registry, result->tenant, &selector, answer->after,
                           limit, &answer->page, &answer->n_page, error);
    answer->at_end = answer->n_page < limit;
    return status;
}

/* ---- records ---- */

static void write_head(struct vv_result *result, struct vv_buffer *buffer, uint32_t source,
                       const struct vv_tag_version *version)
{
    struct vv_writer *writer = &result->writer;
    struct vv_registry *registry = result->context.registry;
    int64_t first = 0;
    int64_t last = 0;
    bool known = vv_registry_source_times(registry, source, &first, &last);
    writer->ops->record_begin(writer, buffer);
    writer->ops->field_text(writer, buffer, vv_registry_source_id(registry, source));
    writer->ops->field_tags(writer, buffer, version->tags, version->n_tags);
    writer->ops->field_time(writer, buffer, first, known);
    writer->ops->field_time(writer, buffer, last, known);
}

static enum vv_status write_plain(struct vv_result *result, struct vv_buffer *buffer,
                                  uint32_t source, struct vv_arena *arena)
{
    struct vv_tag_version version;
    enum vv_status status =
        vv_registry_source_tags(result->context.registry, source, arena, &version);
    if (status == VV_OK) {
        write_head(result, buffer, source, &version);
        result->writer.ops->record_end(&result->writer, buffer);
    }
    return status;
}

/* JSON has the versions in the record; CSV has a record for each. */
static enum vv_status write_history(struct vv_result *result, struct vv_buffer *buffer,
                                    uint32_t source, struct vv_arena *arena)
{
    struct vv_writer *writer = &result->writer;
    struct vv_tag_version versions[VV_TAG_HISTORY_MAX];
    size_t n = 0;
    enum vv_status status =
        vv_registry_source_history(result->context.registry, source, arena, versions, &n);
    if (status != VV_OK || n == 0) {
        return status;
    }
    if (result->answer->json) {
        write_head(result, buffer, source, &versions[n - 1]);
        writer->ops->field_history(writer, buffer, versions, n);
        writer->ops->record_end(writer, buffer);
        return VV_OK;
    }
    for (size_t i = 0; i < n; i++) {
        write_head(result, buffer, source, &versions[i]);
        writer->ops->field_history(writer, buffer, &versions[i], 1);
        writer->ops->record_end(writer, buffer);
    }
    return VV_OK;
}

static enum vv_status write_some(struct vv_result *result, struct vv_buffer *buffer,
                                 struct vv_error *error)
{
    struct vv_answer *answer = result->answer;
    vv_result_begin(result, buffer);
    size_t before = buffer->size;
    while (answer->given < answer->n_page && answer->left > 0 &&
           buffer->size - before < VV_RESULT_PIECE_BYTES) {
        uint32_t source = answer->page[answer->given++];
        struct vv_arena arena = {0};
        enum vv_status status = result->request->history
                                    ? write_history(result, buffer, source, &arena)
                                    : write_plain(result, buffer, source, &arena);
        vv_arena_deinit(&arena);
        if (status != VV_OK) {
            return vv_result_no_memory(error);
        }
        answer->after = source;
        answer->left--;
        result->facts.rows++;
    }
    return VV_OK;
}

/* The limit was reached: says where to go on, if there is more. */
static enum vv_status find_next(struct vv_result *result, struct vv_error *error)
{
    struct vv_answer *answer = result->answer;
    enum vv_status status = read_page(result, 1, error);
    if (status == VV_OK && answer->n_page > 0) {
        result->next = vv_registry_source_id(result->context.registry, answer->after);
    }
    return status == VV_OK ? VV_DONE : status;
}

static enum vv_status advance_sources(struct vv_result *result, struct vv_buffer *buffer,
                                      struct vv_error *error)
{
    struct vv_answer *answer = result->answer;
    if (answer->left == 0) {
        return find_next(result, error);
    }
    if (answer->given < answer->n_page) {
        return write_some(result, buffer, error);
    }
    return answer->at_end ? VV_DONE : read_page(result, PAGE_SOURCES, error);
}

const struct vv_answer_ops vv_answer_sources = {
    .open = open_sources,
    .advance = advance_sources,
    .close = close_sources,
};
