/* SPDX-License-Identifier: Apache-2.0 */
/* Completion scripts for bash, zsh and fish, made from the table of commands. */
#include "cli/commands.h"

#include <string.h>

/* "a|b" as "a b". */
static void print_words(FILE *file, const char *bars)
{
    for (; bars && *bars; bars++) {
        fputc(*bars == '|' ? ' ' : *bars, file);
    }
}

/* Inside single quotes of a shell; `also` is a further character that gets a backslash. */
static void print_quoted(FILE *file, const char *text, const char *also)
{
    for (; *text; text++) {
        if (*text == '\'') {
            fputs("'\\''", file);
            continue;
        }
        if (strchr(also, *text)) {
            fputc('\\', file);
        }
        fputc(*text, file);
    }
}

static bool is_path(const struct vv_option *option, const char *kind)
{
    return option->argument && strcmp(option->argument, kind) == 0;
}

static bool takes_files(const struct vv_command *command)
{
    return strncmp(command->words, "FILE", 4) == 0;
}

/* ---- bash ---- */

static void bash_options(const struct vv_command *command, FILE *file)
{
    const struct vv_option *option;
    for (size_t i = 0; (option = vv_command_option(command, i)); i++) {
        fprintf(file, " --%s", option->name);
    }
    fputs(" --help", file);
}

/* What follows an option that takes a value. */
static void bash_values(const struct vv_command *command, FILE *file)
{
    const struct vv_option *option;
    for (size_t i = 0; (option = vv_command_option(command, i)); i++) {
        if (!option->argument) {
            continue;
        }
        fprintf(file, "        %s,--%s) ", command->name, option->name);
        if (option->choices) {
            fputs("COMPREPLY=($(compgen -W '", file);
            print_words(file, option->choices);
            fputs("' -- \"$word\")) ;;\n", file);
        } else if (is_path(option, "FILE") || is_path(option, "DIR")) {
            fprintf(file, "COMPREPLY=($(compgen -%c -- \"$word\")) ;;\n",
                    is_path(option, "DIR") ? 'd' : 'f');
        } else {
            fputs(";;\n", file);
        }
    }
}

static void bash_commands(FILE *file)
{
    for (size_t i = 0; i < vv_command_count; i++) {
        fprintf(file, "%s%s", i ? " " : "", vv_commands[i].name);
    }
}

static void print_bash(FILE *file)
{
    fputs("# Completion of varve for bash: source <(varve completion bash)\n"
          "_varve() {\n"
          "    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}\n"
          "    local command=${COMP_WORDS[1]} words=''\n"
          "    COMPREPLY=()\n"
          "    if ((COMP_CWORD == 1)); then\n"
          "        COMPREPLY=($(compgen -W '",
          file);
    bash_commands(file);
    fputs("' -- \"$word\"))\n        return\n    fi\n    case $command,$before in\n", file);
    for (size_t i = 0; i < vv_command_count; i++) {
        bash_values(&vv_commands[i], file);
    }
    fputs("        *) case $command in\n", file);
    for (size_t i = 0; i < vv_command_count; i++) {
        const struct vv_command *command = &vv_commands[i];
        fprintf(file, "            %s) words='", command->name);
        print_words(file, command->first);
        bash_options(command, file);
        fputs("' ;;\n", file);
    }
    fputs("        esac\n"
          "        COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n"
          "        if [[ $command == load && $word != -* ]]; then\n"
          "            COMPREPLY=($(compgen -f -- \"$word\"))\n"
          "        elif [[ $command == help ]]; then\n"
          "            COMPREPLY=($(compgen -W '",
          file);
    bash_commands(file);
    fputs("' -- \"$word\"))\n"
          "        fi ;;\n"
          "    esac\n"
          "}\n"
          "complete -o filenames -F _varve varve\n",
          file);
}

/* ---- zsh ---- */

static void zsh_option(const struct vv_option *option, FILE *file)
{
    fprintf(file, "            '%s--%s%s[", option->repeats ? "*" : "", option->name,
            option->argument ? "=" : "");
    print_quoted(file, option->meaning, "[]:\\");
    fputc(']', file);
    if (option->argument) {
        fputc(':', file);
        print_quoted(file, option->argument, ":\\");
        fputc(':', file);
        if (option->choices) {
            fputc('(', file);
            print_words(file, option->choices);
            fputc(')', file);
        } else if (is_path(option, "FILE")) {
            fputs("_files", file);
        } else if (is_path(option, "DIR")) {
            fputs("_files -/", file);
        }
    }
    fputs("' \\\n", file);
}

