/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Settings from YAML, event by event: maps inside maps are dotted names. The structure is as deep
 * as the table's names, so a hostile file is refused at its first wrong key.
 */
#include "settings/settings.h"

#include "settings/table.h"

#include <errno.h>
#include <stdlib.h>
#include <yaml.h>

#define FILE_BYTES_MAX (1u << 20)
#define NAME_BYTES_MAX 128
#define SETTINGS_MAX   128
#define SHOWN_KEY_MAX  64

struct reader {
    yaml_parser_t parser;
    struct vv_settings settings; /* what has been read so far, over what was there */
    const char *file;
    bool seen[SETTINGS_MAX];   /* by row: the setting was given */
    bool opened[SETTINGS_MAX]; /* by the section's first row: it was begun */
    struct vv_error *error;
};

/* A dotted name, the path of the map that is being read. */
struct path {
    char text[NAME_BYTES_MAX];
    size_t size;
};

static enum vv_status fail(struct reader *reader, size_t line, enum vv_status status)
{
    return vv_error_prefix(reader->error, status, "%.200s:%zu", reader->file, line + 1);
}

static enum vv_status fail_syntax(struct reader *reader)
{
    const yaml_parser_t *parser = &reader->parser;
    if (parser->error == YAML_MEMORY_ERROR) {
        return vv_error_set(reader->error, VV_NO_MEMORY, "%.200s: out of memory", reader->file);
    }
    size_t line = parser->problem_mark.line;
    (void)vv_error_set(reader->error, VV_INVALID, "this is not YAML: %.120s",
                       parser->problem ? parser->problem : "unreadable");
    return fail(reader, line, VV_INVALID);
}

static enum vv_status next_event(struct reader *reader, yaml_event_t *event_out)
{
    return yaml_parser_parse(&reader->parser, event_out) ? VV_OK : fail_syntax(reader);
}

static struct vv_str scalar_of(const yaml_event_t *event)
{
    return (struct vv_str){(const char *)event->data.scalar.value, event->data.scalar.length};
}

static enum vv_status refuse_key(struct reader *reader, const struct path *path, size_t line)
{
    const char *nearest = vv_setting_nearest((struct vv_str){path->text, path->size});
    if (*nearest) {
        (void)vv_error_set(reader->error, VV_INVALID,
                           "there is no setting '%.*s'; did you mean %s?", SHOWN_KEY_MAX,
                           path->text, nearest);
    } else {
        (void)vv_error_set(reader->error, VV_INVALID,
                           "there is no setting '%.*s'; allowed: those that `varve config` lists",
                           SHOWN_KEY_MAX, path->text);
    }
    return fail(reader, line, VV_INVALID);
}

static enum vv_status refuse_shape(struct reader *reader, const struct path *path, size_t line,
                                   const char *what)
{
    (void)vv_error_set(reader->error, VV_INVALID, "%.*s%s%s", SHOWN_KEY_MAX, path->text,
                       path->size ? ": " : "", what);
    return fail(reader, line, VV_INVALID);
}

/* The row of a setting, or the first row of a section; vv_setting_count if there is neither. */
static size_t row_of(const struct path *path, bool section)
{
    size_t i = 0;
    for (; i < vv_setting_count; i++) {
        const char *name = vv_setting_table[i].name;
        bool begins = strncmp(name, path->text, path->size) == 0;
        if (begins && name[path->size] == (section ? '.' : '\0')) {
            break;
        }
    }
    return i;
}

static bool path_push(struct path *path, struct vv_str key)
{
    size_t joint = path->size > 0;
    if (key.size == 0 || memchr(key.data, '\0', key.size) ||
        path->size + joint + key.size >= sizeof path->text) {
        return false;
    }
    if (joint) {
        path->text[path->size++] = '.';
    }
    memcpy(path->text + path->size, key.data, key.size);
    path->size += key.size;
    path->text[path->size] = '\0';
    return true;
}

