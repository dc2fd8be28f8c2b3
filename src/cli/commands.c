/* SPDX-License-Identifier: Apache-2.0 */
/* The table of commands and their options. */
#include "cli/commands.h"

#include "cli/load_options.h"

#include <string.h>

#define COUNT(array)   (sizeof(array) / sizeof(array)[0])
#define OPTIONS(array) array, COUNT(array)
#define ANY_WORDS      SIZE_MAX

#define FORMAT_OPTION                                                                              \
    {                                                                                              \
        "format", 'f', "FORMAT", false, "table|csv|json",                                          \
            "table, csv or json; else a table at a terminal and CSV in a pipe"                     \
    }
#define LIST_FORMAT_OPTION                                                                         \
    {                                                                                              \
        "format", 'f', "FORMAT", false, "table|json", "A table, or the server's JSON"              \
    }
#define TIME_FORMAT_OPTION                                                                         \
    {                                                                                              \
        "time-format", 0, "FORM", false, "rfc3339|ns|us|ms|s", "How times are written"             \
    }
#define METRIC_OPTION                                                                              \
    {                                                                                              \
        "metric", 'm', "NAME", true, NULL,                                                         \
            "A metric, or a pattern such as 'pump.*'; several with "                               \
            "commas. Plain words do as well"                                                       \
    }
#define SOURCE_OPTION                                                                              \
    {                                                                                              \
        "source", 0, "ID", true, NULL, "Only this source; ~PATTERN for several"                    \
    }
#define TAG_OPTION                                                                                 \
    {                                                                                              \
        "tag", 0, "FILTER", true, NULL,                                                            \
            "Only sources with this tag: KEY=VALUE, KEY=A|B, KEY!=VALUE, "                         \
            "KEY~PATTERN"                                                                          \
    }
#define LIMIT_OPTION                                                                               \
    {                                                                                              \
        "limit", 'n', "N", false, NULL, "At most so many rows"                                     \
    }

static const struct vv_option serve_options[] = {
    {"data", 'd', "DIR", false, NULL, "The folder for everything; made if it is missing"},
    {"listen", 'l', "HOST:PORT", false, NULL, "Where to listen; port 0 takes any free one"},
    {"config", 'c', "FILE", false, NULL, "A YAML file of settings; `varve config` prints one"},
    {"set", 0, "NAME=VALUE", true, NULL, "One setting, such as head.flush_age=1m"},
};

static const struct vv_option load_options[] = {
    VV_LOAD_INPUT_OPTIONS,
    {"now", 0, NULL, false, NULL,
     "Line protocol: lines without a timestamp get the time at which loading began; else they "
     "are refused, because loading them again would store them twice"},
    {"ack", 0, "WHEN", false, "journal|store",
     "When a batch counts as stored: in the server's journal, or confirmed by its store; as the "
     "server is set if not given"},
    {"batch-lines", 0, "N", false, NULL, "Lines in one request; 5000 if not given"},
    {"batch-bytes", 0, "SIZE", false, NULL, "Bytes in one request; 1MiB if not given"},
    {"connections", 0, "N", false, NULL, "Requests at the same time; 2 if not given"},
    {"retry", 0, "DURATION", false, NULL,
     "How long a busy or lost server is waited for; 2m if not given"},
    {"quiet", 'q', NULL, false, NULL, "No progress and no summary, only errors"},
};

