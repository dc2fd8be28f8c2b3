#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The store contract on the Cassandra that VARVE_CASSANDRA names: makes the schema with $VARVE, then
# runs the program that is given.
set -eu

"$VARVE" schema --apply --set store=cassandra --set cassandra.contact_points="$VARVE_CASSANDRA" \
  --set cassandra.keyspace=varve --set cassandra.classes=7d,30d,365d \
  --set cassandra.replication=dc1:1
exec "$@" cassandra
