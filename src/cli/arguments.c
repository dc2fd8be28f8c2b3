/* SPDX-License-Identifier: Apache-2.0 */
/* Parsing of options and words by the table of commands. */
#include "cli/arguments.h"

#include "base/clock.h"
#include "settings/suggest.h"
#include "settings/value.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

const struct vv_option vv_client_options[] = {
    {"server", 's', "URL", false, NULL,
     "The server; else $VARVE_SERVER, else http://127.0.0.1:8987"},
    {"tenant", 't', "NAME", false, NULL, "The tenant; else $VARVE_TENANT, else default"},
};
const size_t vv_client_option_count = sizeof vv_client_options / sizeof vv_client_options[0];

const struct vv_option *vv_command_option(const struct vv_command *command, size_t i)
{
    if (i < command->n_options) {
        return &command->options[i];
    }
    i -= command->n_options;
    return command->client && i < vv_client_option_count ? &vv_client_options[i] : NULL;
}

static enum vv_status refuse(struct vv_usage *usage, const char *message, const char *hint)
{
    snprintf(usage->message, sizeof usage->message, "%s", message);
    snprintf(usage->hint, sizeof usage->hint, "%s", hint);
    return VV_INVALID;
}

static const struct vv_option *find_long(const struct vv_command *command, struct vv_str name)
{
    const struct vv_option *option;
    for (size_t i = 0; (option = vv_command_option(command, i)); i++) {
        if (vv_str_equal(vv_str_of(option->name), name)) {
            return option;
        }
    }
    return NULL;
}

static const struct vv_option *find_letter(const struct vv_command *command, char letter)
{
    const struct vv_option *option;
    for (size_t i = 0; (option = vv_command_option(command, i)); i++) {
        if (letter && option->letter == letter) {
            return option;
        }
    }
    return NULL;
}

static enum vv_status refuse_option(const struct vv_command *command, struct vv_str typed,
                                    struct vv_usage *usage)
{
    char message[256];
    char hint[256];
    struct vv_suggestion suggestion;
    vv_suggestion_init(&suggestion, typed);
    const struct vv_option *option;
    for (size_t i = 0; (option = vv_command_option(command, i)); i++) {
        vv_suggestion_offer(&suggestion, option->name);
    }
    snprintf(message, sizeof message, "`varve %s` has no option --%.*s", command->name,
             typed.size > 64 ? 64 : (int)typed.size, typed.data);
    if (suggestion.best) {
        snprintf(hint, sizeof hint, "did you mean --%s?", suggestion.best);
    } else {
        snprintf(hint, sizeof hint, "`varve help %s` lists its options", command->name);
    }
    return refuse(usage, message, hint);
}

static bool is_choice(const char *choices, const char *value)
{
    size_t size = strlen(value);
    for (const char *at = choices; *at;) {
        size_t length = strcspn(at, "|");
        if (length == size && memcmp(at, value, size) == 0) {
            return true;
        }
        at += length + (at[length] == '|');
    }
    return false;
}

/* "table|csv" as "table, csv". */
static void list_choices(const char *choices, char *out, size_t out_size)
{
    size_t used = 0;
    for (const char *at = choices; *at && used + 3 < out_size; at++) {
        if (*at == '|') {
            out[used++] = ',';
            out[used++] = ' ';
        } else {
            out[used++] = *at;
        }
    }
    out[used] = '\0';
}

static enum vv_status add_given(struct vv_arguments *arguments, const struct vv_option *option,
                                const char *value, struct vv_usage *usage)
{
    if (option->choices && value && !is_choice(option->choices, value)) {
        char message[256];
        char hint[256];
        char choices[200];
        snprintf(message, sizeof message, "--%s: '%.64s' is not one of its words", option->name,
                 value);
        list_choices(option->choices, choices, sizeof choices);
        snprintf(hint, sizeof hint, "allowed: %s", choices);
        return refuse(usage, message, hint);
    }
    arguments->given[arguments->n_given++] = (struct vv_given){option, value};
    return VV_OK;
}

static enum vv_status refuse_value(const struct vv_option *option, bool missing,
                                   struct vv_usage *usage)
{
    char message[256];
    char hint[256];
    if (missing) {
        snprintf(message, sizeof message, "--%s needs a value", option->name);
        snprintf(hint, sizeof hint, "write --%s %s", option->name, option->argument);
    } else {
        snprintf(message, sizeof message, "--%s takes no value", option->name);
        snprintf(hint, sizeof hint, "write --%s alone", option->name);
    }
    return refuse(usage, message, hint);
}

/* One option and its value, which may be the next word; *at moves on behind it. */
static enum vv_status take_option(struct vv_arguments *arguments, int argc, char **argv, int *at,
                                  struct vv_usage *usage)
{
    const char *text = argv[(*at)++];
    bool is_long = text[1] == '-';
    const char *equals = is_long ? strchr(text, '=') : NULL;
    struct vv_str name = vv_str_of(text + 1 + is_long);
    if (equals) {
        name.size = (size_t)(equals - name.data);
    }
    const struct vv_option *option = is_long          ? find_long(arguments->command, name)
                                     : name.size == 1 ? find_letter(arguments->command, *name.data)
                                                      : NULL;
    if (!option) {
        return refuse_option(arguments->command, name, usage);
    }
    const char *value = equals ? equals + 1 : NULL;
    if (!option->argument) {
        return value ? refuse_value(option, false, usage)
                     : add_given(arguments, option, NULL, usage);
    }
    if (!value) {
        if (*at == argc) {
            return refuse_value(option, true, usage);
        }
        value = argv[(*at)++];
    }
    return add_given(arguments, option, value, usage);
}