static const struct vv_option backfill_options[] = {
    VV_LOAD_INPUT_OPTIONS,
    {"staging", 0, "DIR", false, NULL,
     "The folder for what is on its way; varve-backfill in the present one if not given"},
    {"restart", 0, NULL, false, NULL, "Begin anew, whatever backfill the folder has"},
    {"replace-frozen", 0, NULL, false, NULL,
     "Replace what tiers have of days whose points have expired"},
    {"dry-run", 0, NULL, false, NULL,
     "Only stage, and say what would be replaced and loaded; the same command goes on from there"},
    {"memory", 0, "SIZE", false, NULL, "What is sorted at once in memory; 64MiB if not given"},
    {"rate", 0, "N", false, NULL, "Points a second at most; as fast as it goes if not given"},
    {"ack", 0, "WHEN", false, "journal|store", "When a batch counts as stored; see `load`"},
    {"batch-lines", 0, "N", false, NULL, "Lines in one request; 1000 if not given"},
    {"batch-bytes", 0, "SIZE", false, NULL, "Bytes in one request; 1MiB if not given"},
    {"connections", 0, "N", false, NULL, "Requests at the same time; 1 if not given"},
    {"retry", 0, "DURATION", false, NULL,
     "How long a busy or lost server is waited for; 1h if not given"},
    {"json", 0, NULL, false, NULL, "The summary as JSON"},
    {"quiet", 'q', NULL, false, NULL, "No progress and no summary, only errors"},
};

static const struct vv_option query_options[] = {
    METRIC_OPTION,
    SOURCE_OPTION,
    TAG_OPTION,
    {"from", 0, "TIME", false, NULL, "From this time on: 2014-02-08T00:00:00Z, -6h, now-7d"},
    {"to", 0, "TIME", false, NULL, "Until before this time"},
    {"before", 0, "TIME", false, NULL, "The newest --limit points before this time"},
    {"step", 0, "DURATION", false, NULL, "One row for each step, such as 1m, 1h, 1d"},
    {"points", 0, "N", false, NULL, "Choose the step so that there are at most so many rows"},
    {"tier", 0, "TIER", false, "auto|raw|minute|hour|day", "Which tier is to answer"},
    {"agg", 'a', "NAMES", true, NULL,
     "What of each step: count, sum, min, max, mean, stddev, first, last, first_time, last_time, "
     "median, p0 … p100, rate, increase, delta; several with commas"},
    {"group-by", 'g', "TAGS", true, NULL, "Fold sources together by these tags; all: into one"},
    {"where", 0, "CONDITION", true, NULL, "Only points such as 'value>80'; each must hold"},
    {"order", 0, "ORDER", false, "asc|desc", "Oldest or newest first"},
    {"limit", 'n', "N", false, NULL, "At most so many rows of each series"},
    {"fill", 0, "HOW", false, "none|null|zero|previous|linear", "What empty steps show"},
    {"partial", 0, "HOW", false, "refused|allowed",
     "Whether the answer may leave out what can't be read at the moment"},
    {"tz", 0, "ZONE", false, NULL, "Days of a time zone such as Europe/Berlin"},
    {"epoch", 0, "UNIT", false, "ns|us|ms|s", "The unit of --from and --to as plain numbers"},
    TIME_FORMAT_OPTION,
    FORMAT_OPTION,
};

static const struct vv_option export_options[] = {
    {"output", 'o', "FILE", false, NULL,
     "Write to this file, compressed if its name ends with .gz; it has this name only when it is "
     "complete"},
    {"format", 'f', "FORMAT", false, "line|jsonl|csv",
     "line protocol (the default), JSON lines, or CSV with one row for each value"},
    {"measurement", 0, "NAME", true, NULL,
     "Only this measurement; a pattern for several. Plain words do as well"},
    {"metric", 'm', "NAME", true, NULL, "Only this metric, or a pattern such as 'pump.*'"},
    SOURCE_OPTION,
    TAG_OPTION,
    {"from", 0, "TIME", false, NULL, "From this time on: 2014-02-08T00:00:00Z, -6h, now-7d"},
    {"to", 0, "TIME", false, NULL, "Until before this time"},
    {"epoch", 0, "UNIT", false, "ns|us|ms|s", "The unit of --from and --to as plain numbers"},
    {"quiet", 'q', NULL, false, NULL, "No progress and no summary, only errors"},
};

static const struct vv_option latest_options[] = {
    METRIC_OPTION,      SOURCE_OPTION,
    TAG_OPTION,         {"from", 0, "TIME", false, NULL, "Nothing older than this"},
    TIME_FORMAT_OPTION, FORMAT_OPTION,
};

