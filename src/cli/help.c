/* SPDX-License-Identifier: Apache-2.0 */
/* Help texts, made from the table of commands. */
#include "cli/commands.h"

#include "cli/terminal.h"

#define LINE_COLUMNS   80
#define OPTION_COLUMN  30 /* where meanings begin */
#define SUMMARY_COLUMN 13

/* Words filled into lines of `columns`; the first line begins at column `at`, others at `indent`.
 */
static void print_filled(FILE *file, const char *text, size_t at, size_t indent, size_t columns)
{
    size_t column = at;
    bool first = true;
    while (*text) {
        size_t bytes = strcspn(text, " ");
        size_t width = vv_terminal_width((struct vv_str){text, bytes});
        if (!first && column + 1 + width > columns) {
            fprintf(file, "\n%*s", (int)indent, "");
            column = indent;
        } else if (!first) {
            fputc(' ', file);
            column++;
        }
        fwrite(text, 1, bytes, file);
        column += width;
        first = false;
        text += bytes;
        text += strspn(text, " ");
    }
    fputc('\n', file);
}

static void print_heading(FILE *file, const char *text)
{
    char begin[16];
    char end[16];
    fprintf(file, "%s%s%s\n", vv_terminal_colour(file, VV_COLOUR_BOLD, begin), text,
            vv_terminal_colour(file, NULL, end));
}

void vv_help_overview(FILE *file)
{
    fputs("Varve keeps telemetry and time series, durably and small.\n\n", file);
    print_heading(file, "usage");
    fputs("  varve COMMAND [OPTIONS] [WORDS]\n\n", file);
    print_heading(file, "commands");
    for (size_t i = 0; i < vv_command_count; i++) {
        fprintf(file, "  %-*s%s\n", SUMMARY_COLUMN - 2, vv_commands[i].name,
                vv_commands[i].summary);
    }
    fputs("\n`varve help COMMAND` explains one. The first steps:\n\n"
          "  varve serve --data varve-data\n"
          "  varve load --csv machine.csv --measurement machine\n"
          "  varve query 'machine.*' --step 1h --agg mean,max\n",
          file);
}

static void print_option(FILE *file, const struct vv_option *option)
{
    char left[64];
    char letter[8] = "    ";
    if (option->letter) {
        snprintf(letter, sizeof letter, "-%c, ", option->letter);
    }
    snprintf(left, sizeof left, "  %s--%s%s%s", letter, option->name, option->argument ? " " : "",
             option->argument ? option->argument : "");
    size_t width = vv_terminal_width(vv_str_of(left));
    fputs(left, file);
    if (width + 2 > OPTION_COLUMN) {
        fprintf(file, "\n%*s", OPTION_COLUMN, "");
    } else {
        fprintf(file, "%*s", (int)(OPTION_COLUMN - width), "");
    }
    print_filled(file, option->meaning, OPTION_COLUMN, OPTION_COLUMN, LINE_COLUMNS + 12);
}

static void print_lines(FILE *file, const char *text, const char *indent, bool fill)
{
    while (text && *text) {
        size_t size = strcspn(text, "\n");
        char line[1024];
        snprintf(line, sizeof line, "%.*s", (int)size, text);
        fputs(indent, file);
        if (fill) {
            print_filled(file, line, strlen(indent), strlen(indent), LINE_COLUMNS);
        } else {
            fprintf(file, "%s\n", line);
        }
        text += size;
        text += *text == '\n';
        if (fill && *text) {
            fputc('\n', file);
        }
    }
}

void vv_help_command(const struct vv_command *command, FILE *file)
{
    const struct vv_option *option = vv_command_option(command, 0);
    fprintf(file, "varve %s: %s\n\n", command->name, command->summary);
    print_heading(file, "usage");
    fprintf(file, "  varve %s%s%s%s\n", command->name, option ? " [OPTIONS]" : "",
            *command->words ? " " : "", command->words);
    if (command->about) {
        fputc('\n', file);
        print_lines(file, command->about, "", true);
    }
    if (option) {
        fputc('\n', file);
        print_heading(file, "options");
        for (size_t i = 0; (option = vv_command_option(command, i)); i++) {
            print_option(file, option);
        }
    }
    if (command->examples) {
        fputc('\n', file);
        print_heading(file, "examples");
        print_lines(file, command->examples, "  ", false);
    }
}

int vv_help_run(const struct vv_arguments *arguments)
{
    if (vv_arguments_flag(arguments, "man")) {
        vv_manual_print(stdout);
        return VV_EXIT_OK;
    }
    if (arguments->n_words == 0) {
        vv_help_overview(stdout);
        return VV_EXIT_OK;
    }
    const struct vv_command *command = vv_command_find(arguments->words[0]);
    if (!command) {
        return vv_usage_fail(arguments->command, "there is no such command",
                             "`varve help` lists all");
    }
    vv_help_command(command, stdout);
    return VV_EXIT_OK;
}
