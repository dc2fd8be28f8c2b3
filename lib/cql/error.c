/* SPDX-License-Identifier: Apache-2.0 */
/* Errors filled, and the names of statuses, codes and consistency levels. */
#include "error.h"

#include "wire.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

enum vvcql_status vvcql_error_set(struct vvcql_error *error, enum vvcql_status status,
                                  const char *format, ...)
{
    if (error == NULL) {
        return status;
    }
    /* The arguments may stand in *error. A few bytes more than the message takes: what is cut here
     * is cut again, between characters. */
    char text[VVCQL_MESSAGE_MAX + 8] = "";
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    *error = (struct vvcql_error){.status = status, .code = VVCQL_CODE_NONE};
    vvcql_copy_text(error->message, sizeof error->message,
                    (struct vvcql_bytes){.data = (const uint8_t *)text, .size = strlen(text)});
    return status;
}

const char *vvcql_status_name(enum vvcql_status status)
{
    static const char *const names[] = {
        [VVCQL_OK] = "ok",
        [VVCQL_INVALID] = "invalid",
        [VVCQL_NO_MEMORY] = "no_memory",
        [VVCQL_OVERLOADED] = "overloaded",
        [VVCQL_UNREACHABLE] = "unreachable",
        [VVCQL_REFUSED] = "refused",
        [VVCQL_SERVER] = "server",
        [VVCQL_TIMEOUT] = "timeout",
        [VVCQL_LOST] = "lost",
        [VVCQL_PROTOCOL] = "protocol",
        [VVCQL_CLOSED] = "closed",
    };
    size_t index = (size_t)status;
    return index < sizeof names / sizeof names[0] ? names[index] : "unknown";
}

static const struct {
    int32_t code;
    const char *name;
} code_names[] = {
    {VVCQL_CODE_NONE, "none"},
    {VVCQL_CODE_SERVER_ERROR, "server_error"},
    {VVCQL_CODE_PROTOCOL_ERROR, "protocol_error"},
    {VVCQL_CODE_BAD_CREDENTIALS, "bad_credentials"},
    {VVCQL_CODE_UNAVAILABLE, "unavailable"},
    {VVCQL_CODE_OVERLOADED, "overloaded"},
    {VVCQL_CODE_IS_BOOTSTRAPPING, "is_bootstrapping"},
    {VVCQL_CODE_TRUNCATE_ERROR, "truncate_error"},
    {VVCQL_CODE_WRITE_TIMEOUT, "write_timeout"},
    {VVCQL_CODE_READ_TIMEOUT, "read_timeout"},
    {VVCQL_CODE_READ_FAILURE, "read_failure"},
    {VVCQL_CODE_FUNCTION_FAILURE, "function_failure"},
    {VVCQL_CODE_WRITE_FAILURE, "write_failure"},
    {VVCQL_CODE_SYNTAX_ERROR, "syntax_error"},
    {VVCQL_CODE_UNAUTHORIZED, "unauthorized"},
    {VVCQL_CODE_INVALID, "invalid"},
    {VVCQL_CODE_CONFIG_ERROR, "config_error"},
    {VVCQL_CODE_ALREADY_EXISTS, "already_exists"},
    {VVCQL_CODE_UNPREPARED, "unprepared"},
    {VVCQL_CODE_CDC_WRITE_FAILURE, "cdc_write_failure"},
    {VVCQL_CODE_CAS_WRITE_UNKNOWN, "cas_write_unknown"},
};

const char *vvcql_code_name(int32_t code)
{
    for (size_t i = 0; i < sizeof code_names / sizeof code_names[0]; i++) {
        if (code_names[i].code == code) {
            return code_names[i].name;
        }
    }
    return "unknown";
}

static const char *const consistency_names[] = {
    [VVCQL_ANY] = "ANY",
    [VVCQL_ONE] = "ONE",
    [VVCQL_TWO] = "TWO",
    [VVCQL_THREE] = "THREE",
    [VVCQL_QUORUM] = "QUORUM",
    [VVCQL_ALL] = "ALL",
    [VVCQL_LOCAL_QUORUM] = "LOCAL_QUORUM",
    [VVCQL_EACH_QUORUM] = "EACH_QUORUM",
    [VVCQL_SERIAL] = "SERIAL",
    [VVCQL_LOCAL_SERIAL] = "LOCAL_SERIAL",
    [VVCQL_LOCAL_ONE] = "LOCAL_ONE",
};
#define CONSISTENCIES (sizeof consistency_names / sizeof consistency_names[0])

const char *vvcql_consistency_name(enum vvcql_consistency consistency)
{
    size_t index = (size_t)consistency;
    return index < CONSISTENCIES ? consistency_names[index] : "unknown";
}

bool vvcql_consistency_of(const char *name, enum vvcql_consistency *consistency_out)
{
    for (size_t i = 0; i < CONSISTENCIES; i++) {
        if (strcasecmp(name, consistency_names[i]) == 0) {
            *consistency_out = (enum vvcql_consistency)i;
            return true;
        }
    }
    return false;
}