static const struct vv_option sources_options[] = {
    SOURCE_OPTION,
    TAG_OPTION,
    {"history", 0, NULL, false, NULL, "All versions of the tags, not only the present one"},
    {"after", 0, "ID", false, NULL, "Sources after this one, to go on with a long list"},
    LIMIT_OPTION,
    TIME_FORMAT_OPTION,
    FORMAT_OPTION,
};

static const struct vv_option metrics_options[] = {
    {"unit", 'u', "UNIT", false, NULL, "set: the unit, such as °C"},
    {"description", 0, "TEXT", false, NULL, "set: what the metric is"},
    {"file", 0, "FILE", false, NULL, "set: a CSV file with the columns metric,unit,description"},
    LIMIT_OPTION,
    FORMAT_OPTION,
};

static const struct vv_option tags_options[] = {LIMIT_OPTION, FORMAT_OPTION};

static const struct vv_option tenants_options[] = {
    {"retention", 0, "DURATION", false, NULL,
     "set: how long points are kept, such as 30d, or forever"},
    {"tiers", 0, "TIERS", false, NULL,
     "set: default, off, or how long each tier is kept: minute=30d,hour=365d,day=forever; hour=off "
     "switches one off"},
    {"late", 0, "POLICY", false, "accept|separate|refuse",
     "set: what is done with points that come late"},
    {"late-limit", 0, "DURATION", false, NULL,
     "set: how old a point may be before it is late, such as 1h"},
    {"class", 0, "NAME", false, NULL,
     "set: a class of measurements: --retention and --tiers are of it, not of the tenant"},
    {"measurements", 0, "LIST", false, NULL,
     "set: what the class takes: names with commas between, or how they begin, such as debug*"},
    LIST_FORMAT_OPTION,
};

static const struct vv_option nodes_options[] = {LIST_FORMAT_OPTION};

static const struct vv_option purge_options[] = {
    {"now", 0, NULL, false, NULL, "Ask for a purge of each class, as soon as it may be"},
    LIST_FORMAT_OPTION};

static const struct vv_option plan_options[] = {
    {"bucket", 0, "DURATION", false, NULL,
     "From the earliest date that is safe: how long a bucket "
     "is, such as 1h"},
    {"span", 0, "DURATION", false, NULL, "How much of it is sealed at once; divides the bucket"},
    {"splits", 0, "N", false, NULL, "Into how many partitions a bucket is divided"},
    LIST_FORMAT_OPTION,
};

static const struct vv_option delete_options[] = {
    {"metric", 'm', "NAME", true, NULL, "Only this metric, or a pattern such as 'pump.*'"},
    {"measurement", 0, "NAME", true, NULL, "Only this measurement; a pattern for several"},
    SOURCE_OPTION,
    TAG_OPTION,
    {"all", 0, NULL, false, NULL, "Everything of the tenant, instead of the four above"},
    {"from", 0, "TIME", false, NULL, "From this time on: 2014-02-08T00:00:00Z, -6h, now-7d"},
    {"to", 0, "TIME", false, NULL, "Until before this time"},
    {"all-time", 0, NULL, false, NULL, "All of time, instead of --from and --to"},
    {"epoch", 0, "UNIT", false, "ns|us|ms|s", "The unit of --from and --to as plain numbers"},
    {"dry-run", 0, NULL, false, NULL, "Only say what would be deleted"},
    {"yes", 'y', NULL, false, NULL, "Do not ask; needed where nobody can be asked"},
    {"format", 'f', "FORMAT", false, "text|json", "A line of text, or the server's JSON"},
};

