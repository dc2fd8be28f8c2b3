# SPDX-License-Identifier: Apache-2.0
"""Statements of CQL through Cassandra's own Python driver, as a second opinion.

This file is also the program that the driver's Python runs: it reads one JSON object from its input
and prints the rows of each statement as JSON, or an error and exit code 1.
"""
import json
import pathlib
import subprocess
import sys

SECONDS_MAX = 180


class Refused(Exception):
    """The driver could not connect, or a statement failed; the message is the driver's."""


def execute(python, statements, addresses, **about):
    """Runs statements one after the other and returns a list with the rows of each, as dicts; see
    `connect` for what `about` can hold. `python` is fetch.python_driver()."""
    order = {"statements": statements, "addresses": addresses, **about}
    done = subprocess.run([python, "-B", "-P", pathlib.Path(__file__)], input=json.dumps(order),
                          capture_output=True, text=True, timeout=SECONDS_MAX)
    if done.returncode != 0:
        raise Refused(done.stderr.strip())
    return json.loads(done.stdout)


def connect(addresses, datacenter=None, user=None, password=None, authority=None, certificate=None,
            key=None):
    """Addresses without port; the files of TLS are PEM."""
    # pylint: disable=import-outside-toplevel # the driver is there only in its own Python
    import ssl

    from cassandra import ConsistencyLevel
    from cassandra.auth import PlainTextAuthProvider
    from cassandra.cluster import EXEC_PROFILE_DEFAULT, Cluster, ExecutionProfile
    from cassandra.policies import DCAwareRoundRobinPolicy, RoundRobinPolicy
    from cassandra.query import dict_factory

    context = None
    if authority:
        context = ssl.create_default_context(cafile=authority)
        context.check_hostname = False
        if certificate:
            context.load_cert_chain(certificate, key)
    profile = ExecutionProfile(
        load_balancing_policy=(DCAwareRoundRobinPolicy(datacenter) if datacenter
                               else RoundRobinPolicy()),
        consistency_level=(ConsistencyLevel.LOCAL_QUORUM if datacenter
                           else ConsistencyLevel.QUORUM),
        request_timeout=60, row_factory=dict_factory)
    cluster = Cluster(addresses, execution_profiles={EXEC_PROFILE_DEFAULT: profile},
                      auth_provider=PlainTextAuthProvider(user, password) if user else None,
                      ssl_context=context, connect_timeout=30, control_connection_timeout=30,
                      max_schema_agreement_wait=60)
    return cluster.connect()


def main():
    order = json.load(sys.stdin)
    statements = order.pop("statements")
    try:
        session = connect(**order)
        answers = [list(session.execute(statement)) for statement in statements]
    except Exception as error:  # of whatever kind: it is for the caller to read
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return 1
    json.dump(answers, sys.stdout, default=str)
    session.cluster.shutdown()
    return 0


if __name__ == "__main__":
    sys.exit(main())
