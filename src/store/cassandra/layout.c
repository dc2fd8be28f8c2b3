/* SPDX-License-Identifier: Apache-2.0 */
/* Which tenants write rows. */
#include "store/cassandra/rows.h"

#include "model/space.h"

static struct vv_str trim(struct vv_str text)
{
    while (text.size > 0 && text.data[0] == ' ') {
        text.data++;
        text.size--;
    }
    while (text.size > 0 && text.data[text.size - 1] == ' ') {
        text.size--;
    }
    return text;
}

uint8_t vv_cassandra_layout(const struct vv_cassandra *store, uint32_t tenant)
{
    const char *at = store->rows_tenants;
    if (at[0] == '\0') {
        return VV_LAYOUT_BLOCKS;
    }
    struct vv_str name = vv_cassandra_tenant(store, tenant);
    if (vv_space_place_name(name).size < name.size) { /* a tier has no rows */
        return VV_LAYOUT_BLOCKS;
    }
    name = vv_space_tenant_name(name); /* a class is kept as its tenant */
    for (;;) {
        size_t size = strcspn(at, ",");
        struct vv_str one = trim((struct vv_str){at, size});
        if (one.size > 0 && (vv_str_equal(one, name) || vv_str_equal(one, VV_STR_LITERAL("*")))) {
            return VV_LAYOUT_ROWS;
        }
        if (at[size] == '\0') {
            return VV_LAYOUT_BLOCKS;
        }
        at += size + 1;
    }
}
