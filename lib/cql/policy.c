/* SPDX-License-Identifier: Apache-2.0 */
/* The table of policy.h as code. */
#include "policy.h"

uint64_t vvcql_random(uint64_t *state)
{
    uint64_t x = *state;
    x ^= x >> 12;
    x ^= x << 25;
    x ^= x >> 27;
    *state = x;
    return x * UINT64_C(0x2545f4914f6cdd1d);
}

uint32_t vvcql_backoff_ms(uint32_t first_ms, uint32_t last_ms, uint32_t failures,
                          uint64_t *random_state)
{
    uint32_t doublings = failures > 1 ? failures - 1 : 0;
    uint64_t wait_ms = (uint64_t)first_ms << (doublings < 32 ? doublings : 32);
    if (wait_ms > last_ms) {
        wait_ms = last_ms;
    }
    return (uint32_t)(wait_ms - vvcql_random(random_state) % (wait_ms / 2 + 1));
}

static enum vvcql_retry next_if(bool condition)
{
    return condition ? VVCQL_RETRY_NEXT : VVCQL_RETRY_NO;
}

/* A second time harms nothing: it was not sent, or is idempotent. */
static bool is_harmless(const struct vvcql_attempt *attempt)
{
    return !attempt->was_sent || attempt->is_idempotent;
}

static enum vvcql_retry after_read_timeout(const struct vvcql_attempt *attempt,
                                           const struct vvcql_error *error)
{
    bool only_data_missing = error->received >= error->required && !error->data_present;
    if (is_harmless(attempt) && only_data_missing && attempt->retries == 0) {
        return VVCQL_RETRY_SAME;
    }
    return next_if(is_harmless(attempt));
}

static enum vvcql_retry after_answer(const struct vvcql_attempt *attempt,
                                     const struct vvcql_error *error)
{
    switch (error->code) {
    case VVCQL_CODE_UNAVAILABLE:
        return next_if(attempt->retries == 0);
    case VVCQL_CODE_IS_BOOTSTRAPPING:
        return VVCQL_RETRY_NEXT;
    case VVCQL_CODE_READ_TIMEOUT:
        return after_read_timeout(attempt, error);
    case VVCQL_CODE_OVERLOADED:
    case VVCQL_CODE_READ_FAILURE:
    case VVCQL_CODE_WRITE_TIMEOUT:
    case VVCQL_CODE_WRITE_FAILURE:
    case VVCQL_CODE_SERVER_ERROR:
    case VVCQL_CODE_TRUNCATE_ERROR:
        return next_if(is_harmless(attempt));
    default:
        return VVCQL_RETRY_NO;
    }
}

enum vvcql_retry vvcql_retry_after(const struct vvcql_attempt *attempt,
                                   const struct vvcql_error *error)
{
    if (attempt->retries >= attempt->retries_max ||
        (attempt->is_conditional && attempt->was_sent)) {
        return VVCQL_RETRY_NO;
    }
    switch (error->status) {
    case VVCQL_SERVER:
        return after_answer(attempt, error);
    case VVCQL_LOST:
    case VVCQL_PROTOCOL:
        return next_if(is_harmless(attempt));
    case VVCQL_UNREACHABLE:
    case VVCQL_REFUSED:
    case VVCQL_OVERLOADED:
        return next_if(!attempt->was_sent);
    default:
        return VVCQL_RETRY_NO;
    }
}
