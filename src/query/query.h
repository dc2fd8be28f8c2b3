/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Queries: from a request in words to streamed rows.
 *
 * Words: a request is what the user asked, parsed and checked; a result is a running query that
 * yields rows one by one; a format writes rows as JSON or CSV into a buffer.
 * Flow: vv_request_parse → vv_result_open → vv_result_write until VV_DONE → vv_result_close.
 * A result does no more work than it is asked for, so that a slow client holds no thread: the
 * caller writes some 64 KiB at a time and comes back when the client took them.
 * Threads: one thread at a time for one request or result, not always the same.
 */
#ifndef VV_QUERY_QUERY_H
#define VV_QUERY_QUERY_H

#include "base/clock.h"
#include "deletion/deletions.h"
#include "fleet/members.h"
#include "head/head.h"
#include "model/space.h"
#include "registry/registry.h"
#include "store/store.h"

struct vv_fetch;

/* Where answers come from. */
struct vv_query_context {
    struct vv_registry *registry;
    struct vv_head *head;
    struct vv_store *store;
    struct vv_clock *clock;
    struct vv_deletions *deletions; /* NULL: there are none */
    struct vv_members *members;     /* of cohorts, where nodes share the store; NULL: it has none */
    bool partial;                   /* what can't be read now is left out and named in the facts */
    struct vv_fetch *fetch;         /* a result's own; NULL in the context that it is opened with */
    /* From when on all is there that was written, of a tenant or a space: what is older may have
     * expired, though it would be kept now. Any thread. NULL: retentions say it. */
    int64_t (*whole_from)(void *whole_context, uint32_t number);
    /* Before when a tier, by its space, may lack what its retention keeps: it had expired, or what
     * it is built of had, when that was made longer or the tier was switched on. Any thread. NULL:
     * none lacks anything. */
    int64_t (*lacked_before)(void *whole_context, uint32_t space);
    void *whole_context;
    /* Of which other regions (a bit by number) a part is in no answer. Any thread. NULL: of none.
     */
    uint32_t (*regions_in_part)(void *whole_context);
};

struct vv_query_limits {
    int64_t time_ns_max;       /* for one query, counted while it works or waits */
    uint64_t memory_bytes_max; /* for one query */
    uint64_t series_max;       /* sources × metrics of one query */
    int64_t future_ns_max;     /* accepted future of points: how far "newest" looks */
};

/* What kind of answer: the paths of the API. */
enum vv_request_kind {
    VV_REQUEST_QUERY,   /* /api/v1/query: points, or steps of aggregates */
    VV_REQUEST_LATEST,  /* /api/v1/latest: the newest value of each source and metric */
    VV_REQUEST_SOURCES, /* /api/v1/sources */
    VV_REQUEST_METRICS, /* /api/v1/metrics */
    VV_REQUEST_TAGS,    /* /api/v1/tags */
    VV_REQUEST_EXPORT,  /* /api/v1/export: all points, to be loaded again */
    VV_REQUEST_DELETE,  /* /api/v1/delete: no result, see vv_request_order */
    VV_REQUEST_REROLL,  /* /api/v1/reroll: the same */
};
#define VV_REQUEST_KINDS 6 /* that have a result */

/* The last two are for exports only, which have no JSON. */
enum vv_format { VV_FORMAT_JSON, VV_FORMAT_CSV, VV_FORMAT_LINE, VV_FORMAT_JSON_LINES };

/* One parameter of the request, in the words of the HTTP API: `metric`, `from`, `tag`, … */
struct vv_parameter {
    struct vv_str name;
    struct vv_str value;
};

struct vv_request;

/*
 * Parses and checks parameters, whatever door they came through (URL, form, JSON object, command
 * line). The words and their meaning are in docs/query-language.md and README.md. VV_INVALID:
 * the message names the parameter, what was given and what is allowed; an unknown parameter is an
 * error. Parameters of the door itself (u, p, pretty …) are taken out by the door before.
 */
VV_MUST_CHECK enum vv_status vv_request_parse(enum vv_request_kind kind,
                                              const struct vv_parameter *parameters, size_t n,
                                              int64_t now_ns, struct vv_request **request_out,
                                              struct vv_error *error);
/* The same from a JSON object {"metric": ["a", "b"], "from": "-6h", …}: strings, numbers, booleans
 * and arrays of them become parameters of the same names. */
VV_MUST_CHECK enum vv_status vv_request_parse_json(enum vv_request_kind kind, struct vv_str json,
                                                   int64_t now_ns, struct vv_request **request_out,
                                                   struct vv_error *error);
void vv_request_destroy(struct vv_request *request);

/* The tenant's name: `tenant` or `db`, else "default". */
struct vv_str vv_request_tenant(const struct vv_request *request);
/* As `format=` says; `fallback` when it says nothing (line protocol for an export's JSON). */
enum vv_format vv_request_format(const struct vv_request *request, enum vv_format fallback);

/* What a request to delete, or to reroll, selects. */
struct vv_delete_selection {
    uint64_t sources;
    uint64_t metrics; /* that there are now, of those asked for */
    int64_t from;
    int64_t to;
    bool dry_run;
    int tier;                        /* of a VV_REQUEST_REROLL: of enum vv_space; VV_SPACES: all */
    struct vv_deletion_order *order; /* to be freed; NULL: nothing is selected */
};
/* From the names of a VV_REQUEST_DELETE, or VV_REQUEST_REROLL, to the numbers of now. VV_NOT_FOUND
 * for an unknown tenant, measurement or metric; VV_TOO_LARGE beyond sources_max. */