static void zsh_command(const struct vv_command *command, FILE *file)
{
    const struct vv_option *option;
    fprintf(file, "        %s)\n            _arguments \\\n", command->name);
    for (size_t i = 0; (option = vv_command_option(command, i)); i++) {
        zsh_option(option, file);
    }
    if (takes_files(command)) {
        fputs("            '*:file:_files' \\\n", file);
    } else if (command->first) {
        fputs("            '1:word:(", file);
        print_words(file, command->first);
        fputs(")' \\\n", file);
    }
    fputs("            '--help[explain the command]'\n            ;;\n", file);
}

static void print_zsh(FILE *file)
{
    fputs("#compdef varve\n"
          "# Completion of varve for zsh: varve completion zsh > a folder of $fpath/_varve\n"
          "_varve() {\n"
          "    local -a commands=(\n",
          file);
    for (size_t i = 0; i < vv_command_count; i++) {
        fprintf(file, "        '%s:", vv_commands[i].name);
        print_quoted(file, vv_commands[i].summary, ":\\");
        fputs("'\n", file);
    }
    fputs("    )\n"
          "    if ((CURRENT == 2)); then\n"
          "        _describe command commands\n"
          "        return\n"
          "    fi\n"
          "    local command=$words[2]\n"
          "    shift words\n"
          "    ((CURRENT--))\n"
          "    case $command in\n",
          file);
    for (size_t i = 0; i < vv_command_count; i++) {
        zsh_command(&vv_commands[i], file);
    }
    fputs("    esac\n}\ncompdef _varve varve\n", file);
}

/* ---- fish ---- */

static void fish_option(const struct vv_command *command, const struct vv_option *option,
                        FILE *file)
{
    fprintf(file, "complete -c varve -n '__fish_seen_subcommand_from %s' -l %s", command->name,
            option->name);
    if (option->letter) {
        fprintf(file, " -s %c", option->letter);
    }
    if (option->argument) {
        fputs(is_path(option, "FILE") || is_path(option, "DIR") ? " -r -F" : " -x", file);
    }
    if (option->choices) {
        fputs(" -a '", file);
        print_words(file, option->choices);
        fputc('\'', file);
    }
    fputs(" -d '", file);
    for (const char *at = option->meaning; *at; at++) {
        fputs(*at == '\'' ? "\\'" : *at == '\\' ? "\\\\" : (char[]){*at, '\0'}, file);
    }
    fputs("'\n", file);
}

static void print_fish(FILE *file)
{
    fputs("# Completion of varve for fish: varve completion fish | source\n"
          "complete -c varve -f\n",
          file);
    for (size_t i = 0; i < vv_command_count; i++) {
        const struct vv_command *command = &vv_commands[i];
        const struct vv_option *option;
        fprintf(file, "complete -c varve -n __fish_use_subcommand -a %s -d '", command->name);
        print_quoted(file, command->summary, "\\");
        fputs("'\n", file);
        for (size_t at = 0; (option = vv_command_option(command, at)); at++) {
            fish_option(command, option, file);
        }
        if (takes_files(command)) {
            fprintf(file, "complete -c varve -n '__fish_seen_subcommand_from %s' -F\n",
                    command->name);
        } else if (command->first) {
            fprintf(file, "complete -c varve -n '__fish_seen_subcommand_from %s' -a '",
                    command->name);
            print_words(file, command->first);
            fputs("'\n", file);
        }
    }
}

bool vv_completion_print(const char *shell, FILE *file)
{
    if (strcmp(shell, "bash") == 0) {
        print_bash(file);
    } else if (strcmp(shell, "zsh") == 0) {
        print_zsh(file);
    } else if (strcmp(shell, "fish") == 0) {
        print_fish(file);
    } else {
        return false;
    }
    return true;
}

int vv_completion_run(const struct vv_arguments *arguments)
{
    if (vv_completion_print(arguments->words[0], stdout)) {
        return VV_EXIT_OK;
    }
    return vv_usage_fail(arguments->command, "there is no completion script for that shell",
                         "allowed: bash, zsh, fish");
}
