/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Settings: one table with name, type, unit, range, default and meaning of each; it reads the YAML
 * file, prints `varve config` and writes docs/configuration.md. Plain values after loading; any
 * thread may read them.
 */
#ifndef VV_SETTINGS_SETTINGS_H
#define VV_SETTINGS_SETTINGS_H

#include "base/bytes.h"
#include "base/clock.h"

#include <stdio.h>

#define VV_SETTING_TEXT_MAX 256

/* Dotted YAML names in comments. Sizes in bytes, times in ns. */
#define VV_SETTINGS_FOLD_NS_MAX (7 * VV_DAY) /* of late.fold_every */

struct vv_settings {
    char data[VV_SETTING_TEXT_MAX];      /* data: folder, default "varve-data" */
    char log_level[VV_SETTING_TEXT_MAX]; /* log.level: debug|info|warn|error */
    /* http */
    char listen[VV_SETTING_TEXT_MAX]; /* http.listen: "127.0.0.1:8428"-like HOST:PORT */
    int64_t http_threads;             /* http.threads */
    int64_t http_connections_max;     /* http.connections_max */
    int64_t http_body_bytes_max;      /* http.body_bytes_max: 413 beyond */
    int64_t http_idle_ns_max;         /* http.idle_max: slow clients are closed */
    /* ingest */
    char id_tag[VV_SETTING_TEXT_MAX]; /* ingest.id_tag */
    int64_t future_ns_max;            /* ingest.future_max */
    int64_t past_ns_max;              /* ingest.past_max, 0: any */
    int64_t line_bytes_max;           /* ingest.line_bytes_max */
    int64_t fields_max;               /* ingest.fields_max */
    int64_t batch_bytes_max;          /* ingest.batch_bytes_max: staged memory of a request */
    /* limits */
    int64_t tenants_max;        /* limits.tenants_max */
    int64_t sources_max;        /* limits.sources_max */
    int64_t metrics_max;        /* limits.metrics_max */
    int64_t series_cache_bytes; /* limits.series_cache_bytes */
    /* journal */
    int64_t journal_segment_bytes; /* journal.segment_bytes */
    int64_t journal_bytes_max;     /* journal.bytes_max */
    bool journal_skip_damaged;     /* journal.skip_damaged */
    /* head */
    int64_t head_flush_bytes;  /* head.flush_bytes: a generation is cut */
    int64_t head_flush_age_ns; /* head.flush_age */
    int64_t head_bytes_max;    /* head.bytes_max: 503 beyond */
    /* partition: plan of new sources; 0 / 0 / 1: chosen from what is seen */
    int64_t bucket_ns;    /* partition.bucket */
    int64_t span_ns;      /* partition.span */
    int64_t splits;       /* partition.splits */
    bool partition_adapt; /* partition.adapt */
    /* seal */
    int64_t seal_lateness_ns; /* seal.lateness */
    int64_t seal_quiet_ns;    /* seal.quiet */
    int64_t seal_spread_ns;   /* seal.spread: 0: over the span's length */
    int64_t volumes_after_ns; /* tiers.volumes_after; 0: no volumes */
    int64_t history_age_ns;   /* history.age */
    int64_t history_share;    /* history.share: percent of the time, beside live data */
    int64_t seal_share;       /* seal.share: percent of the time, beside flushes that wait */
    int64_t seal_interval_ns; /* seal.interval: how often the ledger is looked at */
    int64_t block_bytes_max;  /* seal.block_bytes_max */
    int64_t zstd_level;       /* seal.zstd_level, 0: off */
    /* late */
    char late_policy[VV_SETTING_TEXT_MAX]; /* late.policy: accept|separate|refuse, of new tenants */
    int64_t late_limit_ns;                 /* late.limit */
    int64_t late_fold_every_ns;            /* late.fold_every: of those that are kept apart … */
    int64_t late_fold_at_ns;               /* … and late.fold_at */
    /* deletion */
    int64_t deletion_markers_max; /* deletion.markers_max */
    int64_t deletion_takeover_ns; /* deletion.takeover */
    /* store */
    char store_kind[VV_SETTING_TEXT_MAX]; /* store.kind: rocksdb|cassandra */
    int64_t store_cache_bytes;            /* store.cache_bytes */
    int64_t store_write_buffer_bytes;     /* store.write_buffer_bytes */
    int64_t store_eras;                   /* store.eras */
    int64_t store_merge_after_ns;         /* store.merge_after */
    int64_t disk_reserve_bytes;           /* store.disk_reserve_bytes */
    /* ack */
    char ack_kind[VV_SETTING_TEXT_MAX]; /* ack.kind: journal|store */
    int64_t ack_timeout_ns;             /* ack.timeout: of store, then the outcome is unknown */
    /* retention */
    int64_t retention_raw_ns;   /* retention.raw: of new tenants, 0: for ever */
    int64_t expire_interval_ns; /* retention.interval */
    /* tiers */
    bool tiers_default;             /* tiers.default: of new tenants */
    int64_t tiers_percentile_error; /* tiers.percentile_error, in 1/10,000 */
    /* query */
    int64_t query_time_ns_max;      /* query.time_max */
    int64_t query_memory_bytes_max; /* query.memory_bytes_max */
    int64_t query_series_max;       /* query.series_max */
    int64_t query_concurrent_max;   /* query.concurrent_max: 503 beyond */
    int64_t query_threads;          /* query.threads */
    /* cassandra: texts as they were written; the functions below read those that are lists */
    char cassandra_contact_points[VV_SETTING_TEXT_MAX];  /* cassandra.contact_points */
    char cassandra_datacenter[VV_SETTING_TEXT_MAX];      /* cassandra.local_datacenter, "": that of
                                                            the first contact point */
    char cassandra_keyspace[VV_SETTING_TEXT_MAX];        /* cassandra.keyspace: of all regions */
    char cassandra_replication[VV_SETTING_TEXT_MAX];     /* cassandra.replication: "dc1:3,dc2:3" */
    char cassandra_region[VV_SETTING_TEXT_MAX];          /* cassandra.region */
    char cassandra_regions[VV_SETTING_TEXT_MAX];         /* cassandra.regions: "one,two" */
    char cassandra_classes[VV_SETTING_TEXT_MAX];         /* cassandra.classes: "7d,30d" */
    char cassandra_rows_tenants[VV_SETTING_TEXT_MAX];    /* cassandra.rows_tenants: "a,b", "*" */
    char cassandra_user[VV_SETTING_TEXT_MAX];            /* cassandra.user, "": no authentication */
    char cassandra_password[VV_SETTING_TEXT_MAX];        /* cassandra.password: never printed */
    char cassandra_password_file[VV_SETTING_TEXT_MAX];   /* cassandra.password_file */
    char cassandra_tls_ca[VV_SETTING_TEXT_MAX];          /* cassandra.tls_ca, "": the system's */
    char cassandra_tls_certificate[VV_SETTING_TEXT_MAX]; /* cassandra.tls_certificate */
    char cassandra_tls_key[VV_SETTING_TEXT_MAX];         /* cassandra.tls_key */
    char cassandra_consistency[VV_SETTING_TEXT_MAX];     /* cassandra.consistency */
    int64_t cassandra_requests_max;         /* cassandra.requests_max: writes under way */
    int64_t cassandra_bytes_max;            /* cassandra.bytes_max: of them */
    int64_t cassandra_parked_max;           /* cassandra.parked_max: 0: nothing is parked */
    int64_t cassandra_purge_every_ns;       /* cassandra.purge_every, 0: blocks have a TTL */
    int64_t cassandra_slack_ns;             /* cassandra.slack */
    int64_t cassandra_repair_interval_ns;   /* cassandra.repair_interval, 0: not told */
    int64_t cassandra_gc_grace_min_ns;      /* cassandra.gc_grace_min */
    int64_t cassandra_connections_per_host; /* cassandra.connections_per_host */
    int64_t cassandra_request_timeout_ns;   /* cassandra.request_timeout */
    int64_t cassandra_speculative_delay_ns; /* cassandra.speculative_delay, 0: never */
    bool cassandra_tls;                     /* cassandra.tls */
    bool cassandra_tls_skip_name_check;     /* cassandra.tls_skip_name_check */
    bool cassandra_remote_hosts;            /* cassandra.remote_hosts */
    /* fleet: with a store that several nodes share */
    int64_t fleet_beat_ns; /* fleet.beat */
    int64_t fleet_poll_ns; /* fleet.poll */
    int64_t fleet_gone_ns; /* fleet.gone_after */
};

