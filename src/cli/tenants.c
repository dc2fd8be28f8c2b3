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
    return vv_table_row(table, cells);
}

static const struct vv_str tenants_header[] = {{"tenant", 6},  {"retention", 9}, {"tiers", 5},
                                               {"late", 4},    {"stored", 6},    {"received", 8},
                                               {"refused", 7}, {"unknown", 7}};
static const struct vv_list_table tenants_table = {tenants_header, 8, print_tenant};

/* "hour=365d,day=off" becomes an object; NULL when it is something else, or memory is out. */
static json_t *parse_tiers(const char *text)
{
    json_t *tiers = json_object();
    bool good = tiers != NULL;
    while (good) {
        size_t size = strcspn(text, ",");
        const char *equals = memchr(text, '=', size);
        good = equals && equals > text && equals + 1 < text + size;
        if (good) {
            size_t name_size = (size_t)(equals - text);
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

static json_t *describe_tenant(const struct vv_arguments *arguments)
{
    const char *tiers = vv_arguments_text(arguments, "tiers", NULL);
    json_t *object = json_pack("{s:s, s:s*, s:s*, s:s*}", "tenant", arguments->words[1],
                               "retention", vv_arguments_text(arguments, "retention", NULL), "late",
                               vv_arguments_text(arguments, "late", NULL), "late_limit",
                               vv_arguments_text(arguments, "late-limit", NULL));
    if (object && tiers) {
        bool is_word = strcmp(tiers, "default") == 0 || strcmp(tiers, "off") == 0;
        json_t *value = is_word ? json_string(tiers) : parse_tiers(tiers);
        if (json_object_set_new(object, "tiers", value) != 0) {
            json_decref(object);
            return NULL;
        }
    }
    return object;
}

static int set_tenant(const struct vv_arguments *arguments)
{
    struct vv_response response = {0};
    json_t *object = describe_tenant(arguments);
    char *text = object ? json_dumps(object, JSON_COMPACT) : NULL;
    json_decref(object);
    if (!text) {
        return vv_usage_fail(arguments->command,
                             "the name is UTF-8, and --tiers is default, off or a list",
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
    vv_response_deinit(&response);
    return code;
}

static bool sets_something(const struct vv_arguments *arguments)
{
    return vv_arguments_flag(arguments, "retention") || vv_arguments_flag(arguments, "tiers") ||
           vv_arguments_flag(arguments, "late") || vv_arguments_flag(arguments, "late-limit");
}

int vv_tenants_run(const struct vv_arguments *arguments)
{
    if (arguments->n_words == 0 && !sets_something(arguments)) {
        return vv_list_print(arguments, "/api/v1/tenants", "tenants", &tenants_table);
    }
    if (arguments->n_words == 2 && strcmp(arguments->words[0], "set") == 0) {
        return set_tenant(arguments);
    }
    return vv_usage_fail(arguments->command, "`varve tenants` takes nothing, or set NAME",
                         "varve tenants set plant1 --retention 30d");
}