static enum vv_status check_words(const struct vv_arguments *arguments, struct vv_usage *usage)
{
    const struct vv_command *command = arguments->command;
    char message[256];
    char hint[256];
    snprintf(hint, sizeof hint, "write `varve %s%s%s`", command->name, *command->words ? " " : "",
             command->words);
    if (arguments->n_words < command->words_least) {
        snprintf(message, sizeof message, "`varve %s` needs %s", command->name, command->words);
        return refuse(usage, message, hint);
    }
    if (arguments->n_words > command->words_most) {
        snprintf(message, sizeof message, "`varve %s` does not take '%.64s'", command->name,
                 arguments->words[command->words_most]);
        return refuse(usage, message, hint);
    }
    return VV_OK;
}

enum vv_status vv_arguments_parse(const struct vv_command *command, int argc, char **argv,
                                  struct vv_arguments *arguments_out, struct vv_usage *usage_out)
{
    size_t room = argc > 0 ? (size_t)argc : 1;
    *usage_out = (struct vv_usage){0};
    *arguments_out = (struct vv_arguments){
        .command = command,
        .given = calloc(room, sizeof *arguments_out->given),
        .words = calloc(room, sizeof *arguments_out->words),
    };
    if (!arguments_out->given || !arguments_out->words) {
        return refuse(usage_out, "out of memory", "");
    }
    bool options = true;
    for (int at = 0; at < argc;) {
        const char *text = argv[at];
        if (options && strcmp(text, "--") == 0) {
            options = false;
            at++;
        } else if (options && text[0] == '-' && text[1] != '\0') {
            enum vv_status status = take_option(arguments_out, argc, argv, &at, usage_out);
            if (status != VV_OK) {
                return status;
            }
        } else {
            arguments_out->words[arguments_out->n_words++] = text;
            at++;
        }
    }
    return check_words(arguments_out, usage_out);
}

void vv_arguments_deinit(struct vv_arguments *arguments)
{
    free(arguments->given);
    free(arguments->words);
    *arguments = (struct vv_arguments){0};
}

const char *vv_arguments_next(const struct vv_arguments *arguments, const char *name, size_t *at)
{
    const struct vv_option *option = find_long(arguments->command, vv_str_of(name));
    vv_invariant(option != NULL);
    while (*at < arguments->n_given) {
        const struct vv_given *given = &arguments->given[(*at)++];
        if (given->option == option) {
            return given->value ? given->value : "";
        }
    }
    return NULL;
}

bool vv_arguments_flag(const struct vv_arguments *arguments, const char *name)
{
    size_t at = 0;
    return vv_arguments_next(arguments, name, &at) != NULL;
}

const char *vv_arguments_text(const struct vv_arguments *arguments, const char *name,
                              const char *fallback)
{
    const char *last = fallback;
    const char *value;
    for (size_t at = 0; (value = vv_arguments_next(arguments, name, &at));) {
        last = value;
    }
    return last;
}

enum vv_status vv_arguments_int(const struct vv_arguments *arguments, const char *name,
                                int64_t least, int64_t most, int64_t *value_out,
                                struct vv_error *error)
{
    int64_t value;
    const char *text = vv_arguments_text(arguments, name, NULL);
    if (!text) {
        return VV_OK;
    }
    if (!vv_int_parse(vv_str_of(text), &value) || value < least || value > most) {
        return vv_error_set(error, VV_INVALID,
                            "--%s: '%.64s' is not a number from %" PRId64 " to %" PRId64, name,
                            text, least, most);
    }
    *value_out = value;
    return VV_OK;
}

enum vv_status vv_arguments_size(const struct vv_arguments *arguments, const char *name,
                                 int64_t least, int64_t most, int64_t *value_out,
                                 struct vv_error *error)
{
    int64_t value;
    const char *text = vv_arguments_text(arguments, name, NULL);
    if (!text) {
        return VV_OK;
    }
    if (!vv_size_parse(vv_str_of(text), &value) || value < least || value > most) {
        char low[VV_SIZE_TEXT_SIZE];
        char high[VV_SIZE_TEXT_SIZE];
        vv_size_format(least, low);
        vv_size_format(most, high);
        return vv_error_set(error, VV_INVALID, "--%s: '%.64s' is not a size from %s to %s", name,
                            text, low, high);
    }
    *value_out = value;
    return VV_OK;
}

enum vv_status vv_arguments_duration(const struct vv_arguments *arguments, const char *name,
                                     int64_t least, int64_t most, int64_t *value_out,
                                     struct vv_error *error)
{
    int64_t value;
    const char *text = vv_arguments_text(arguments, name, NULL);
    if (!text) {
        return VV_OK;
    }
    if (vv_duration_parse(vv_str_of(text), &value, NULL) != VV_OK || value < least ||
        value > most) {
        char low[VV_TIME_TEXT_SIZE];
        char high[VV_TIME_TEXT_SIZE];
        vv_duration_format(least, low);
        vv_duration_format(most, high);
        return vv_error_set(error, VV_INVALID, "--%s: '%.64s' is not a duration from %s to %s",
                            name, text, low, high);
    }
    *value_out = value;
    return VV_OK;
}