/* All defaults. */
void vv_settings_init(struct vv_settings *settings);
/* Reads a YAML file over what is there. VV_INVALID: the message has file, line, key and what is
 * allowed; VV_NOT_FOUND; VV_IO. Nothing is changed on failure. */
VV_MUST_CHECK enum vv_status vv_settings_load(struct vv_settings *settings, const char *path,
                                              struct vv_error *error);
/* The same from text; `name` stands for the file in messages. */
VV_MUST_CHECK enum vv_status vv_settings_parse(struct vv_settings *settings, struct vv_str text,
                                               const char *name, struct vv_error *error);
/* Sets one by its dotted name, as the command line does. The name of a section that has a kind
 * means the kind: "store" is "store.kind". */
VV_MUST_CHECK enum vv_status vv_settings_set(struct vv_settings *settings, const char *name,
                                             const char *value, struct vv_error *error);
/* Checks what no single setting can (e.g. head.bytes_max ≥ 2 × head.flush_bytes). */
VV_MUST_CHECK enum vv_status vv_settings_check(const struct vv_settings *settings,
                                               struct vv_error *error);
/* A YAML file with present values, meanings as comments; valid as input. A secret that is set
 * appears as a comment only: it is missing when the file is read. */
void vv_settings_print(const struct vv_settings *settings, FILE *file);
/* docs/configuration.md: the table in Markdown. */
void vv_settings_document(FILE *file);

