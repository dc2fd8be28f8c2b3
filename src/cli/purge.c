/* SPDX-License-Identifier: Apache-2.0 */
/* varve purge: how far purges by copying are. */
#include "cli/commands.h"

#include "cli/lists.h"

static enum vv_status print_purge(struct vv_table *table, json_t *purge)
{
    char done[32] = "";
    const char *class = json_string_value(json_object_get(purge, "class"));
    const char *state = json_string_value(json_object_get(purge, "state"));
    const char *since = json_string_value(json_object_get(purge, "since"));
    bool is_asked = json_is_true(json_object_get(purge, "asked"));
    json_int_t of = json_integer_value(json_object_get(purge, "of"));
    if (of > 0) {
        json_int_t n = json_integer_value(json_object_get(purge, "done"));
        snprintf(done, sizeof done, "%" JSON_INTEGER_FORMAT " %%", 100 * n / of);
    }
    const struct vv_str cells[4] = {vv_str_of(class ? class : ""),
                                    vv_str_of(is_asked ? "asked for"
                                              : state  ? state
                                                       : ""),
                                    vv_str_of(since ? since : ""), vv_str_of(done)};
    return vv_table_row(table, cells);
}

static const struct vv_str purges_header[] = {
    {"class", 5}, {"state", 5}, {"since", 5}, {"copied", 6}};
static const struct vv_list_table purges_table = {purges_header, 4, print_purge};

int vv_purge_run(const struct vv_arguments *arguments)
{
    const struct vv_call call = {.method = vv_arguments_flag(arguments, "now") ? "POST" : "GET",
                                 .path = "/api/v1/purge"};
    return vv_list_answer(arguments, &call, "purges", &purges_table);
}
