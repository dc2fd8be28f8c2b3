/* SPDX-License-Identifier: Apache-2.0 */
/* What the back-ends on Cassandra have in common. */
#ifndef TESTS_CONTRACT_CASSANDRA_OPEN_H
#define TESTS_CONTRACT_CASSANDRA_OPEN_H

#include "contract.h"

#include "store/cassandra/open.h"

#define CONTRACT_CLASSES 3
extern const int64_t contract_classes[CONTRACT_CLASSES]; /* that the keyspace `varve` has */

enum vv_status contract_open_cassandra(const struct vv_store_options *options,
                                       struct vv_store **store_out, struct vv_error *error);
void contract_forget_names(void);

#endif