/* How long points of new tenants are kept, 0: for ever; of tiers.default where retention.raw does
 * not say. */
int64_t vv_settings_raw_ns(const struct vv_settings *settings);
/* How old this node's knowledge of what other nodes told may be before it asks again: their polls,
 * and some time for one that is slow. */
int64_t vv_settings_hearing_ns(const struct vv_settings *settings);
/* How long it takes, at most, until all nodes know what one has told and have ended what they did
 * without it. */
int64_t vv_settings_lead_ns(const struct vv_settings *settings);

/* ---- cassandra.c: settings that are lists, or lie in a file of their own ---- */

#define VV_SETTINGS_CLASSES_MAX 16
/* cassandra.classes in ns, ascending. VV_INVALID with a message. */
VV_MUST_CHECK enum vv_status vv_settings_classes(const struct vv_settings *settings,
                                                 int64_t classes_ns_out[VV_SETTINGS_CLASSES_MAX],
                                                 size_t *n_out, struct vv_error *error);

#define VV_SETTINGS_REPLICAS_MAX 32
struct vv_settings_replicas {
    struct vv_str datacenter; /* borrowed from the settings */
    int64_t replicas;
};
/* cassandra.replication, one for each data centre. VV_INVALID with a message. */
VV_MUST_CHECK enum vv_status vv_settings_replication(
    const struct vv_settings *settings,
    struct vv_settings_replicas replicas_out[VV_SETTINGS_REPLICAS_MAX], size_t *n_out,
    struct vv_error *error);

#define VV_SETTINGS_REGIONS_MAX    8
#define VV_SETTINGS_NAME_BYTES_MAX 48 /* of a region, of a keyspace */
struct vv_settings_region {
    char name[VV_SETTINGS_NAME_BYTES_MAX + 1];
    char keyspace[VV_SETTINGS_NAME_BYTES_MAX + 1];
};
struct vv_settings_regions {
    struct vv_settings_region regions[VV_SETTINGS_REGIONS_MAX]; /* in the order of the list */
    size_t n;
    size_t own; /* which of them is this node's */
};
/* cassandra.regions, or cassandra.region alone, with the keyspaces that cassandra.keyspace gives
 * them. VV_INVALID with a message. */
VV_MUST_CHECK enum vv_status vv_settings_regions(const struct vv_settings *settings,
                                                 struct vv_settings_regions *regions_out,
                                                 struct vv_error *error);

/* The password for Cassandra: cassandra.password, or the first line of cassandra.password_file; ""
 * when there is neither. VV_IO or VV_INVALID with a message that does not hold it. */
VV_MUST_CHECK enum vv_status vv_settings_password(const struct vv_settings *settings,
                                                  char password_out[VV_SETTING_TEXT_MAX],
                                                  struct vv_error *error);

#endif
