/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Words that statements, results and errors share: consistency levels, column types, batch types.
 * Numbers are those of the native protocol v4 (sections 3, 4.1.7 and 4.2.5.2 of its specification).
 */
#ifndef VVCQL_TYPES_H
#define VVCQL_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define VVCQL_MUST_CHECK __attribute__((warn_unused_result))

enum vvcql_consistency {
    VVCQL_ANY = 0x0000,
    VVCQL_ONE = 0x0001,
    VVCQL_TWO = 0x0002,
    VVCQL_THREE = 0x0003,
    VVCQL_QUORUM = 0x0004,
    VVCQL_ALL = 0x0005,
    VVCQL_LOCAL_QUORUM = 0x0006,
    VVCQL_EACH_QUORUM = 0x0007,
    VVCQL_SERIAL = 0x0008,
    VVCQL_LOCAL_SERIAL = 0x0009,
    VVCQL_LOCAL_ONE = 0x000A,
};

enum vvcql_type {
    VVCQL_TYPE_CUSTOM = 0x0000,
    VVCQL_TYPE_ASCII = 0x0001,
    VVCQL_TYPE_BIGINT = 0x0002,
    VVCQL_TYPE_BLOB = 0x0003,
    VVCQL_TYPE_BOOLEAN = 0x0004,
    VVCQL_TYPE_COUNTER = 0x0005,
    VVCQL_TYPE_DECIMAL = 0x0006,
    VVCQL_TYPE_DOUBLE = 0x0007,
    VVCQL_TYPE_FLOAT = 0x0008,
    VVCQL_TYPE_INT = 0x0009,
    VVCQL_TYPE_TIMESTAMP = 0x000B,
    VVCQL_TYPE_UUID = 0x000C,
    VVCQL_TYPE_TEXT = 0x000D,
    VVCQL_TYPE_VARINT = 0x000E,
    VVCQL_TYPE_TIMEUUID = 0x000F,
    VVCQL_TYPE_INET = 0x0010,
    VVCQL_TYPE_DATE = 0x0011,
    VVCQL_TYPE_TIME = 0x0012,
    VVCQL_TYPE_SMALLINT = 0x0013,
    VVCQL_TYPE_TINYINT = 0x0014,
    VVCQL_TYPE_DURATION = 0x0015,
    VVCQL_TYPE_LIST = 0x0020,
    VVCQL_TYPE_MAP = 0x0021,
    VVCQL_TYPE_SET = 0x0022,
    VVCQL_TYPE_UDT = 0x0030,
    VVCQL_TYPE_TUPLE = 0x0031,
};

enum vvcql_batch_type {
    VVCQL_BATCH_LOGGED = 0,
    VVCQL_BATCH_UNLOGGED = 1,
    VVCQL_BATCH_COUNTER = 2,
};

/* A borrowed range of bytes; a text has no zero at its end. */
struct vvcql_bytes {
    const uint8_t *data;
    size_t size;
};

#endif
