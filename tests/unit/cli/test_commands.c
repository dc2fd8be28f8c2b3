/* SPDX-License-Identifier: Apache-2.0 */
/* The table of commands, and that help, manual and completions speak of all of it. */
#include "cli/commands.h"

#include "cli/terminal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

static void options_are_unique_and_explained(void **state)
{
    (void)state;
    for (size_t i = 0; i < vv_command_count; i++) {
        const struct vv_command *command = &vv_commands[i];
        const struct vv_option *a;
        assert_ptr_equal(vv_command_find(command->name), command);
        assert_true(command->words && *command->summary && command->run);
        for (size_t j = 0; (a = vv_command_option(command, j)); j++) {
            const struct vv_option *b;
            assert_true(*a->meaning && a->meaning[strlen(a->meaning) - 1] != '.');
            assert_true(strcmp(a->name, "help") != 0 && a->letter != 'h');
            for (size_t k = 0; k < j && (b = vv_command_option(command, k)); k++) {
                assert_string_not_equal(a->name, b->name);
                assert_true(!a->letter || a->letter != b->letter);
            }
        }
    }
    assert_null(vv_command_find("nothing"));
}

/* What print writes, for the caller to free. */
static char *printed(void (*print)(const struct vv_command *, FILE *),
                     const struct vv_command *command)
{
    char *text = NULL;
    size_t size = 0;
    FILE *file = open_memstream(&text, &size);
    assert_non_null(file);
    print(command, file);
    fclose(file);
    return text;
}

static void overview(const struct vv_command *command, FILE *file)
{
    (void)command;
    vv_help_overview(file);
}

static void manual(const struct vv_command *command, FILE *file)
{
    (void)command;
    vv_manual_print(file);
}

static void bash(const struct vv_command *command, FILE *file)
{
    (void)command;
    assert_true(vv_completion_print("bash", file));
}

static void zsh(const struct vv_command *command, FILE *file)
{
    (void)command;
    assert_true(vv_completion_print("zsh", file));
}

static void fish(const struct vv_command *command, FILE *file)
{
    (void)command;
    assert_true(vv_completion_print("fish", file));
}

static void the_overview_names_each_command(void **state)
{
    (void)state;
    char *text = printed(overview, NULL);
    for (size_t i = 0; i < vv_command_count; i++) {
        char line[256];
        snprintf(line, sizeof line, "\n  %-11s%s\n", vv_commands[i].name, vv_commands[i].summary);
        assert_non_null(strstr(text, line));
    }
    free(text);
}

static void help_names_each_option_in_short_lines(void **state)
{
    (void)state;
    for (size_t i = 0; i < vv_command_count; i++) {
        const struct vv_option *option;
        char *text = printed(vv_help_command, &vv_commands[i]);
        for (size_t j = 0; (option = vv_command_option(&vv_commands[i], j)); j++) {
            char name[64];
            snprintf(name, sizeof name, "--%s%s%s", option->name, option->argument ? " " : "",
                     option->argument ? option->argument : "");
            assert_non_null(strstr(text, name));
        }
        static const char examples[] = "examples\n";
        for (const char *at = text; *at && strncmp(at, examples, sizeof examples - 1) != 0;) {
            size_t size = strcspn(at, "\n");
            if (vv_terminal_width((struct vv_str){at, size}) > 92) {
                fail_msg("too long: %.*s", (int)size, at);
            }
            assert_true(size == 0 || at[size - 1] != ' ');
            at += size + (at[size] == '\n');
        }
        free(text);
    }
}

static void manual_and_completions_name_everything(void **state)
{
    (void)state;
    char *texts[] = {printed(manual, NULL), printed(bash, NULL), printed(zsh, NULL),
                     printed(fish, NULL)};
    for (size_t i = 0; i < vv_command_count; i++) {
        for (size_t j = 0; j < 4; j++) {
            assert_non_null(strstr(texts[j], vv_commands[i].name));
        }
        for (size_t j = 0; j < vv_commands[i].n_options; j++) {
            const char *name = vv_commands[i].options[j].name;
            char bash_name[64];
            char fish_name[64];
            snprintf(bash_name, sizeof bash_name, "--%s", name);
            snprintf(fish_name, sizeof fish_name, "-l %s", name);
            assert_non_null(strstr(texts[1], bash_name));
            assert_non_null(strstr(texts[2], bash_name));
            assert_non_null(strstr(texts[3], fish_name));
        }
    }
    assert_false(vv_completion_print("csh", stderr));
    for (size_t i = 0; i < 4; i++) {
        free(texts[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(options_are_unique_and_explained),
        cmocka_unit_test(the_overview_names_each_command),
        cmocka_unit_test(help_names_each_option_in_short_lines),
        cmocka_unit_test(manual_and_completions_name_everything),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