static const struct vv_option reroll_options[] = {
    SOURCE_OPTION,
    TAG_OPTION,
    {"measurement", 0, "NAME", true, NULL, "Only this measurement; a pattern for several"},
    {"from", 0, "TIME", false, NULL, "From this time on: 2014-02-08T00:00:00Z, -6h, now-7d"},
    {"to", 0, "TIME", false, NULL, "Until before this time"},
    {"epoch", 0, "UNIT", false, "ns|us|ms|s", "The unit of --from and --to as plain numbers"},
    {"tier", 0, "TIER", false, "auto|minute|hour|day", "Only this tier; all, finest first, if not"},
    {"check", 0, NULL, false, NULL, "Only compare, repair nothing"},
    {"format", 'f', "FORMAT", false, "text|json", "A few lines of text, or the server's JSON"},
};

static const struct vv_option flush_options[] = {
    {"seal", 0, NULL, false, NULL, "Seal every span too, over or not"},
};

static const struct vv_option bench_options[] = {
    {"hosts", 0, "N", false, NULL, "Sources; 100 if not given"},
    {"interval", 0, "DURATION", false, NULL, "Between two reports of a host; 10s if not given"},
    {"start", 0, "TIME", false, NULL, "The first report; 2016-01-01T00:00:00Z if not given"},
    {"points", 0, "N", false, NULL, "How many points; 1000000 if not given"},
    {"duration", 0, "DURATION", false, NULL, "Stop after this time instead"},
    {"rate", 0, "N", false, NULL, "Points a second at most; as fast as it goes if not given"},
    {"connections", 0, "N", false, NULL, "Requests at the same time; 2 if not given"},
    {"batch-lines", 0, "N", false, NULL, "Lines in one request; 1000 if not given"},
    {"values", 0, "TYPE", false, "int|float", "Whole numbers or floating point; int if not given"},
    {"seed", 0, "N", false, NULL, "Of the random walk; 1 if not given"},
    {"print", 0, NULL, false, NULL, "Write the lines to standard output, send nothing"},
    {"format", 'f', "FORMAT", false, "text|json", "How the figures are printed"},
};

static const struct vv_option schema_options[] = {
    {"apply", 0, NULL, false, NULL, "Make what is missing, and say what is different"},
    {"check", 0, NULL, false, NULL, "Only say what is different"},
    {"json", 0, NULL, false, NULL, "JSON instead of CQL or a table"},
    {"config", 'c', "FILE", false, NULL, "A YAML file of settings, as for `varve serve`"},
    {"set", 0, "NAME=VALUE", true, NULL, "One setting, such as cassandra.replication=dc1:3"},
};

static const struct vv_option config_options[] = {
    {"config", 'c', "FILE", false, NULL, "Read this file over the defaults"},
    {"set", 0, "NAME=VALUE", true, NULL, "One setting"},
    {"markdown", 0, NULL, false, NULL, "The table of settings as a page of documentation"},
};

static const struct vv_option health_options[] = {
    {"wait", 0, "DURATION", false, NULL, "Wait so long for the server to be ready"},
};

static const struct vv_option help_options[] = {
    {"man", 0, NULL, false, NULL, "The manual page in roff, for `man -l -`"},
};

