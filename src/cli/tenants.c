/* SPDX-License-Identifier: Apache-2.0 */
/* `varve tenants`: what tenants wrote, how long it is kept, and changing that. */
#include "cli/commands.h"
#include "cli/lists.h"
#include "cli/terminal.h"

#include <inttypes.h>
#include <stdlib.h>

static uint64_t sum_of(json_t *object)
{
    const char *key;
    json_t *value;
    uint64_t sum = 0;
    json_object_foreach(object, key, value)
    {
        sum += (uint64_t)json_integer_value(value);
    }
    return sum;
}

/* "minute 30d, hour 365d". */
static void list_tiers(json_t *tiers, char *out, size_t out_size)
{
    const char *name;
    json_t *value;
    size_t size = 0;
    out[0] = '\0';
    json_object_foreach(tiers, name, value)
    {
        const char *retention = json_string_value(value);
        int written = snprintf(out + size, out_size - size, "%s%s %s", size > 0 ? ", " : "", name,
                               retention ? retention : "");
        size += written > 0 ? (size_t)written : 0;
        size = size < out_size ? size : out_size - 1;
    }
}

/* "refuse 1h". */
static void list_late(json_t *tenant, char *out, size_t out_size)
{
    const char *policy = json_string_value(json_object_get(tenant, "late"));
    const char *limit = json_string_value(json_object_get(tenant, "late_limit"));
    snprintf(out, out_size, "%s%s%s", policy ? policy : "", limit ? " " : "", limit ? limit : "");
}

/* "debug: debug*, trace". */
static void list_measurements(const char *name, json_t *class, char *out, size_t out_size)
{
    size_t i;
    json_t *value;
    int size = snprintf(out, out_size, "  class %s:", name);
    json_array_foreach(json_object_get(class, "measurements"), i, value)
    {
        size_t at = size > 0 && (size_t)size < out_size ? (size_t)size : out_size - 1;
        const char *text = json_string_value(value);
        int written =
            snprintf(out + at, out_size - at, "%s%s", i > 0 ? ", " : " ", text ? text : "");
        size = (int)at + (written > 0 ? written : 0);
    }
}

/* A row of its own below its tenant's. */
static enum vv_status print_class(struct vv_table *table, const char *name, json_t *class)
{
    char words[256];
    char tiers[128];
    const char *retention = json_string_value(json_object_get(class, "retention"));
    list_measurements(name, class, words, sizeof words);
    list_tiers(json_object_get(class, "tiers"), tiers, sizeof tiers);
    struct vv_str cells[8] = {vv_str_of(words), vv_str_of(retention ? retention : ""),
                              vv_str_of(tiers)};
    for (size_t i = 3; i < 8; i++) {
        cells[i] = VV_STR_LITERAL("");
    }
    return vv_table_row(table, cells);
}

#define MOVES_SHOWN 20 /* of a tenant; the API has more */

/* "  energy from 2026-11-29: class short, known"; likewise. */
static enum vv_status print_move(struct vv_table *table, json_t *move)
{
    char words[256];
    const char *measurement = json_string_value(json_object_get(move, "measurement"));
    const char *from = json_string_value(json_object_get(move, "from"));
    const char *class = json_string_value(json_object_get(move, "class"));
    const char *state = json_string_value(json_object_get(move, "state"));
    bool is_classed = class && class[0];
    snprintf(words, sizeof words, "  %.150s from %.10s: %s%.64s, %s",
             measurement ? measurement : "", from ? from : "",
             is_classed ? "class " : "as its tenant", is_classed ? class : "", state ? state : "");
    struct vv_str cells[8] = {vv_str_of(words)};
    for (size_t i = 1; i < 8; i++) {
        cells[i] = VV_STR_LITERAL("");
    }
    return vv_table_row(table, cells);
}

static enum vv_status print_moves(struct vv_table *table, json_t *moves)
{
    enum vv_status status = VV_OK;
    for (size_t i = 0; i < json_array_size(moves) && i < MOVES_SHOWN && status == VV_OK; i++) {
        status = print_move(table, json_array_get(moves, i));
    }
    return status;
}

