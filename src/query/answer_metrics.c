/* SPDX-License-Identifier: Apache-2.0 */
/* The list of metrics with type, unit and description. */
#include "query/result.h"

#include <stdlib.h>

static const char *const columns[] = {"metric", "measurement", "type", "unit", "description"};

struct vv_answer {
    size_t given;
    uint64_t left;
};

static enum vv_status open_metrics(struct vv_result *result, struct vv_error *error)
{
    result->answer = calloc(1, sizeof *result->answer);
    if (!result->answer) {
        return vv_result_no_memory(error);
    }
    result->answer->left = result->request->limit ? result->request->limit : UINT64_MAX;
    result->layout.name = "metrics";
    result->layout.columns = columns;
    result->layout.n_columns = sizeof columns / sizeof columns[0];
    return vv_result_select(result, false, error);
}

static void close_metrics(struct vv_result *result)
{
    free(result->answer);
}

static void write_metric(struct vv_result *result, struct vv_buffer *buffer,
                         const struct vv_metric_info *info)
{
    struct vv_writer *writer = &result->writer;
    writer->ops->record_begin(writer, buffer);
    writer->ops->field_text(writer, buffer, info->name);
    writer->ops->field_text(
        writer, buffer, vv_registry_measurement_name(result->context.registry, info->measurement));
    writer->ops->field_text(writer, buffer,
                            vv_str_of(info->type == VV_INT64 ? "integer" : "float"));
    writer->ops->field_text(writer, buffer, info->unit);
    writer->ops->field_text(writer, buffer, info->description);
    writer->ops->record_end(writer, buffer);
    result->facts.rows++;
}

static enum vv_status advance_metrics(struct vv_result *result, struct vv_buffer *buffer,
                                      struct vv_error *error)
{
    (void)error;
    struct vv_answer *answer = result->answer;
    const struct vv_selection *selection = &result->selection;
    vv_result_begin(result, buffer);
    size_t before = buffer->size;
    while (buffer->size - before < VV_RESULT_PIECE_BYTES) {
        if (answer->given == selection->n_metrics || answer->left == 0) {
            return VV_DONE;
        }
        write_metric(result, buffer, &selection->metrics[answer->given++]);
        answer->left--;
    }
    return VV_OK;
}

const struct vv_answer_ops vv_answer_metrics = {
    .open = open_metrics,
    .advance = advance_metrics,
    .close = close_metrics,
};
