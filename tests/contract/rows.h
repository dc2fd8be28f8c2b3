/* SPDX-License-Identifier: Apache-2.0 */
/* Single values, for the cases of the layout that keeps each as a row. */
#ifndef TESTS_CONTRACT_ROWS_H
#define TESTS_CONTRACT_ROWS_H

#include "contract.h"

#include "base/bits.h"
#include "codec/block.h"

struct value {
    int64_t time;
    uint32_t metric; /* odd: an integer; belongs to measurement metric / 100 + 1 */
    uint64_t bits;
    vv_stamp stamp;
};

struct values {
    struct value *items;
    size_t n;
    size_t capacity;
    uint64_t pieces; /* that they were read from */
    uint64_t blocks; /* of these */
};

void values_free(struct values *values);
void values_add(struct values *values, struct value value);
/* Replaces what is there for the same metric and time if its stamp is higher. */
void values_merge(struct values *values, struct value value);
/* By measurement, metric, time. */
void values_sort(struct values *values);
/* That both are the same, in bits and in the stamps' µs. Sorts both. */
void values_expect(struct values *found, struct values *expected);

/* Puts the values, all of one measurement, as parts of a run in the spans and splits of hours that
 * they belong to, in a bucket of a day. */
void put_values(struct contract *contract, uint32_t tenant, uint32_t source, vv_stamp run,
                const struct value *values, size_t n);
/* All values of a measurement with times in [from, to) of the day's bucket; of two for one point
 * the one with the higher stamp. Checks what pieces promise. */
void read_values(struct contract *contract, uint32_t tenant, uint32_t source, int64_t day,
                 uint32_t measurement, int64_t from, int64_t to, struct values *values);
/* What a span has for the sealer: the pieces' number. */
size_t count_pieces(struct contract *contract, const struct vv_span_key *key);

/* What a client of Cassandra sees of the tenant in a table (or in rows_<class>): the columns,
 * joined by commas, of each row, joined by spaces; null is empty. Static memory. */
const char *cql_table_text(uint32_t tenant, const char *table, const char *columns);
const char *cql_text(uint32_t tenant, const char *class_name, const char *columns);

#endif