static enum vv_status print_tenant(struct vv_table *table, json_t *tenant)
{
    char numbers[4][24];
    json_t *account = json_object_get(tenant, "account");
    const char *name = json_string_value(json_object_get(tenant, "tenant"));
    const char *retention = json_string_value(json_object_get(tenant, "retention"));
    const uint64_t counts[] = {
        (uint64_t)json_integer_value(json_object_get(account, "accepted")),
        (uint64_t)json_integer_value(json_object_get(account, "received")),
        sum_of(json_object_get(account, "refused")),
        (uint64_t)json_integer_value(json_object_get(account, "unknown")),
    };
    char tiers[128];
    list_tiers(json_object_get(tenant, "tiers"), tiers, sizeof tiers);
    char late[64];
    list_late(tenant, late, sizeof late);
    struct vv_str cells[8] = {vv_str_of(name ? name : ""), vv_str_of(retention ? retention : ""),
                              vv_str_of(tiers), vv_str_of(late)};
    for (size_t i = 0; i < 4; i++) {
        snprintf(numbers[i], sizeof numbers[i], "%" PRIu64, counts[i]);
        cells[4 + i] = vv_str_of(numbers[i]);
    }
    enum vv_status status = vv_table_row(table, cells);
    const char *key;
    json_t *class;
    json_object_foreach(json_object_get(tenant, "classes"), key, class)
    {
        status = status == VV_OK ? print_class(table, key, class) : status;
    }
    return status == VV_OK ? print_moves(table, json_object_get(tenant, "moves")) : status;
}

static const struct vv_str tenants_header[] = {{"tenant", 6},  {"retention", 9}, {"tiers", 5},
                                               {"late", 4},    {"stored", 6},    {"received", 8},
                                               {"refused", 7}, {"unknown", 7}};
static const struct vv_list_table tenants_table = {tenants_header, 8, print_tenant};

/* "hour=365d,day=off" becomes an object; NULL when it is something else, as a tier that is named
 * twice, or memory is out. */
static json_t *parse_tiers(const char *text)
{
    json_t *tiers = json_object();
    bool good = tiers != NULL;
    while (good) {
        size_t size = strcspn(text, ",");
        const char *equals = memchr(text, '=', size);
        size_t name_size = equals ? (size_t)(equals - text) : 0;
        good = name_size > 0 && name_size + 1 < size && !json_object_getn(tiers, text, name_size);
        if (good) {
            json_t *value = json_stringn(equals + 1, size - name_size - 1);
            good = json_object_setn_new(tiers, text, name_size, value) == 0;
        }
        if (text[size] == '\0') {
            break;
        }
        text += size + 1;
    }
    if (!good) {
        json_decref(tiers);
        return NULL;
    }
    return tiers;
}

/* Sets a member to what --tiers says; false: that is nothing. */
static bool add_tiers(json_t *object, const char *tiers)
{
    bool is_word = tiers && (strcmp(tiers, "default") == 0 || strcmp(tiers, "off") == 0);
    return !tiers || json_object_set_new(object, "tiers",
                                         is_word ? json_string(tiers) : parse_tiers(tiers)) == 0;
}

/* "energy,debug*" becomes an array; "": an empty one. */
static json_t *parse_list(const char *text)
{
    json_t *list = json_array();
    while (list && *text) {
        size_t size = strcspn(text, ",");
        if (json_array_append_new(list, json_stringn(text, size)) != 0) {
            json_decref(list);
            return NULL;
        }
        text += size + (text[size] == ',');
    }
    return list;
}

/* Retention and tiers, of the tenant or of its class; false: memory is out, or they are none. */
static bool add_terms(json_t *object, const struct vv_arguments *arguments)
{
    const char *retention = vv_arguments_text(arguments, "retention", NULL);
    return (!retention || json_object_set_new(object, "retention", json_string(retention)) == 0) &&
           add_tiers(object, vv_arguments_text(arguments, "tiers", NULL));
}

