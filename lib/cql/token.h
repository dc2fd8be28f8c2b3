/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tokens of Cassandra's Murmur3Partitioner, and who keeps which. Pure functions, any thread.
 */
#ifndef VVCQL_TOKEN_H
#define VVCQL_TOKEN_H

#include "wire.h"

/*
 * The token of a partition key: the first half of MurmurHash3 x64 128, seed 0 (Appleby, public
 * domain), in the variant of Cassandra's org.apache.cassandra.utils.MurmurHash: bytes of the tail
 * are signed. INT64_MIN, which no partition has, becomes INT64_MAX.
 */
int64_t vvcql_token(const void *key, size_t size);

/* Appends one value to a partition key of several: [short length][bytes][0]. (A key of a single
 * value is just its bytes.) More than 65,535 bytes: failure kept in key->failed. */
void vvcql_key_add(struct vvcql_buffer *key, struct vvcql_bytes value);

#endif
