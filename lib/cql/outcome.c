/* SPDX-License-Identifier: Apache-2.0 */
/* What a statement can have done: by its text before it is sent, by the answer afterwards. */
#include "execution_private.h"

#include <string.h>
#include <strings.h>

/* Whether the text's first word is this one. A comment before it hides it. */
static bool begins_with(struct vvcql_bytes text, const char *word)
{
    size_t size = strlen(word);
    while (text.size > 0 && strchr(" \t\r\n", text.data[0]) != NULL) {
        text.data++;
        text.size--;
    }
    return text.size > size && strncasecmp((const char *)text.data, word, size) == 0 &&
           strchr(" \t\r\n*(\"", text.data[size]) != NULL;
}

static struct vvcql_bytes text_of(const struct vvcql_statement *statement)
{
    if (statement->kind == VVCQL_KIND_EXECUTE)
        return (struct vvcql_bytes){(const uint8_t *)statement->prepared->text,
                                    strlen(statement->prepared->text)};
    return (struct vvcql_bytes){statement->text.data, statement->text.size};
}

enum vvcql_status vvcql_execution_judge(struct vvcql_execution *execution,
                                        struct vvcql_error *error)
{
    const struct vvcql_statement *statement = execution->statement;
    enum vvcql_status status = vvcql_statement_check(statement, error);
    if (status != VVCQL_OK)
        return status;
    struct vvcql_bytes text = text_of(statement);
    bool is_batch = statement->kind == VVCQL_KIND_BATCH;
    if (!is_batch && begins_with(text, "USE"))
        return vvcql_error_set(error, VVCQL_INVALID,
                               "USE would count for one connection only: name the keyspace in "
                               "each statement");
    execution->may_change = is_batch || !begins_with(text, "SELECT");
    execution->is_conditional = statement->has_serial_consistency;
    execution->is_idempotent = statement->is_idempotent && !execution->is_conditional;
    return VVCQL_OK;
}

/* Refused before anything was done. */
static bool is_refusal(int32_t code)
{
    switch (code) {
    case VVCQL_CODE_PROTOCOL_ERROR:
    case VVCQL_CODE_BAD_CREDENTIALS:
    case VVCQL_CODE_IS_BOOTSTRAPPING:
    case VVCQL_CODE_FUNCTION_FAILURE:
    case VVCQL_CODE_SYNTAX_ERROR:
    case VVCQL_CODE_UNAUTHORIZED:
    case VVCQL_CODE_INVALID:
    case VVCQL_CODE_CONFIG_ERROR:
    case VVCQL_CODE_ALREADY_EXISTS:
    case VVCQL_CODE_UNPREPARED:
        return true;
    default:
        return false;
    }
}

bool vvcql_is_outcome_open(const struct vvcql_execution *execution, const struct vvcql_error *error)
{
    if (!execution->may_change || is_refusal(error->code))
        return false;
    /* Of a lightweight transaction's rounds, an earlier one may have decided it. */
    if (error->code == VVCQL_CODE_UNAVAILABLE || error->code == VVCQL_CODE_READ_TIMEOUT ||
        error->code == VVCQL_CODE_READ_FAILURE)
        return execution->is_conditional;
    return true;
}
