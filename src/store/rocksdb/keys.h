/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the embedded store keeps where; private to src/store/rocksdb. Format version 3. The parts of
 * the keys, their widths and their order are those of store/keys.h; RocksDB checks the bytes of its
 * files itself, and a piece has the codec's checksum.
 *
 * Family "default", by its first byte:
 *   01 tag …              the store's own records
 *        "t" tenant 4       the tenant's classes, oldest first: per class generation 4, retention
 *                           in seconds 8 (signed)
 *        "l"                the longest bucket of any block, ns 8 (signed)
 *        "m"                the highest run of any mark 8; always written before the mark
 *        "r" retention 8 start 8 (signed) of an era whose files are to be merged; no value
 *   02 kind 1, key …      metadata
 *   03 mark 46            a mark, value 16
 *   04 run 50             a part of a run
 *
 * Family "blocks/<retention in seconds>/<start of the era in seconds>": blocks, keyed by
 *   tenant 4, generation 4, then the rest of a block's key 38
 * A block may be cut in two, so that who wants its head alone need not read the files' blocks that
 * hold the rest. Then
 *   the head has the top bit of the part set
 *   the tail has the top bit of the split set, which puts it behind all heads of its bucket
 * Of a span all parts are cut or none. Both are put by the same file, and so replaced. Version 1
 * had no such blocks. Version 2 is the same as 3, but its programs know no volumes (tier/unit.h)
 * and would leave them as they are. A store of either becomes one of version 3 when it is opened.
 *
 * A tenant's generation counts its changes of retention: its blocks in one class under one
 * generation are told from those of the time before, even in the same class. Where a span is found
 * under several generations, the newest holds and the others are on their way out.
 *
 * Files: FORMAT (see format.c), db/ is RocksDB's, ingest/ holds files on their way into it.
 */
#ifndef VV_STORE_ROCKSDB_KEYS_H
#define VV_STORE_ROCKSDB_KEYS_H

#include "store/era.h"
#include "store/keys.h"

enum vv_rocksdb_area {
    VV_AREA_OWN = 1,
    VV_AREA_META = 2,
    VV_AREA_MARK = 3,
    VV_AREA_RUN = 4,
};

#define VV_OWN_TENANT  't'
#define VV_OWN_LONGEST 'l'
#define VV_OWN_MARK    'm'
#define VV_OWN_RECLAIM 'r'

#define VV_GENERATION_PREFIX_SIZE 8 /* tenant and generation */
#define VV_GENERATION_SIZE        4
#define VV_STORED_SPAN_SIZE       (VV_KEY_SPAN_SIZE + VV_GENERATION_SIZE)
#define VV_STORED_BLOCK_SIZE      (VV_KEY_BLOCK_SIZE + VV_GENERATION_SIZE)

_Static_assert(VV_STORED_BLOCK_SIZE == 46, "a stored block's key is 46 bytes");
_Static_assert(1 + VV_KEY_RUN_SIZE == 51, "a stored run's key is 51 bytes");
_Static_assert(1 + VV_KEY_MARK_SIZE == 47, "a stored mark's key is 47 bytes");

/* Puts the generation behind the tenant of a key that begins with one; size is that of `key`, out
 * takes VV_GENERATION_SIZE more. */
void vv_rocksdb_key_store(const uint8_t *key, size_t size, uint32_t generation, uint8_t *out);

#define VV_STORED_SPLIT_AT (VV_KEY_PARTITION_SIZE - 2 + VV_GENERATION_SIZE)
#define VV_STORED_TAIL_BIT 0x80u   /* of the byte there */
#define VV_SPLIT_TAIL      0x8000u /* the same of a split: no split has such a name */
#define VV_STORED_CUT_BIT  0x80u   /* of the byte at VV_STORED_SPAN_SIZE, the part's first */

static inline bool vv_rocksdb_key_is_cut(const uint8_t *stored)
{
    return (stored[VV_STORED_SPAN_SIZE] & VV_STORED_CUT_BIT) != 0;
}

/* Makes the key of a whole block that of its head, or that of its tail. */
void vv_rocksdb_key_make_head(uint8_t *stored);
void vv_rocksdb_key_make_tail(uint8_t *stored);

/* Reads VV_STORED_BLOCK_SIZE bytes, of a head as of a whole block; the piece's bytes are left
 * alone. */
void vv_rocksdb_key_to_block(const uint8_t *stored, struct vv_piece *block_out);

/* Where a tenant's blocks of one generation begin. */
void vv_rocksdb_key_generation(uint32_t tenant, uint32_t generation, uint8_t *out);

/* The name of an era's family, terminated by zero. */
#define VV_FAMILY_NAME_SIZE 64
void vv_rocksdb_family_name(const struct vv_era *era, char *out);
/* False when it is no such name. */
bool vv_rocksdb_family_parse(const char *name, struct vv_era *era_out);

#endif