const struct vv_command vv_commands[] = {
    {
        .name = "serve",
        .words = "",
        .summary = "run the server",
        .about =
            "Opens the data folder, listens, replays what the journal holds, and takes writes. "
            "The log on standard error says `listening address=…` when the port is open and "
            "`ready` when writes are taken.\n"
            "SIGTERM or Ctrl-C stop it cleanly within seconds; a second signal ends it at once, "
            "which loses nothing that was acknowledged.",
        .examples = "varve serve --data /var/lib/varve --listen 127.0.0.1:8987\n"
                    "varve serve --config varve.yaml --set log.level=debug",
        .options = OPTIONS(serve_options),
        .run = vv_serve_run,
    },
    {
        .name = "load",
        .words = "FILE…|-",
        .words_least = 1,
        .words_most = ANY_WORDS,
        .summary = "load files of line protocol or CSV",
        .about =
            "Reads files or standard input (-), plain or compressed with gzip or zstd, and writes "
            "them to a server in batches. A bad line is one bad line: it is reported with file and "
            "line, the rest is stored.\n"
            "Loading is safe to repeat: the same point again is the same point. Start it again "
            "after an interruption and nothing is there twice.\n"
            "A busy server (503) and an outcome that is not known are tried again with growing "
            "pauses. Points of one series go over one connection, so the last of two equal times "
            "in a file counts.",
        .examples = "varve load history.lp.gz --precision s\n"
                    "varve load --csv pump.csv --measurement pump --tag machine=press-4 "
                    "--field value=temperature\n"
                    "zcat dump.gz | varve load - --tenant plant1",
        .options = OPTIONS(load_options),
        .client = true,
        .run = vv_load_run,
    },
    {
        .name = "backfill",
        .words = "FILE…|-",
        .words_least = 1,
        .words_most = ANY_WORDS,
        .summary = "load history in the order of time, until all tiers are built",
        .about =
            "Reads files as `load` does, sorts all of their lines by time in a staging folder, "
            "loads "
            "them in that order, so that each span is sealed once and not again and again, and "
            "waits until the server has sealed them and built all tiers of them.\n"
            "After an interruption, or when the server was away for too long, the same command "
            "goes "
            "on where it was. What was refused is kept in the staging folder, in refused.lp, with "
            "the reasons: of each request the lines that the server lists, its first 16.\n"
            "Files may be of any size and order, and overlap; of equal times the last line counts. "
            "Staging takes some 1.5 times the files' size on the disk.\n"
            "With --replace-frozen, days whose points have expired are made of the files alone: of "
            "each day, source and metric that the files have a point of, all steps of the tiers "
            "are "
            "replaced, and the points themselves are not kept.",
        .examples = "varve backfill archive/*.lp.gz --precision s --staging /var/tmp/archive\n"
                    "varve backfill --csv 2024.csv --measurement pump --rate 50000 --json\n"
                    "varve backfill --replace-frozen --dry-run mended/*.lp.gz",
        .options = OPTIONS(backfill_options),
        .client = true,
        .run = vv_backfill_run,
    },
    {
        .name = "query",
        .words = "[METRIC…]",
        .words_most = ANY_WORDS,
        .summary = "ask for points or for aggregates by step",
        .about =
            "The words are those of the HTTP API; docs/query-language.md explains them. A table "
            "shows six significant digits and a sparkline of each series; CSV and JSON show "
            "every digit.",
        .examples =
            "varve query machine.temperature --from -1d\n"
            "varve query machine.temperature --step 1h --agg mean,max,p99\n"
            "varve query cpu.usage --step 1d --agg max --group-by region --tz Europe/Berlin\n"
            "varve query pump.pressure --where 'value>8' --order desc --limit 20",
        .options = OPTIONS(query_options),
        .client = true,
        .run = vv_query_run,
    },
    {
        .name = "export",
        .words = "[MEASUREMENT…]",
        .words_most = ANY_WORDS,
        .summary = "write all points as line protocol, JSON lines or CSV",
        .about =
            "Sources in the order of their ids, of each one measurement after the other, ascending "
            "in time, every digit. `varve load` of line protocol gives the same points again; a "
            "server with ingest.id_tag needs the same setting.\n"
            "What is written while it runs may be in it or not. What has expired, or only "
            "tiers still have, is not. Ends with 0 only when all points that are kept are there: a "
            "file that is cut short never has the name that was asked for.",
        .examples = "varve export --output plant.lp.gz --tenant plant\n"
                    "varve export cpu mem --from -1d | gzip > day.lp.gz\n"
                    "varve export --tag site=a --format csv --output site-a.csv",
        .options = OPTIONS(export_options),
        .client = true,
        .run = vv_export_run,
    },
    {
        .name = "latest",
        .words = "[METRIC…]",
        .words_most = ANY_WORDS,
        .summary = "the newest value of each source and metric",
        .examples = "varve latest\nvarve latest machine.temperature --tag site=a",
        .options = OPTIONS(latest_options),
        .client = true,
        .run = vv_latest_run,
    },
    {
        .name = "sources",
        .words = "[ID…]",
        .words_most = ANY_WORDS,
        .summary = "sources and their tags",
        .examples = "varve sources --tag site=a\nvarve sources --history",
        .options = OPTIONS(sources_options),
        .client = true,
        .run = vv_sources_run,
    },
    {
        .name = "metrics",
        .words = "[PATTERN…] | set [METRIC]",
        .words_most = ANY_WORDS,
        .first = "set",
        .summary = "metrics, their types and units; set units",
        .examples = "varve metrics 'machine.*'\n"
                    "varve metrics set machine.temperature --unit °C --description 'inlet'\n"
                    "varve metrics set --file units.csv",
        .options = OPTIONS(metrics_options),
        .client = true,
        .run = vv_metrics_run,
    },
    {
        .name = "tags",
        .words = "[KEY]",
        .words_most = 1,
        .summary = "keys of tags, or the values of one",
        .examples = "varve tags\nvarve tags site",
        .options = OPTIONS(tags_options),
        .client = true,
        .run = vv_tags_run,
    },
    {
        .name = "tenants",
        .words = "[set NAME]",
        .words_most = 2,
        .first = "set",
        .summary = "tenants, what they wrote, how long it is kept",
        .examples = "varve tenants\nvarve tenants set plant1 --retention 30d\n"
                    "varve tenants set plant1 --tiers default\n"
                    "varve tenants set plant1 --late refuse --late-limit 1h\n"
                    "varve tenants set plant1 --class debug --measurements 'debug*' "
                    "--retention 6h --tiers off",
        .options = OPTIONS(tenants_options),
        .client = true,
        .run = vv_tenants_run,
    },
    {
        .name = "nodes",
        .words = "",
        .summary = "the nodes that share the store",
        .about = "This node first. `flushed until`: what the node took before is in the store, for "
                 "all others to see. `partial`: it could not take all that the others told, so it "
                 "leaves sealing to them; its log says why (fleet_not_learnt).",
        .examples = "varve nodes\nvarve nodes --format json",
        .options = OPTIONS(nodes_options),
        .client = true,
        .run = vv_nodes_run,
    },
    {
        .name = "purge",
        .words = "",
        .summary = "show, or ask for, purging by copying on Cassandra",
        .about = "Where cassandra.purge_every is set, what must live of a class is copied into "
                 "another table now and then, and the old one is truncated, one class at a time. "
                 "Several hosts share the work; it goes on when one of them ends.",
        .examples = "varve purge\nvarve purge --now",
        .options = OPTIONS(purge_options),
        .client = true,
        .run = vv_purge_run,
    },
    {
        .name = "plan",
        .words = "SOURCE",
        .words_least = 1,
        .words_most = 1,
        .summary = "show or change how a source is divided",
        .about = "Points of a source lie in partitions: buckets of time, perhaps with splits. A "
                 "source that grows gets shorter ones by itself. A change never touches what is "
                 "there: it begins ahead, and is listed with its date.",
        .examples = "varve plan pump-7\nvarve plan pump-7 --bucket 1h --splits 4",
        .options = OPTIONS(plan_options),
        .client = true,
        .run = vv_plan_run,
    },
    {
        .name = "delete",
        .words = "",
        .summary = "delete a range of time of sources, metrics or tags",
        .about =
            "What was written until now is in no answer any more as soon as the command ends, "
            "but that steps of tiers whose points have expired follow within seconds; its bytes go "
            "when its spans are sealed again, in the background. What is written "
            "afterwards is there, the same times included.",
        .examples = "varve delete --tag site=north --metric pump.temperature --from 2026-03-01T00:"
                    "00:00Z --to 2026-03-02T00:00:00Z\n"
                    "varve delete --source pump-7 --all-time --dry-run",
        .options = OPTIONS(delete_options),
        .client = true,
        .run = vv_delete_run,
    },
    {
        .name = "reroll",
        .words = "",
        .summary = "build tiers again, compare, and repair what differs",
        .about =
            "Builds the units of tiers again of what is below them, compares them with what is "
            "stored, and puts right what differs or is missing; with --check it only says so. "
            "Where "
            "what is below is not certainly whole (expired, not sealed, damaged, from before that "
            "tier was on) nothing is touched, and the reason is said.\n"
            "The server does it in the background, between flushes. Ends with 0 when all is as it "
            "should be, or was repaired; 1 when something is not; 3 when some of it was refused.",
        .examples = "varve reroll --check\n"
                    "varve reroll --source pump-7 --from 2025-03-01 --to 2025-04-01 --tier hour",
        .options = OPTIONS(reroll_options),
        .client = true,
        .run = vv_reroll_run,
    },
    {
        .name = "flush",
        .words = "",
        .summary = "bring what is in memory into the store",
        .about = "Waits until it is done. Before a copy of the data folder, for tests and benches.",
        .examples = "varve flush --seal",
        .options = OPTIONS(flush_options),
        .client = true,
        .run = vv_flush_run,
    },
    {
        .name = "health",
        .words = "",
        .summary = "whether the server lives and takes writes",
        .about = "Ends with 0 when it is ready, 1 when it is not, 4 when nothing answers.",
        .examples = "varve health\nvarve health --wait 30s",
        .options = OPTIONS(health_options),
        .client = true,
        .run = vv_health_run,
    },
    {
        .name = "bench",
        .words = "",
        .summary = "write generated points and measure it",
        .about =
            "Hosts that report ten metrics of their CPU, in the shape of TSBS's cpu-only load. The "
            "same seed gives the same points. Works against any server that takes line protocol "
            "at /write.",
        .examples = "varve bench --points 5000000 --connections 4\n"
                    "varve bench --rate 20000 --duration 5m\n"
                    "varve bench --print --points 1000 | head",
        .options = OPTIONS(bench_options),
        .client = true,
        .run = vv_bench_run,
    },
    {
        .name = "schema",
        .words = "",
        .summary = "print, make or check the tables in Cassandra",
        .about =
            "Prints the keyspace and tables of the settings as CQL, for cqlsh. With --apply it "
            "connects to Cassandra itself (no server is needed), makes what is missing and brings "
            "an older version up to date; with --check it only looks.\n"
            "What was changed by hand is shown with the statement that mends it, where there is "
            "one, and is never changed. Ends with 0 when all is as it should be, 1 when something "
            "is different or failed, 4 when Cassandra cannot be reached.",
        .examples = "varve schema --set cassandra.replication=dc1:3\n"
                    "varve schema --apply --config varve.yaml\n"
                    "varve schema --check --config varve.yaml --json",
        .options = OPTIONS(schema_options),
        .run = vv_schema_run,
    },
    {
        .name = "config",
        .words = "",
        .summary = "print all settings with their meaning",
        .about = "What is printed is a complete file for `varve serve --config`.",
        .examples = "varve config > varve.yaml\nvarve config --config varve.yaml",
        .options = OPTIONS(config_options),
        .run = vv_config_run,
    },
    {
        .name = "completion",
        .words = "bash|zsh|fish",
        .words_least = 1,
        .words_most = 1,
        .first = "bash|zsh|fish",
        .summary = "print the completion script of a shell",
        .examples = "source <(varve completion bash)",
        .run = vv_completion_run,
    },
    {
        .name = "version",
        .words = "",
        .summary = "print the version",
        .run = vv_version_run,
    },
    {
        .name = "help",
        .words = "[COMMAND]",
        .words_most = 1,
        .summary = "explain a command",
        .options = OPTIONS(help_options),
        .run = vv_help_run,
    },
};

const size_t vv_command_count = COUNT(vv_commands);

const struct vv_command *vv_command_find(const char *name)
{
    for (size_t i = 0; i < vv_command_count; i++) {
        if (strcmp(vv_commands[i].name, name) == 0) {
            return &vv_commands[i];
        }
    }
    return NULL;
}
