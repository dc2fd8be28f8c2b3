# SPDX-License-Identifier: Apache-2.0
"""What tests of commands that run for a while share."""
from varve_process import PATIENCE_S


class Commands:
    """Beside VarveTest."""

    def finish(self, process, code=0, *needles):
        """It ends with the code and has said all of these; what it wrote to standard output."""
        out, err = process.communicate(timeout=PATIENCE_S)
        self.assertEqual(process.returncode, code, out + err)
        for needle in needles:
            self.assertIn(needle, out + err)
        self.assertNotRegex(err, r"AddressSanitizer|LeakSanitizer|runtime error")
        return out