/* Whether a section may begin here: its map, or the word that is its kind. */
static enum vv_status enter_section(struct reader *reader, const struct path *path, size_t line)
{
    size_t i = row_of(path, true);
    if (i == vv_setting_count) {
        return row_of(path, false) < vv_setting_count
                   ? refuse_shape(reader, path, line, "takes one value, not further keys")
                   : refuse_key(reader, path, line);
    }
    if (reader->opened[i]) {
        return refuse_shape(reader, path, line, "is given twice; join the two");
    }
    reader->opened[i] = true;
    return VV_OK;
}

static enum vv_status set_row(struct reader *reader, const struct path *path, size_t row,
                              struct vv_str text, size_t line)
{
    if (reader->seen[row]) {
        return refuse_shape(reader, path, line, "is given twice; keep one of them");
    }
    reader->seen[row] = true;
    enum vv_status status =
        vv_setting_read(&vv_setting_table[row], text, &reader->settings, reader->error);
    return status == VV_OK ? VV_OK : fail(reader, line, status);
}

/* `store: cassandra`: a word where a section could be means its kind. */
static enum vv_status read_kind(struct reader *reader, const struct path *path, struct vv_str text,
                                size_t line)
{
    const struct vv_setting *kind = vv_setting_kind_of((struct vv_str){path->text, path->size});
    if (!kind) {
        return refuse_shape(reader, path, line, "is a group of settings, not one");
    }
    enum vv_status status = enter_section(reader, path, line);
    if (status != VV_OK) {
        return status;
    }
    return set_row(reader, path, (size_t)(kind - vv_setting_table), text, line);
}

static enum vv_status read_scalar(struct reader *reader, const struct path *path,
                                  const yaml_event_t *event, size_t line)
{
    struct vv_str text = scalar_of(event);
    bool plain = event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
    bool nothing = plain && (text.size == 0 || vv_str_equal(text, VV_STR_LITERAL("~")) ||
                             vv_str_equal(text, VV_STR_LITERAL("null")));
    if (row_of(path, true) < vv_setting_count) {
        return nothing ? VV_OK : read_kind(reader, path, text, line);
    }
    size_t i = row_of(path, false);
    if (i == vv_setting_count) {
        return refuse_key(reader, path, line);
    }
    if (nothing && !reader->seen[i]) {
        return refuse_shape(reader, path, line, "has no value; give one or remove the key");
    }
    return set_row(reader, path, i, text, line);
}

static enum vv_status read_map(struct reader *reader, const struct path *outer);

/* What follows a key; errors name the key's line. */
static enum vv_status read_value(struct reader *reader, const struct path *path, size_t line)
{
    yaml_event_t event;
    enum vv_status status = next_event(reader, &event);
    if (status != VV_OK) {
        return status;
    }
    switch (event.type) {
    case YAML_SCALAR_EVENT:
        status = read_scalar(reader, path, &event, line);
        break;
    case YAML_MAPPING_START_EVENT:
        status = enter_section(reader, path, line);
        if (status == VV_OK) {
            status = read_map(reader, path);
        }
        break;
    case YAML_SEQUENCE_START_EVENT:
        status = row_of(path, false) == vv_setting_count && row_of(path, true) == vv_setting_count
                     ? refuse_key(reader, path, line)
                     : refuse_shape(reader, path, line, "takes one value, not a list");
        break;
    default:
        status = refuse_shape(reader, path, line, "anchors and aliases are not supported");
        break;
    }
    yaml_event_delete(&event);
    return status;
}

/* One key and its value; VV_DONE at the end of the map. */
static enum vv_status read_entry(struct reader *reader, const struct path *outer)
{
    yaml_event_t event;
    enum vv_status status = next_event(reader, &event);
    if (status != VV_OK) {
        return status;
    }
    struct path path = *outer;
    size_t line = event.start_mark.line;
    if (event.type == YAML_MAPPING_END_EVENT) {
        status = VV_DONE;
    } else if (event.type != YAML_SCALAR_EVENT) {
        status = refuse_shape(reader, outer, line, "a key must be a word");
    } else if (!path_push(&path, scalar_of(&event))) {
        status = refuse_shape(reader, outer, line, "a key is empty, too long or has a zero byte");
    }
    yaml_event_delete(&event);
    return status == VV_OK ? read_value(reader, &path, line) : status;
}

