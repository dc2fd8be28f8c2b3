/* SPDX-License-Identifier: Apache-2.0 */
/* How RocksDB is used: small when empty, bounded in memory, no log of its own. */
#include "store/rocksdb/rocksdb.h"

#include <stdio.h>

#define CACHE_BYTES_DEFAULT        (UINT64_C(32) << 20)
#define WRITE_BUFFER_BYTES_DEFAULT (UINT64_C(32) << 20)
#define WRITE_BUFFER_BYTES_MIN     (UINT64_C(1) << 20)
#define WRITE_BUFFERS              3
#define TABLE_BLOCK_BYTES          16384
/* Per cent: what does not fit begins a new one, however little is in the last. Else heads of tiers
 * would be read with the tail that follows them, which may be large. */
#define TABLE_BLOCK_DEVIATION 99
#define TABLE_FORMAT          5

/* Closing does not flush: what was not confirmed is the caller's to write again, and a full disk
 * must not keep the store from closing. */
static const char *const database_text =
    "allow_fallocate=false;manifest_preallocation_size=65536;avoid_flush_during_shutdown=true;"
    "max_background_jobs=2;max_open_files=512;info_log_level=FATAL_LEVEL;"
    "stats_dump_period_sec=0;stats_persist_period_sec=0;"
    "skip_stats_update_on_db_open=true;level_compaction_dynamic_level_bytes=true;"
    "target_file_size_multiplier=2;";

/* Runs, marks and metadata come through memory: a confirmation makes a small file. */
static const char *const base_text =
    "compression=kLZ4Compression;level0_file_num_compaction_trigger=6;"
    "level0_slowdown_writes_trigger=60;level0_stop_writes_trigger=120;"
    "max_bytes_for_level_base=33554432;target_file_size_base=8388608;";

/* Blocks come as files, compressed by the codec already, and often small ones that all lie across
 * the whole era: files of like size are merged, which writes each block a few times; merging them
 * level by level was measured to write it hundreds of times. (allow_trivial_move must stay off:
 * with it, RocksDB 7.8.3 was seen to bring removed blocks back.) How many wait to be merged must
 * never slow the other families' writes. */
static const char *const blocks_text =
    "compression=kNoCompression;write_buffer_size=65536;arena_block_size=4096;"
    "compaction_style=kCompactionStyleUniversal;compaction_options_universal={size_ratio=20;"
    "max_size_amplification_percent=400;};"
    "level0_file_num_compaction_trigger=6;level0_slowdown_writes_trigger=10000;"
    "level0_stop_writes_trigger=20000;soft_pending_compaction_bytes_limit=0;"
    "hard_pending_compaction_bytes_limit=0;target_file_size_base=67108864;"
    "periodic_compaction_seconds=0;ttl=0;";

static rocksdb_options_t *options_from(const char *text, struct vv_error *error)
{
    rocksdb_options_t *plain = rocksdb_options_create();
    rocksdb_options_t *options = rocksdb_options_create();
    char *message = NULL;
    rocksdb_get_options_from_string(plain, text, options, &message);
    rocksdb_options_destroy(plain);
    if (message) {
        vv_rocksdb_fail(message, "RocksDB does not know an option", error);
        rocksdb_options_destroy(options);
        return NULL;
    }
    return options;
}

static void table_init(struct vv_rocksdb_options *options, uint64_t cache_bytes)
{
    options->cache = rocksdb_cache_create_lru((size_t)cache_bytes);
    options->table = rocksdb_block_based_options_create();
    rocksdb_block_based_options_set_block_cache(options->table, options->cache);
    rocksdb_block_based_options_set_block_size(options->table, TABLE_BLOCK_BYTES);
    rocksdb_block_based_options_set_block_size_deviation(options->table, TABLE_BLOCK_DEVIATION);
    rocksdb_block_based_options_set_format_version(options->table, TABLE_FORMAT);
    rocksdb_block_based_options_set_cache_index_and_filter_blocks(options->table, 1);
    /* Merged files are large: an index in one piece would be read anew whenever it left the cache.
     */
    rocksdb_block_based_options_set_index_type(
        options->table, rocksdb_block_based_table_index_type_two_level_index_search);
    rocksdb_block_based_options_set_pin_top_level_index_and_filter(options->table, 1);
    rocksdb_block_based_options_set_cache_index_and_filter_blocks_with_high_priority(options->table,
                                                                                     1);
    rocksdb_options_set_block_based_table_factory(options->base, options->table);
    rocksdb_options_set_block_based_table_factory(options->blocks, options->table);
}

enum vv_status vv_rocksdb_options_init(struct vv_rocksdb_options *options,
                                       const struct vv_store_options *wanted,
                                       struct vv_error *error)
{
    *options = (struct vv_rocksdb_options){0};
    uint64_t buffers =
        wanted->write_buffer_bytes ? wanted->write_buffer_bytes : WRITE_BUFFER_BYTES_DEFAULT;
    buffers = buffers < WRITE_BUFFER_BYTES_MIN ? WRITE_BUFFER_BYTES_MIN : buffers;
    unsigned long long each = buffers / WRITE_BUFFERS;
    char base[2048];
    char blocks[2048];
    snprintf(base, sizeof base,
             "%s%swrite_buffer_size=%llu;max_write_buffer_number=%d;arena_block_size=%llu",
             database_text, base_text, each, WRITE_BUFFERS, each / 64);
    snprintf(blocks, sizeof blocks, "%s%s", database_text, blocks_text);
    options->base = options_from(base, error);
    options->blocks = options->base ? options_from(blocks, error) : NULL;
    if (!options->blocks) {
        vv_rocksdb_options_deinit(options);
        return VV_INVALID;
    }
    table_init(options, wanted->cache_bytes ? wanted->cache_bytes : CACHE_BYTES_DEFAULT);
    options->write = rocksdb_writeoptions_create();
    rocksdb_writeoptions_disable_WAL(options->write, 1);
    options->flush = rocksdb_flushoptions_create();
    rocksdb_flushoptions_set_wait(options->flush, 1);
    options->get = rocksdb_readoptions_create();
    options->env = rocksdb_envoptions_create();
    options->ingest = rocksdb_ingestexternalfileoptions_create();
    rocksdb_ingestexternalfileoptions_set_move_files(options->ingest, 1);
    return VV_OK;
}

void vv_rocksdb_options_deinit(struct vv_rocksdb_options *options)
{
    if (options->ingest) {
        rocksdb_ingestexternalfileoptions_destroy(options->ingest);
        rocksdb_envoptions_destroy(options->env);
        rocksdb_readoptions_destroy(options->get);
        rocksdb_flushoptions_destroy(options->flush);
        rocksdb_writeoptions_destroy(options->write);
        rocksdb_block_based_options_destroy(options->table);
        rocksdb_cache_destroy(options->cache);
    }
    if (options->blocks) {
        rocksdb_options_destroy(options->blocks);
    }
    if (options->base) {
        rocksdb_options_destroy(options->base);
    }
    *options = (struct vv_rocksdb_options){0};
}
