/* SPDX-License-Identifier: Apache-2.0 */
#include "http/retention_notes.h"

#include "http/changes.h"

static int64_t now_of(struct vv_engine *engine)
{
    struct vv_clock *clock = vv_engine_query_context(engine)->clock;
    return clock->wall_ns(clock);
}

/* "…: points from before 2026-11-20T04:00:00Z". */
static void begin_shorter(struct vv_buffer *text, struct vv_str name, const char *what,
                          int64_t retention_ns, int64_t now_ns)
{
    char from[VV_TIME_TEXT_SIZE];
    size_t size = vv_time_format(vv_time_floor(now_ns - retention_ns, VV_SECOND), from);
    vv_buffer_format(text, "%.*s: %s from before %.*s", VV_STR_ARG(name), what, (int)size, from);
}

static void note_points(struct vv_str name, const struct vv_retentions *before,
                        const struct vv_retentions *after, int64_t now_ns, struct vv_buffer *notes)
{
    struct vv_buffer text = {0};
    bool has_tiers = false;
    bool has_new = false;
    for (int i = 0; i < VV_SPACES; i++) {
        has_tiers |= vv_retentions_have(after, (enum vv_space)i);
        has_new |= vv_retentions_have(after, (enum vv_space)i) &&
                   !vv_retentions_have(before, (enum vv_space)i);
    }
    begin_shorter(&text, name, "points", after->raw_ns, now_ns);
    vv_buffer_text(&text, " are in no answer any more, and go by and by: a longer retention brings "
                          "back what is still there then");
    vv_buffer_text(&text, has_tiers ? "; what tiers have of them stays" : "");
    vv_buffer_text(&text,
                   has_new ? ", but tiers that are switched on now have nothing of them" : "");
    vv_changes_add_note(notes, &text);
    vv_buffer_deinit(&text);
}

/* All that are switched on, in one note. */
static void note_new_tiers(struct vv_str name, const struct vv_retentions *before,
                           const struct vv_retentions *after, struct vv_buffer *notes)
{
    struct vv_buffer text = {0};
    vv_buffer_format(&text, "%.*s: ", VV_STR_ARG(name));
    size_t n = 0;
    for (int i = 0; i < VV_SPACES; i++) {
        if (vv_retentions_have(after, (enum vv_space)i) &&
            !vv_retentions_have(before, (enum vv_space)i)) {
            vv_buffer_text(&text, n++ > 0 ? ", " : "");
            vv_buffer_str(&text, vv_space_word((enum vv_space)i));
        }
    }
    vv_buffer_text(&text, n > 1 ? ": these tiers have" : ": this tier has");
    vv_buffer_text(&text, " what is sealed from now on; `varve reroll` builds what was sealed "
                          "before, while its points are kept");
    if (n > 0) {
        vv_changes_add_note(notes, &text);
    }
    vv_buffer_deinit(&text);
}

static void note_tier(struct vv_engine *engine, struct vv_str name, int tier,
                      const struct vv_retentions *before, const struct vv_retentions *after,
                      struct vv_buffer *notes)
{
    static const char *const steps[VV_SPACES] = {
        [VV_SPACE_MINUTE] = "minutes", [VV_SPACE_HOUR] = "hours", [VV_SPACE_DAY] = "days"};
    struct vv_buffer text = {0};
    if (vv_retentions_have(before, (enum vv_space)tier) &&
        !vv_retentions_have(after, (enum vv_space)tier)) {
        vv_buffer_format(&text, "%.*s: what the %.*s tier had is in no answer any more",
                         VV_STR_ARG(name), VV_STR_ARG(vv_space_word((enum vv_space)tier)));
    } else if (vv_retentions_have(before, (enum vv_space)tier) &&
               vv_retention_is_longer(before->tiers_ns[tier], after->tiers_ns[tier])) {
        begin_shorter(&text, name, steps[tier], after->tiers_ns[tier], now_of(engine));
        vv_buffer_text(&text, " are in no answer any more");
    } else if (vv_retentions_have(before, (enum vv_space)tier) &&
               vv_retention_is_longer(after->tiers_ns[tier], before->tiers_ns[tier]) &&
               vv_engine_shares_store(engine)) {
        vv_buffer_format(&text,
                         "%.*s: %s that are there go when they were to; `varve reroll` gives them "
                         "the longer life, when all nodes know of it",
                         VV_STR_ARG(name), steps[tier]);
    }
    if (text.size > 0) {
        vv_changes_add_note(notes, &text);
    }
    vv_buffer_deinit(&text);
}

void vv_note_retentions(struct vv_engine *engine, struct vv_str name,
                        const struct vv_retentions *before, const struct vv_retentions *after,
                        struct vv_buffer *notes)
{
    if (vv_retention_is_longer(before->raw_ns, after->raw_ns)) {
        note_points(name, before, after, now_of(engine), notes);
    }
    for (int i = 0; i < VV_SPACES; i++) {
        note_tier(engine, name, i, before, after, notes);
    }
    note_new_tiers(name, before, after, notes);
}
