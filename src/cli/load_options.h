/* SPDX-License-Identifier: Apache-2.0 */
/* How files to load are read: rows of struct vv_option for each command that reads them. */
#ifndef VV_CLI_LOAD_OPTIONS_H
#define VV_CLI_LOAD_OPTIONS_H

/* clang-format off */
#define VV_LOAD_INPUT_OPTIONS \
    {"format", 'f', "FORMAT", false, "line|csv", \
     "line (line protocol) or csv; else by the file's name or content"}, \
    {"csv", 0, NULL, false, NULL, "The same as --format csv"}, \
    {"precision", 'p', "UNIT", false, "ns|us|ms|s|m|h", \
     "Line protocol: the unit of timestamps; ns if it is not given"}, \
    {"measurement", 0, "NAME", false, NULL, "CSV: the measurement; else the file's name"}, \
    {"time-column", 0, "COLUMN", false, NULL, \
     "CSV: the column of the time; else timestamp, time, datetime, date or ts, else the first"}, \
    {"time-format", 0, "FORM", false, NULL, \
     "CSV: rfc3339 (the default, zone or T may be missing: UTC), s, ms, us, ns, or a pattern such " \
     "as '%d.%m.%Y %H:%M'"}, \
    {"tag", 0, "KEY=VALUE", true, NULL, "CSV: a tag of every row"}, \
    {"tag-columns", 0, "COLUMNS", true, NULL, "CSV: columns that are tags, with commas"}, \
    {"field-columns", 0, "COLUMNS", true, NULL, \
     "CSV: columns that are fields, with commas; else all that hold numbers"}, \
    {"field", 0, "COLUMN=NAME", true, NULL, "CSV: a column that is a field of another name"}, \
    {"int-columns", 0, "COLUMNS", true, NULL, \
     "CSV: fields that are whole numbers and stored as such; the others are floating point"}, \
    {"delimiter", 0, "CHAR", false, NULL, "CSV: what separates cells; a comma if not given"}, \
    {"header", 0, "WHICH", false, "auto|yes|no", \
     "CSV: whether the first row has the columns' names; without, they are called 1, 2, …"}
/* clang-format on */

#endif