static bool add_class(json_t *object, const char *name, const struct vv_arguments *arguments)
{
    const char *measurements = vv_arguments_text(arguments, "measurements", NULL);
    json_t *class = json_object();
    bool good = class && add_terms(class, arguments) &&
                (!measurements ||
                 json_object_set_new(class, "measurements", parse_list(measurements)) == 0);
    json_t *classes = good ? json_pack("{s:O}", name, class) : NULL;
    json_decref(class);
    return classes && json_object_set_new(object, "classes", classes) == 0;
}

static json_t *describe_tenant(const struct vv_arguments *arguments)
{
    const char *class = vv_arguments_text(arguments, "class", NULL);
    json_t *object = json_pack("{s:s, s:s*, s:s*}", "tenant", arguments->words[1], "late",
                               vv_arguments_text(arguments, "late", NULL), "late_limit",
                               vv_arguments_text(arguments, "late-limit", NULL));
    bool good =
        object && (class ? add_class(object, class, arguments) : add_terms(object, arguments));
    if (!good) {
        json_decref(object);
        return NULL;
    }
    return object;
}

/* What the server says of what was done. */
static void print_notes(const struct vv_response *response)
{
    size_t i;
    json_t *note;
    const char *text = (const char *)response->body.data;
    json_t *root = json_loadb(text ? text : "", response->body.size, 0, NULL);
    json_array_foreach(json_object_get(root, "notes"), i, note)
    {
        printf("%s\n", json_string_value(note) ? json_string_value(note) : "");
    }
    json_decref(root);
}

static int set_tenant(const struct vv_arguments *arguments)
{
    struct vv_response response = {0};
    json_t *object = describe_tenant(arguments);
    char *text = object ? json_dumps(object, JSON_COMPACT) : NULL;
    json_decref(object);
    if (!text) {
        return vv_usage_fail(arguments->command,
                             "names are UTF-8, and --tiers is default, off or a list that "
                             "names each tier once",
                             "varve tenants set plant1 --tiers minute=30d,hour=365d,day=forever");
    }
    const struct vv_call call = {
        .method = "PUT",
        .path = "/api/v1/tenants",
        .content_type = "application/json",
        .body = vv_str_of(text),
    };
    int code = vv_call_once(arguments, &call, &response);
    free(text);
    if (code == VV_EXIT_OK) {
        print_notes(&response);
    }
    vv_response_deinit(&response);
    return code;
}

static bool has(const struct vv_arguments *arguments, const char *option)
{
    return vv_arguments_flag(arguments, option);
}

static bool sets_something(const struct vv_arguments *arguments)
{
    return has(arguments, "retention") || has(arguments, "tiers") || has(arguments, "late") ||
           has(arguments, "late-limit") || has(arguments, "class") ||
           has(arguments, "measurements");
}

/* All, or the one of -t. */
static int list_tenants(const struct vv_arguments *arguments)
{
    struct vv_buffer path = {0};
    const char *tenant = vv_arguments_text(arguments, "tenant", NULL);
    vv_buffer_text(&path, "/api/v1/tenants");
    if (tenant) {
        struct vv_buffer form = {0};
        vv_form_add(&form, "tenant", vv_str_of(tenant));
        vv_buffer_format(&path, "?%.*s", (int)form.size, (const char *)form.data);
        vv_buffer_deinit(&form);
    }
    vv_buffer_u8(&path, 0);
    int code = VV_EXIT_FAILED;
    if (vv_buffer_status(&path) == VV_OK) {
        code = vv_list_print(arguments, (const char *)path.data, "tenants", &tenants_table);
    } else {
        vv_say_error("out of memory");
    }
    vv_buffer_deinit(&path);
    return code;
}

int vv_tenants_run(const struct vv_arguments *arguments)
{
    if (arguments->n_words == 0 && !sets_something(arguments)) {
        return list_tenants(arguments);
    }
    if (has(arguments, "measurements") && !has(arguments, "class")) {
        return vv_usage_fail(arguments->command, "--measurements are of a class: name it",
                             "varve tenants set plant1 --class debug --measurements 'debug*'");
    }
    if (arguments->n_words == 2 && strcmp(arguments->words[0], "set") == 0) {
        return set_tenant(arguments);
    }
    return vv_usage_fail(arguments->command, "`varve tenants` takes nothing, or set NAME",
                         "varve tenants set plant1 --retention 30d");
}
