/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The commands of the program `varve`: one table feeds parsing, help, completion and the man page.
 * Main thread only.
 */
#ifndef VV_CLI_COMMANDS_H
#define VV_CLI_COMMANDS_H

#include "cli/arguments.h"

#include <stdio.h>

/* How the program ends; documented in the man page and in docs/operations.md. */
enum vv_exit {
    VV_EXIT_OK = 0,
    VV_EXIT_FAILED = 1,        /* it did not work; the message says why */
    VV_EXIT_USAGE = 2,         /* the command line is wrong; nothing was done */
    VV_EXIT_REFUSED = 3,       /* load, backfill: some points were refused, all others are stored */
    VV_EXIT_UNREACHABLE = 4,   /* no server answers */
    VV_EXIT_INTERRUPTED = 130, /* Ctrl-C */
};

extern const struct vv_command vv_commands[];
extern const size_t vv_command_count;

/* The command of that name; NULL. */
const struct vv_command *vv_command_find(const char *name);

/* The whole program: argv as main gets it; returns the exit code. */
int vv_cli_run(int argc, char **argv);

/* Says what is wrong with a command line, and the hint; returns VV_EXIT_USAGE. */
int vv_usage_fail(const struct vv_command *command, const char *message, const char *hint);

/* `varve help`: all commands, or one (NULL: all). */
void vv_help_overview(FILE *file);
void vv_help_command(const struct vv_command *command, FILE *file);
/* The manual page in roff. */
void vv_manual_print(FILE *file);
/* The completion script of a shell: bash, zsh or fish; false for another. */
bool vv_completion_print(const char *shell, FILE *file);

/* What the commands do; each returns an enum vv_exit. */
int vv_serve_run(const struct vv_arguments *arguments);
int vv_load_run(const struct vv_arguments *arguments);
int vv_backfill_run(const struct vv_arguments *arguments);
int vv_export_run(const struct vv_arguments *arguments);
int vv_query_run(const struct vv_arguments *arguments);
int vv_latest_run(const struct vv_arguments *arguments);
int vv_sources_run(const struct vv_arguments *arguments);
int vv_metrics_run(const struct vv_arguments *arguments);
int vv_tags_run(const struct vv_arguments *arguments);
/* `varve metrics` without set. */
int vv_metrics_list(const struct vv_arguments *arguments);
int vv_tenants_run(const struct vv_arguments *arguments);
int vv_nodes_run(const struct vv_arguments *arguments);
int vv_purge_run(const struct vv_arguments *arguments);
int vv_plan_run(const struct vv_arguments *arguments);
int vv_delete_run(const struct vv_arguments *arguments);
int vv_reroll_run(const struct vv_arguments *arguments);
int vv_flush_run(const struct vv_arguments *arguments);
int vv_health_run(const struct vv_arguments *arguments);
int vv_bench_run(const struct vv_arguments *arguments);
int vv_schema_run(const struct vv_arguments *arguments);
int vv_config_run(const struct vv_arguments *arguments);
int vv_completion_run(const struct vv_arguments *arguments);
int vv_version_run(const struct vv_arguments *arguments);
int vv_help_run(const struct vv_arguments *arguments);

#endif