VV_MUST_CHECK enum vv_status vv_request_order(const struct vv_query_context *context,
                                              const struct vv_request *request,
                                              uint64_t sources_max,
                                              struct vv_delete_selection *selection_out,
                                              struct vv_error *error);

struct vv_result;

/* Resolves names and prepares; reads nothing yet. Takes the request in any case. VV_NOT_FOUND for
 * an unknown tenant or metric, VV_TOO_LARGE beyond series_max. */
VV_MUST_CHECK enum vv_status vv_result_open(const struct vv_query_context *context,
                                            const struct vv_query_limits *limits,
                                            struct vv_request *take_request, enum vv_format format,
                                            struct vv_result **result_out, struct vv_error *error);
void vv_result_close(struct vv_result *result);

/*
 * Appends the next part of the answer to buffer until it has at least `enough` bytes more (and
 * hardly more than some 20 KiB beyond, unless a single row is larger), or the answer is complete
 * (VV_DONE; its end, with the facts about the answer, has been appended). One call also returns
 * after some 200,000 points read or 20 ms, even with less output or none (VV_OK). An error in the
 * middle (VV_TIMEOUT, VV_TOO_LARGE, VV_CORRUPT, VV_IO …): what was appended before it is whole
 * rows. Before anything was appended, the caller answers with the error; later, it calls
 * vv_result_abort.
 */
VV_MUST_CHECK enum vv_status vv_result_write(struct vv_result *result, struct vv_buffer *buffer,
                                             size_t enough, struct vv_error *error);
/* Ends a broken answer so that a client sees it: JSON gets `"complete": false` and an error object
 * and is closed properly; CSV and line protocol get a line `# error: …`, JSON lines {"error":…}. */
void vv_result_abort(struct vv_result *result, struct vv_buffer *buffer, enum vv_status status,
                     const struct vv_error *error);

/* A part of the asked range that could not be read, where `partial=allowed`. */
struct vv_missing {
    uint32_t source;
    uint8_t region; /* whose part of it */
    int64_t from;
    int64_t to;
};
#define VV_MISSING_MAX 16

/* A node that shares the store and has not been heard of for a while. */
struct vv_gone_node {
    uint32_t node;
    int64_t flushed_until_ns; /* what it acknowledged before is in the store */
};
#define VV_GONE_MAX 16

/* Another region of the store. */
struct vv_region_fact {
    char name[VV_REGION_NAME_SIZE];
    enum vv_region_state state;
    /* Of a readable one: up to when, by their clocks, what its nodes acknowledged has come here; no
     * promise, since regions replicate in any order. The least of those that are heard of; where
     * none is, the greatest of all. */
    bool was_heard;
    int64_t heard_until_ns;
};

/* What of an answer came from a tier, or from raw points beside tiers. */
struct vv_tier_fact {
    uint64_t parts;   /* stretches of series; 0: nothing, and no times */
    uint64_t cohorts; /* of them: of many sources at once */
    uint64_t steps;   /* of the tier */
    int64_t from;     /* the first part's begin, the last one's end */
    int64_t to;
    /* Of a tier: up to when it is built; of the sources and metrics in the answer, where it is
     * built the least far. */
    bool is_sealed;
    int64_t sealed_until;
};

/* What an answer is; also in the answer itself, in JSON, as "facts". */
struct vv_result_facts {
    uint64_t rows; /* given */
    uint64_t points_read;
    uint64_t partitions_read;
    uint64_t pieces_read; /* runs and blocks opened */
    uint64_t bytes_read;  /* of them, encoded */
    int64_t duration_ns;
    bool complete;
    uint64_t partitions_missing;
    struct vv_missing missing[VV_MISSING_MAX]; /* the first of them */
    bool has_expired;                          /* what the range has before … */
    int64_t expired_before; /* … is kept no more, or of points alone: may have expired */
    bool has_lacks;         /* tiers might answer, which are to have steps from before … */
    int64_t lacks_before;   /* … and may not: they were switched on, or made longer, since then */
    uint64_t late_outstanding; /* runs of late points that were read and are not folded yet */
    double percentile_error;   /* relative bound; 0 when exact */
    uint8_t n_tiers;           /* that might have answered; 0: raw points alone */
    uint8_t coarsest_tier;     /* of them: enum vv_space */
    struct vv_tier_fact tiers[VV_SPACES + 1]; /* by enum vv_space; the last: of raw points */
    bool has_peers;            /* other nodes of this region share the store, and what follows is
                                  of them: */
    bool times_are_own;        /* of sources: of points that this node took */
    int64_t complete_until_ns; /* what any of them acknowledged before, by its clock, was there */
    uint64_t nodes_gone;
    struct vv_gone_node gone[VV_GONE_MAX]; /* the first of them, ascending */
    uint8_t n_regions;                     /* with the own one; below 2: there are no others */
    struct vv_region_fact regions[VV_REGIONS_MAX]; /* by number; the own one has a name only */
};
void vv_result_read_facts(const struct vv_result *result, struct vv_result_facts *facts_out);

#endif