static enum vv_status read_map(struct reader *reader, const struct path *outer)
{
    enum vv_status status;
    do {
        status = read_entry(reader, outer);
    } while (status == VV_OK);
    return status == VV_DONE ? VV_OK : status;
}

/* One event of which only the kind counts. */
static enum vv_status skip_event(struct reader *reader, yaml_event_type_t *type_out,
                                 size_t *line_out)
{
    yaml_event_t event;
    enum vv_status status = next_event(reader, &event);
    if (status == VV_OK) {
        bool nothing = event.type == YAML_SCALAR_EVENT && event.data.scalar.length == 0;
        *type_out = nothing ? YAML_NO_EVENT : event.type;
        *line_out = event.start_mark.line;
        yaml_event_delete(&event);
    }
    return status;
}

/* The stream: at most one document, which is a map or empty. */
static enum vv_status read_stream(struct reader *reader)
{
    const struct path root = {.size = 0};
    unsigned documents = 0;
    for (;;) {
        yaml_event_type_t type;
        size_t line;
        enum vv_status status = skip_event(reader, &type, &line);
        if (status != VV_OK || type == YAML_STREAM_END_EVENT) {
            return status;
        }
        if (type == YAML_DOCUMENT_START_EVENT && ++documents > 1) {
            return refuse_shape(reader, &root, line, "a second document (`---`) is not allowed");
        }
        if (type == YAML_MAPPING_START_EVENT) {
            status = read_map(reader, &root);
        } else if (type == YAML_SCALAR_EVENT || type == YAML_SEQUENCE_START_EVENT ||
                   type == YAML_ALIAS_EVENT) {
            status = refuse_shape(reader, &root, line,
                                  "the file must consist of lines such as `data: varve-data`");
        }
        if (status != VV_OK) {
            return status;
        }
    }
}

enum vv_status vv_settings_parse(struct vv_settings *settings, struct vv_str text, const char *name,
                                 struct vv_error *error)
{
    vv_invariant(vv_setting_count <= SETTINGS_MAX);
    struct reader reader = {.settings = *settings, .file = name, .error = error};
    if (!yaml_parser_initialize(&reader.parser)) {
        return vv_error_set(error, VV_NO_MEMORY, "%.200s: out of memory", name);
    }
    yaml_parser_set_encoding(&reader.parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&reader.parser,
                                 (const unsigned char *)(text.data ? text.data : ""), text.size);
    enum vv_status status = read_stream(&reader);
    yaml_parser_delete(&reader.parser);
    if (status == VV_OK) {
        *settings = reader.settings;
    }
    return status;
}

/* The whole file, one byte more than is allowed at most. */
static enum vv_status read_file(FILE *file, const char *path, char *text, size_t *size_out,
                                struct vv_error *error)
{
    *size_out = fread(text, 1, FILE_BYTES_MAX + 1, file);
    if (ferror(file)) {
        return vv_error_set(error, VV_IO, "cannot read %.200s: %s", path, strerror(errno));
    }
    if (*size_out > FILE_BYTES_MAX) {
        return vv_error_set(error, VV_INVALID,
                            "%.200s: larger than 1MiB: this is no file of settings", path);
    }
    return VV_OK;
}

enum vv_status vv_settings_load(struct vv_settings *settings, const char *path,
                                struct vv_error *error)
{
    FILE *file = fopen(path, "rbe");
    if (!file) {
        enum vv_status status = errno == ENOENT ? VV_NOT_FOUND : VV_IO;
        return vv_error_set(error, status, "cannot open %.200s: %s", path, strerror(errno));
    }
    char *text = malloc(FILE_BYTES_MAX + 1);
    size_t size = 0;
    enum vv_status status = text ? read_file(file, path, text, &size, error)
                                 : vv_error_set(error, VV_NO_MEMORY, "out of memory");
    fclose(file);
    if (status == VV_OK) {
        status = vv_settings_parse(settings, (struct vv_str){text, size}, path, error);
    }
    free(text);
    return status;
}
