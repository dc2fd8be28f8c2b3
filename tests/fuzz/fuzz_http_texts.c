/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The texts that the HTTP door reads itself: forms, InfluxQL, CSV of units, compressed bodies,
 * headers, and what it quotes back in JSON. The first byte says which.
 */
#include "http/csv.h"
#include "http/decoder.h"
#include "http/influxql.h"
#include "http/json_text.h"
#include "http/listen.h"
#include "http/packer.h"
#include "http/parameters.h"

#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void fuzz_form(struct vv_str text)
{
    struct vv_parameters parameters = {0};
    struct vv_error error = {0};
    enum vv_status status = vv_parameters_add_form(&parameters, text, &error);
    vv_invariant(status == VV_OK || error.message[0]);
    size_t bytes = 0;
    for (size_t i = 0; i < parameters.n; i++) {
        bytes += parameters.items[i].name.size + parameters.items[i].value.size;
    }
    vv_invariant(bytes <= text.size); /* decoding never makes it longer */
    vv_parameters_deinit(&parameters);
}

static void fuzz_influxql(struct vv_str text)
{
    struct vv_influxql_statement statement;
    struct vv_error error = {0};
    size_t left = text.size + 1;
    while (vv_influxql_next(&text, &statement, &error) == VV_OK) {
        vv_invariant(text.size < left); /* each statement takes something */
        vv_invariant(statement.name_size <= VV_INFLUXQL_NAME_MAX);
        left = text.size;
    }
}

static void fuzz_csv(struct vv_str text)
{
    struct vv_arena arena = {0};
    struct vv_csv csv = vv_csv_of(text, &arena);
    struct vv_str fields[3];
    struct vv_error error = {0};
    size_t n = 0;
    uint64_t line = 0;
    while (vv_csv_row(&csv, fields, 3, &n, &error) == VV_OK) {
        vv_invariant(n >= 1 && n <= 3 && csv.line > line);
        line = csv.line;
    }
    vv_arena_deinit(&arena);
}

static void fuzz_decoder(struct vv_str text, enum vv_coding coding)
{
    struct vv_decoder decoder;
    struct vv_error error = {0};
    if (vv_decoder_open(&decoder, coding) != VV_OK) {
        return;
    }
    char out[512];
    size_t total = 0;
    size_t at = 0;
    for (;;) {
        size_t taken = 0;
        size_t made = 0;
        size_t piece = text.size - at < 7 ? text.size - at : 7;
        enum vv_status status = vv_decoder_step(&decoder, text.data + at, piece, &taken, out,
                                                sizeof out, &made, &error);
        vv_invariant(taken <= piece && made <= sizeof out);
        at += taken;
        total += made;
        if (status != VV_OK || (taken == 0 && made == 0) || total > (1u << 20)) {
            break;
        }
    }
    (void)vv_decoder_is_complete(&decoder);
    vv_decoder_close(&decoder);
}

static void fuzz_headers(struct vv_str text)
{
    enum vv_coding coding;
    struct vv_error error = {0};
    (void)vv_accepts_gzip(text);
    if (vv_coding_parse(text, &coding, &error) != VV_OK) {
        vv_invariant(error.message[0]);
    }
    char *copy = vv_str_duplicate(text);
    if (copy) {
        char host[64];
        char port[6];
        if (vv_listen_parse(copy, host, sizeof host, port, &error) == VV_OK) {
            vv_invariant(strlen(host) > 0 && strlen(port) > 0);
        }
        free(copy);
    }
}

static void fuzz_json_text(struct vv_str text)
{
    struct vv_buffer buffer = {0};
    vv_json_text(&buffer, text);
    if (vv_buffer_status(&buffer) == VV_OK) {
        size_t at = 0;
        while (at < buffer.size) { /* well-formed, whatever came in */
            size_t step = vv_utf8_character((const char *)buffer.data + at, buffer.size - at);
            vv_invariant(step > 0 && buffer.data[at] >= ' ');
            at += step;
        }
    }
    vv_buffer_deinit(&buffer);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0) {
        return 0;
    }
    struct vv_str text = {(const char *)data + 1, size - 1};
    switch (data[0]) {
    case 'f':
        fuzz_form(text);
        break;
    case 'q':
        fuzz_influxql(text);
        break;
    case 'c':
        fuzz_csv(text);
        break;
    case 'g':
        fuzz_decoder(text, VV_CODING_GZIP);
        break;
    case 'z':
        fuzz_decoder(text, VV_CODING_ZSTD);
        break;
    case 'h':
        fuzz_headers(text);
        break;
    default:
        fuzz_json_text(text);
        break;
    }
    return 0;
}
