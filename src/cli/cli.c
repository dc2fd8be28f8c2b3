/* SPDX-License-Identifier: Apache-2.0 */
/* From argv to a command. */
#include "cli/commands.h"

#include "cli/terminal.h"
#include "settings/suggest.h"

int vv_usage_fail(const struct vv_command *command, const char *message, const char *hint)
{
    vv_say_error("%s", message);
    if (hint && *hint) {
        vv_say_hint("%s", hint);
    } else {
        vv_say_hint("`varve help %s` explains it", command ? command->name : "");
    }
    return VV_EXIT_USAGE;
}

static int refuse_command(const char *name)
{
    struct vv_suggestion suggestion;
    vv_suggestion_init(&suggestion, vv_str_of(name));
    for (size_t i = 0; i < vv_command_count; i++) {
        vv_suggestion_offer(&suggestion, vv_commands[i].name);
    }
    vv_say_error("there is no command '%.64s'", name);
    if (suggestion.best) {
        vv_say_hint("did you mean `varve %s`?", suggestion.best);
    } else {
        vv_say_hint("`varve help` lists the commands");
    }
    return VV_EXIT_USAGE;
}

/* Whether help is asked for before a `--`. */
static bool asks_for_help(int argc, char **argv)
{
    for (int i = 0; i < argc && strcmp(argv[i], "--") != 0; i++) {
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            return true;
        }
    }
    return false;
}

/* What was printed must have arrived, on a full disk too. */
static int flush_output(int code)
{
    if (fflush(stdout) != 0 || ferror(stdout)) {
        vv_say_error("cannot write to standard output");
        return code == VV_EXIT_OK ? VV_EXIT_FAILED : code;
    }
    return code;
}

static int run_command(const struct vv_command *command, int argc, char **argv)
{
    struct vv_arguments arguments;
    struct vv_usage usage;
    int code;
    if (asks_for_help(argc, argv)) {
        vv_help_command(command, stdout);
        return VV_EXIT_OK;
    }
    if (vv_arguments_parse(command, argc, argv, &arguments, &usage) == VV_OK) {
        code = command->run(&arguments);
    } else {
        code = vv_usage_fail(command, usage.message, usage.hint);
    }
    vv_arguments_deinit(&arguments);
    return code;
}

int vv_cli_run(int argc, char **argv)
{
    if (argc < 2) {
        vv_help_overview(stderr);
        return VV_EXIT_USAGE;
    }
    const char *name = argv[1];
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0) {
        name = "help";
    } else if (strcmp(name, "--version") == 0 || strcmp(name, "-V") == 0) {
        name = "version";
    }
    const struct vv_command *command = vv_command_find(name);
    if (!command) {
        return refuse_command(name);
    }
    return flush_output(run_command(command, argc - 2, argv + 2));
}

int vv_version_run(const struct vv_arguments *arguments)
{
    (void)arguments;
    puts("varve " VARVE_VERSION);
    return VV_EXIT_OK;
}
