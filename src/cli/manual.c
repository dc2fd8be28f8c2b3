/* SPDX-License-Identifier: Apache-2.0 */
/* The manual page varve(1) in roff, made from the table of commands. */
#include "cli/commands.h"

#include <string.h>

/* Text of one line: backslashes and hyphens are literal, a dot or quote at the start too. */
static void print_text(FILE *file, const char *text)
{
    if (*text == '.' || *text == '\'') {
        fputs("\\&", file);
    }
    for (; *text; text++) {
        if (*text == '\\') {
            fputs("\\e", file);
        } else if (*text == '-') {
            fputs("\\-", file);
        } else if (*text == '\n') {
            fputs("\n.PP\n", file);
        } else {
            fputc(*text, file);
        }
    }
    fputc('\n', file);
}

static void print_option(FILE *file, const struct vv_option *option)
{
    fputs(".TP\n.B ", file);
    if (option->letter) {
        fprintf(file, "\\-%c, ", option->letter);
    }
    fputs("\\-\\-", file);
    for (const char *at = option->name; *at; at++) {
        fputs(*at == '-' ? "\\-" : (char[]){*at, '\0'}, file);
    }
    fprintf(file, "%s%s\n", option->argument ? " " : "", option->argument ? option->argument : "");
    print_text(file, option->meaning);
}

static void print_examples(FILE *file, const char *examples)
{
    fputs(".PP\nExamples:\n.nf\n", file);
    while (*examples) {
        char line[1024];
        size_t size = strcspn(examples, "\n");
        snprintf(line, sizeof line, "  %.*s", (int)size, examples);
        print_text(file, line);
        examples += size;
        examples += *examples == '\n';
    }
    fputs(".fi\n", file);
}

static void print_command(FILE *file, const struct vv_command *command)
{
    fprintf(file, ".SS varve %s %s\n", command->name, command->words);
    print_text(file, command->summary);
    if (command->about) {
        fputs(".PP\n", file);
        print_text(file, command->about);
    }
    for (size_t i = 0; i < command->n_options; i++) {
        print_option(file, &command->options[i]);
    }
    if (command->examples) {
        print_examples(file, command->examples);
    }
}

static const char page_end[] =
    ".SH ENVIRONMENT\n"
    ".TP\n.B VARVE_SERVER\nThe server of all client commands.\n"
    ".TP\n.B VARVE_TENANT\nTheir tenant.\n"
    ".TP\n.B NO_COLOR\nWhen it is set and not empty, nothing is coloured.\n"
    ".SH EXIT STATUS\n"
    ".TP\n.B 0\nAll is well; load: every point is stored.\n"
    ".TP\n.B 1\nIt did not work; the message says why. schema: something is different.\n"
    ".TP\n.B 2\nThe command line is wrong; nothing was done.\n"
    ".TP\n.B 3\nload, backfill: some points were refused, all others are stored.\n"
    ".TP\n.B 4\nNo server answers; schema: no Cassandra.\n"
    ".TP\n.B 130\nInterrupted by Ctrl\\-C.\n";

void vv_manual_print(FILE *file)
{
    fputs(".TH VARVE 1 \"\" \"varve " VARVE_VERSION "\" \"Varve\"\n", file);
    fputs(".SH NAME\nvarve \\- telemetry and time\\-series service\n", file);
    fputs(".SH SYNOPSIS\n.B varve\n.I COMMAND\n[\\fIOPTIONS\\fR] [\\fIWORDS\\fR]\n", file);
    fputs(".SH COMMANDS\n", file);
    for (size_t i = 0; i < vv_command_count; i++) {
        print_command(file, &vv_commands[i]);
    }
    fputs(".SH OPTIONS OF ALL CLIENTS\n", file);
    for (size_t i = 0; i < vv_client_option_count; i++) {
        print_option(file, &vv_client_options[i]);
    }
    fputs(page_end, file);
}
