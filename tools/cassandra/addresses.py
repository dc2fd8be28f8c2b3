# SPDX-License-Identifier: Apache-2.0
"""Loopback addresses and JMX ports that no other cluster on this machine has."""
import socket

from node import CQL_PORT, STORAGE_PORT

PLACES = 500
NODES_MAX = 16
FIRST_JMX_PORT = 21000  # below the ports that the kernel gives to outgoing connections


class Place:
    """One of PLACES: addresses 127.A.B.1, .2, … and as many ports for JMX, which listens on
    127.0.0.1 only. A socket's name in the kernel marks the place as taken, until this process ends
    or calls free()."""

    def __init__(self, nodes):
        if not 1 <= nodes <= NODES_MAX:
            raise ValueError(f"a cluster has 1 to {NODES_MAX} nodes, not {nodes}")
        for index in range(PLACES):
            network = f"127.{64 + index // 250}.{1 + index % 250}"
            self.addresses = [f"{network}.{node + 1}" for node in range(nodes)]
            self.jmx_ports = [FIRST_JMX_PORT + index * NODES_MAX + node for node in range(nodes)]
            self.mark = socket.socket(socket.AF_UNIX)
            try:
                self.mark.bind(f"\0varve-cassandra-{network}")
            except OSError:
                self.mark.close()
                continue
            if self._is_free():
                return
            self.mark.close()
        raise RuntimeError(f"no loopback address has its ports {CQL_PORT} and {STORAGE_PORT} free; "
                           "does something listen on them on all addresses?")

    def _is_free(self):
        wanted = [(address, port)
                  for address in self.addresses for port in (CQL_PORT, STORAGE_PORT)]
        wanted += [("127.0.0.1", port) for port in self.jmx_ports]
        return all(map(can_listen, wanted))

    def free(self):
        self.mark.close()


def can_listen(address):
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(address)
            probe.listen()
        except OSError:
            return False
        return True
