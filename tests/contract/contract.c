/* SPDX-License-Identifier: Apache-2.0 */
/* Fixtures and short forms. */
#include "contract.h"

#include <ftw.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define TEXT_SIZE 65536

void contract_make_folder(char *out, size_t size)
{
    const char *base = getenv("TMPDIR");
    snprintf(out, size, "%s/varve-contract-XXXXXX", base && base[0] ? base : "/tmp");
    assert_non_null(mkdtemp(out));
}

static int remove_entry(const char *path, const struct stat *about, int kind, struct FTW *walk)
{
    (void)about;
    (void)kind;
    (void)walk;
    return remove(path);
}

void contract_remove_folder(const char *path)
{
    nftw(path, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
}

void contract_open(struct contract *contract)
{
    struct vv_error error = {0};
    const struct vv_store_options options = {
        .folder = contract->folder,
        .cache_bytes = 4u << 20,
        .write_buffer_bytes = 4u << 20,
        .eras = 8,
        .merge_after_ns = 1, /* what is over is merged beside all else */
    };
    enum vv_status status = contract->backend->open(&options, &contract->store, &error);
    if (status != VV_OK) {
        fail_msg("cannot open the store: %s", error.message);
    }
}

void contract_close(struct contract *contract)
{
    contract->store->ops->close(contract->store);
    contract->store = NULL;
}

void contract_crash(struct contract *contract, uint64_t seed)
{
    contract->backend->crash(contract, seed);
}

void contract_reset(struct contract *contract)
{
    contract_close(contract);
    contract_remove_folder(contract->folder);
    contract_open(contract);
}

int contract_setup(void **state)
{
    const struct backend *backend = *state;
    struct contract *contract = calloc(1, sizeof *contract);
    if (!contract) {
        return -1;
    }
    contract->backend = backend;
    contract_make_folder(contract->folder, sizeof contract->folder);
    contract_rows_tenant = CONTRACT_NONE;
    contract_lead_ns = 0;
    contract_clock = NULL;
    contract_open(contract);
    *state = contract;
    return 0;
}

int contract_teardown(void **state)
{
    struct contract *contract = *state;
    if (contract->store) {
        contract_close(contract);
    }
    contract_remove_folder(contract->folder);
    free(contract);
    return 0;
}

/* ---- short forms */

struct vv_partition partition_of(uint32_t tenant, uint32_t source, int64_t day)
{
    return (struct vv_partition){tenant, source, day * VV_DAY, VV_DAY, 0, 0};
}

struct vv_span_key span_of(uint32_t tenant, uint32_t source, int64_t day, int hour)
{
    return (struct vv_span_key){partition_of(tenant, source, day), 1,
                                day * VV_DAY + hour * VV_HOUR};
}

void put_run(struct contract *contract, const struct vv_span_key *key, vv_stamp run, uint32_t part,
             const char *text)
{
    const struct vv_piece piece = {VV_PIECE_RUN, *key, run, part, vv_str_of(text), 0, 0};
    assert_ok(contract->store->ops->put_run(contract->store, &piece, NULL));
}

void remove_run(struct contract *contract, const struct vv_span_key *key, vv_stamp run,
                uint32_t part)
{
    const struct vv_piece piece = {VV_PIECE_RUN, *key, run, part, {0}, 0, 0};
    assert_ok(contract->store->ops->remove_runs(contract->store, &piece, 1, NULL));
}

void put_span(struct contract *contract, const struct vv_span_key *key, size_t n,
              const char *const *texts)
{
    struct vv_piece pieces[16] = {{VV_PIECE_BLOCK, *key, 0, 0, {0}, 0, 0}};
    assert_true(n <= 16);
    for (size_t i = 0; i < n; i++) {
        pieces[i] =
            (struct vv_piece){VV_PIECE_BLOCK, *key, 0, (uint32_t)i, vv_str_of(texts[i]), 0, 0};
    }
    assert_ok(contract->store->ops->put_blocks(contract->store, pieces, n ? n : 1, NULL));
}

void put_block(struct contract *contract, const struct vv_span_key *key, const char *text)
{
    put_span(contract, key, 1, &text);
}

void put_mark(struct contract *contract, const struct vv_span_key *key, int64_t due_ns,
              vv_stamp run)
{
    const struct vv_mark mark = {due_ns, *key, VV_HOUR, run, false};
    assert_ok(contract->store->ops->put_mark(contract->store, &mark, NULL));
}

void retire_mark(struct contract *contract, const struct vv_span_key *key, int64_t due_ns,
                 vv_stamp run)
{
    const struct vv_mark mark = {due_ns, *key, VV_HOUR, run, false};
    assert_ok(contract->store->ops->retire_marks(contract->store, &mark, 1, NULL));
}

void put_meta(struct contract *contract, uint8_t kind, const char *key, const char *value)
{
    assert_ok(contract->store->ops->put_meta(contract->store, kind, vv_str_of(key),
                                             vv_str_of(value), NULL));
}

void remove_meta(struct contract *contract, uint8_t kind, const char *key)
{
    assert_ok(contract->store->ops->remove_meta(contract->store, kind, vv_str_of(key), NULL));
}

void confirm(struct contract *contract)
{
    assert_ok(contract->store->ops->confirm(contract->store, NULL));
}

void set_retention(struct contract *contract, uint32_t tenant, int64_t retention_ns)
{
    assert_ok(contract->store->ops->set_retention(contract->store, tenant, retention_ns, NULL));
}

void expire(struct contract *contract, int64_t now_ns)
{
    bool more = true;
    for (int i = 0; more; i++) {
        assert_true(i < 10000);
        assert_ok(contract->store->ops->expire(contract->store, now_ns, 1u << 20, &more, NULL));
    }
}

void contract_recover(struct contract *contract)
{
    struct vv_error error = {0};
    struct timespec wait = {0, 50000000};
    enum vv_status status = contract->store->ops->recover(contract->store, &error);
    for (int i = 0; status != VV_OK && contract->backend->heals_slowly && i < 600; i++) {
        nanosleep(&wait, NULL);
        status = contract->store->ops->recover(contract->store, &error);
    }
    if (status != VV_OK) {
        fail_msg("the store does not recover: %s", error.message);
    }
}

void fail_to_write(struct contract *contract)
{
    static char bytes[BROKEN_SIZE];
    const struct vv_piece block = {
        VV_PIECE_BLOCK, span_of(9, 9, 10, 3), 0, 0, {bytes, sizeof bytes}, 0, 0};
    struct vv_error error = {0};
    enum vv_status status = contract->store->ops->put_blocks(contract->store, &block, 1, &error);
    /* A shared store may put it off first, when it can't say whose turn it is. */
    for (int i = 0; status == VV_OVERLOAD && contract->backend->heals_slowly && i < 20; i++) {
        status = contract->store->ops->put_blocks(contract->store, &block, 1, &error);
    }
    assert_true(status == VV_FULL || status == VV_IO);
    assert_true(error.message[0] != 0);
}

/* ---- what is there */

struct text {
    char bytes[TEXT_SIZE];
    size_t size;
};

static void add_text(struct text *text, const char *format, ...) VV_PRINTF(2, 3);

static void add_text(struct text *text, const char *format, ...)
{
    if (text->size > 0) {
        text->bytes[text->size++] = ' ';
    }
    va_list arguments;
    va_start(arguments, format);
    int length =
        vsnprintf(text->bytes + text->size, sizeof text->bytes - text->size, format, arguments);
    va_end(arguments);
    assert_true(length >= 0 && text->size + (size_t)length + 1 < sizeof text->bytes);
    text->size += (size_t)length;
}

static enum vv_status add_piece(void *context, const struct vv_piece *piece)
{
    struct text *text = context;
    int64_t bucket_start = piece->key.partition.bucket_start;
    int hour = (int)((piece->key.span_start - bucket_start) / VV_HOUR);
    if (piece->kind == VV_PIECE_RUN) {
        add_text(text, "R%d.%llu.%u=%.*s", hour, (unsigned long long)piece->run, piece->part,
                 VV_STR_ARG(piece->bytes));
    } else {
        assert_int_equal(piece->run, 0);
        add_text(text, "B%d.%u=%.*s", hour, piece->part, VV_STR_ARG(piece->bytes));
    }
    return VV_OK;
}

const char *read_text(struct contract *contract, const struct vv_store_read *read)
{
    static struct text text;
    text = (struct text){0};
    assert_ok(contract->store->ops->read(contract->store, read, add_piece, &text, NULL));
    return text.bytes;
}

const char *pieces_text(struct contract *contract, const struct vv_partition *partition)
{
    const struct vv_store_read read = {
        .partition = *partition, .measurement = 1, .span_from = INT64_MIN, .span_to = INT64_MAX};
    return read_text(contract, &read);
}

static enum vv_status add_mark(void *context, const struct vv_mark *mark)
{
    int64_t bucket_start = mark->key.partition.bucket_start;
    int hour = (int)((mark->key.span_start - bucket_start) / VV_HOUR);
    assert_int_equal(mark->span_ns, VV_HOUR);
    add_text(context, "%lld/%u.%d=%llu", (long long)mark->due_ns, mark->key.partition.source, hour,
             (unsigned long long)mark->run);
    return VV_OK;
}

const char *marks_text(struct contract *contract, int64_t due_until, const struct vv_mark *after)
{
    static struct text text;
    text = (struct text){0};
    assert_ok(
        contract->store->ops->scan_marks(contract->store, due_until, after, add_mark, &text, NULL));
    return text.bytes;
}

static enum vv_status add_meta(void *context, struct vv_str key, struct vv_str value)
{
    add_text(context, "%.*s=%.*s", VV_STR_ARG(key), VV_STR_ARG(value));
    return VV_OK;
}

const char *meta_text(struct contract *contract, uint8_t kind, const char *prefix)
{
    static struct text text;
    text = (struct text){0};
    assert_ok(contract->store->ops->scan_meta(contract->store, kind, vv_str_of(prefix), add_meta,
                                              &text, NULL));
    return text.bytes;
}

static enum vv_status note_block(void *context, const struct vv_piece *piece)
{
    bool *has = context;
    *has |= piece->kind == VV_PIECE_BLOCK;
    return VV_OK;
}

bool has_block(struct contract *contract, const struct vv_span_key *key)
{
    const struct vv_store_read read = {.partition = key->partition,
                                       .measurement = key->measurement,
                                       .span_from = key->span_start,
                                       .span_to = key->span_start + 1};
    bool has = false;
    assert_ok(contract->store->ops->read(contract->store, &read, note_block, &has, NULL));
    return has;
}
