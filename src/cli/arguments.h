/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The words of a command line, parsed by the table of commands: options anywhere, `--name value`
 * or `--name=value`, `--` ends them, `-` is a word. Main thread only.
 */
#ifndef VV_CLI_ARGUMENTS_H
#define VV_CLI_ARGUMENTS_H

#include "base/bytes.h"

struct vv_option {
    const char *name; /* "listen" for --listen */
    char letter;      /* 'f' for -f; 0: none */
    const char
        *argument; /* "HOST:PORT", as help shows it (FILE and DIR complete paths); NULL: none */
    bool repeats;  /* each one counts; else the last one does */
    const char *choices; /* the words allowed, between bars; NULL: any */
    const char *meaning;
};

struct vv_arguments;

struct vv_command {
    const char *name;
    const char *words; /* what comes besides options, as help shows it; "" for nothing */
    size_t words_least;
    size_t words_most;
    const char *first;    /* what the first word may be, between bars, for completion; or NULL */
    const char *summary;  /* one line */
    const char *about;    /* paragraphs, each one line; or NULL */
    const char *examples; /* lines; or NULL */
    const struct vv_option *options;
    size_t n_options;
    bool client; /* talks to a server: has the options of vv_client_options too */
    int (*run)(const struct vv_arguments *arguments); /* returns an enum vv_exit */
};

struct vv_given {
    const struct vv_option *option;
    const char *value; /* borrowed of argv; NULL for a flag */
};

struct vv_arguments {
    const struct vv_command *command;
    struct vv_given *given;
    size_t n_given;
    const char **words; /* borrowed of argv */
    size_t n_words;
};

/* --server and --tenant, of every client. */
extern const struct vv_option vv_client_options[];
extern const size_t vv_client_option_count;

/* The i-th option of a command, those of clients last; NULL beyond the last. */
const struct vv_option *vv_command_option(const struct vv_command *command, size_t i);

/* What is wrong with a command line, and what to do. */
struct vv_usage {
    char message[512];
    char hint[512]; /* "" if there is none */
};

/* argv[0] is the first word after the command. `--help` is not taken here. VV_INVALID: usage_out
 * says why. Deinit in any case. */
VV_MUST_CHECK enum vv_status vv_arguments_parse(const struct vv_command *command, int argc,
                                                char **argv, struct vv_arguments *arguments_out,
                                                struct vv_usage *usage_out);
void vv_arguments_deinit(struct vv_arguments *arguments);

/* Options by name; asking for one that the command does not have is a bug. */
bool vv_arguments_flag(const struct vv_arguments *arguments, const char *name);
const char *vv_arguments_text(const struct vv_arguments *arguments, const char *name,
                              const char *fallback);
/* The values of a repeated option one by one: *at begins with 0; NULL after the last. */
const char *vv_arguments_next(const struct vv_arguments *arguments, const char *name, size_t *at);
/* Numbers: *value_out stays as it is when the option was not given. VV_INVALID: the message has the
 * option and what is allowed. */
VV_MUST_CHECK enum vv_status vv_arguments_int(const struct vv_arguments *arguments,
                                              const char *name, int64_t least, int64_t most,
                                              int64_t *value_out, struct vv_error *error);
VV_MUST_CHECK enum vv_status vv_arguments_size(const struct vv_arguments *arguments,
                                               const char *name, int64_t least, int64_t most,
                                               int64_t *value_out, struct vv_error *error);
VV_MUST_CHECK enum vv_status vv_arguments_duration(const struct vv_arguments *arguments,
                                                   const char *name, int64_t least, int64_t most,
                                                   int64_t *value_out, struct vv_error *error);

#endif
