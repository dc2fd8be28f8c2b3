/* SPDX-License-Identifier: Apache-2.0 */
/* Points in JSON, whole and in pieces. */
#include "ingest/json_points.h"

#include "ingest_fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void feed(struct vv_staging *staging, const struct fuzz_input *input)
{
    struct vv_json_parser *parser = NULL;
    FUZZ_CHECK(vv_json_parser_create(staging, 1, &parser) == VV_OK);
    for (size_t at = 0; at < input->size;) {
        size_t piece = 0;
        char *copy = fuzz_piece(input, at, &piece);
        FUZZ_CHECK(vv_json_parser_feed(parser, copy, piece) == VV_OK);
        free(copy);
        at += piece;
    }
    FUZZ_CHECK(vv_json_parser_finish(parser) == VV_OK);
    vv_json_parser_destroy(parser);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    return fuzz_ingest(data, size, feed);
}
