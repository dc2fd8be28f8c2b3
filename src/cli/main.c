/* SPDX-License-Identifier: Apache-2.0 */
/* The program `varve`. */
#include "cli/commands.h"

int main(int argc, char **argv)
{
    return vv_cli_run(argc, argv);
}
