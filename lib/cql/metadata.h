/* SPDX-License-Identifier: Apache-2.0 */
/* Columns as RESULT bodies describe them (section 4.2.5.2), of rows and of prepared texts. */
#ifndef VVCQL_METADATA_H
#define VVCQL_METADATA_H

#include "wire.h"

enum vvcql_metadata_flag {
    VVCQL_METADATA_GLOBAL_TABLE = 0x0001,
    VVCQL_METADATA_MORE_PAGES = 0x0002,
    VVCQL_METADATA_NONE = 0x0004,
};

/* More columns than any table or statement has: a bound for memory. */
#define VVCQL_COLUMNS_MAX 65535

struct vvcql_column {
    struct vvcql_bytes name;
    enum vvcql_type type;
};

/* A [table]: keyspace and table name. Gives the keyspace. */
struct vvcql_bytes vvcql_read_table(struct vvcql_reader *reader);
/* A column's name and type. A type that is not known, or nested too deep, fails the reader. */
struct vvcql_column vvcql_read_column(struct vvcql_reader *reader);

#endif
