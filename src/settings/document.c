/* SPDX-License-Identifier: Apache-2.0 */
/* The table for people: `varve config` prints YAML, docs/configuration.md is Markdown. */
#include "settings/settings.h"

#include "settings/table.h"

#define COMMENT_COLUMNS 96
#define SECTION_MAX     32

/* What comes before the first dot; "" for a name without one. */
static void section_of(const char *name, char *out)
{
    size_t size = strcspn(name, ".");
    snprintf(out, SECTION_MAX, "%.*s", name[size] == '.' ? (int)size : 0, name);
}

static const char *key_of(const char *name)
{
    const char *dot = strchr(name, '.');
    return dot ? dot + 1 : name;
}

/* Words of a comment, filled into lines that each begin with `indent` and "# ". */
static void print_comment(FILE *file, const char *indent, const char *text)
{
    size_t column = 0;
    while (*text) {
        size_t word = strcspn(text, " ");
        if (column > 0 && column + 1 + word > COMMENT_COLUMNS) {
            fputc('\n', file);
            column = 0;
        }
        if (column == 0) {
            column = (size_t)fprintf(file, "%s#", indent);
        }
        column += (size_t)fprintf(file, " %.*s", (int)word, text);
        text += word;
        text += strspn(text, " ");
    }
    fputc('\n', file);
}

/* Texts are quoted, so that none is taken for a number or a comment. */
static void print_value(FILE *file, const struct vv_setting *row, const char *value)
{
    if (row->type != VV_SETTING_TEXT && row->type != VV_SETTING_SECRET) {
        fputs(value, file);
        return;
    }
    fputc('"', file);
    for (const char *at = value; *at; at++) {
        if (*at == '"' || *at == '\\') {
            fputc('\\', file);
        }
        fputc(*at, file);
    }
    fputc('"', file);
}

static void print_row(FILE *file, const struct vv_settings *settings, const struct vv_setting *row,
                      const char *indent)
{
    char about[1024];
    char allowed[192];
    char value[VV_SETTING_WRITTEN_SIZE];
    vv_setting_allowed(row, allowed, sizeof allowed);
    snprintf(about, sizeof about, "%s. Allowed: %s. Default: %s.", row->meaning, allowed,
             *row->preset ? row->preset : "empty");
    print_comment(file, indent, about);
    if (vv_setting_is_hidden(row, settings)) {
        fprintf(file, "%s# %s: it is set, and not shown\n", indent, key_of(row->name));
        return;
    }
    vv_setting_write(row, settings, value);
    fprintf(file, "%s%s: ", indent, key_of(row->name));
    print_value(file, row, value);
    fputc('\n', file);
}

void vv_settings_print(const struct vv_settings *settings, FILE *file)
{
    char before[SECTION_MAX] = "";
    fputs("# Settings of Varve. Every key may be left out: then its default holds.\n", file);
    for (size_t i = 0; i < vv_setting_count; i++) {
        const struct vv_setting *row = &vv_setting_table[i];
        char section[SECTION_MAX];
        section_of(row->name, section);
        if (*section && strcmp(section, before) != 0) {
            fprintf(file, "\n%s:\n", section);
        }
        snprintf(before, sizeof before, "%s", section);
        print_row(file, settings, row, *section ? "  " : "");
    }
}

static const char *type_name(enum vv_setting_type type)
{
    switch (type) {
    case VV_SETTING_SIZE:
        return "size";
    case VV_SETTING_DURATION:
        return "duration";
    case VV_SETTING_INT:
        return "number";
    case VV_SETTING_BOOL:
        return "yes or no";
    case VV_SETTING_ENUM:
        return "word";
    case VV_SETTING_SECRET:
        return "secret";
    case VV_SETTING_TEXT:
        break;
    }
    return "text";
}

static void document_row(FILE *file, const struct vv_setting *row)
{
    char allowed[192];
    vv_setting_allowed(row, allowed, sizeof allowed);
    fprintf(file, "| `%s` | %s | ", row->name, type_name(row->type));
    if (*row->preset) {
        fprintf(file, "`%s`", row->preset);
    } else {
        fputs("empty", file);
    }
    fprintf(file, " | %s | %s. |\n", allowed, row->meaning);
}

static const char document_head[] =
    "# Configuration\n"
    "\n"
    "This page is written by `varve config --markdown`; a test checks that it is current.\n"
    "\n"
    "Every setting has a default, so that `varve serve` runs without a file. A value comes from,\n"
    "each over the one before: the default, the YAML file (`varve serve --config FILE`), the\n"
    "command line (`--data`, `--listen`, `--set name=value`). `varve config` prints a complete\n"
    "file with the values that would be used, ready to be edited.\n"
    "\n"
    "In YAML the dots are levels; a dotted key does as well:\n"
    "\n"
    "```yaml\n"
    "data: /var/lib/varve\n"
    "http:\n"
    "  listen: 127.0.0.1:8987\n"
    "head.flush_age: 1m\n"
    "```\n"
    "\n"
    "`store: cassandra` is short for `store.kind: cassandra`, `ack: store` for `ack.kind: store`.\n"
    "A secret is never printed, neither by `varve config` nor in messages.\n"
    "\n"
    "Sizes are bytes, or have a unit: `KiB`, `MiB`, `GiB`, `TiB` (powers of 1024), `KB`, `MB`,\n"
    "`GB`, `TB` (powers of 1000). Durations are written like `250ms`, `30s`, `10m`, `1h30m`, "
    "`7d`,\n"
    "`1w`. An unknown key, a wrong type, a value out of range and a key that is given twice are\n"
    "errors that name the file, the line and what is allowed; nothing is guessed.\n";

void vv_settings_document(FILE *file)
{
    char before[SECTION_MAX] = "?";
    fputs(document_head, file);
    for (size_t i = 0; i < vv_setting_count; i++) {
        const struct vv_setting *row = &vv_setting_table[i];
        char section[SECTION_MAX];
        section_of(row->name, section);
        if (strcmp(section, before) != 0) {
            fprintf(file, "\n## %s\n\n", *section ? section : "general");
            fputs("| setting | type | default | allowed | meaning |\n", file);
            fputs("|---|---|---|---|---|\n", file);
        }
        snprintf(before, sizeof before, "%s", section);
        document_row(file, row);
    }
}
