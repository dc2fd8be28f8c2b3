# SPDX-License-Identifier: Apache-2.0
"""A cluster of Cassandra on loopback addresses of its own, gone with all its data at the end of the
`with` or of the Python process:

    with Cluster(nodes=3) as cluster:
        use(cluster.contact_points)
        cluster.nodes[1].kill()
"""
import concurrent.futures

import cql
import fetch
import processes
from addresses import Place
from certificates import Certificates
from node import PATIENCE_S, STORAGE_PORT, Node

TOKENS_MIN = -2**63
TOKENS = 2**64

# What differs from Cassandra's defaults: small memory and files, and the newer storage formats.
CONFIGURATION = {
    "cluster_name": "varve",
    "partitioner": "org.apache.cassandra.dht.Murmur3Partitioner",
    "endpoint_snitch": "GossipingPropertyFileSnitch",
    "num_tokens": 1,
    "auto_bootstrap": False,
    "storage_compatibility_mode": "NONE",
    "memtable": {"configurations": {"default": {"class_name": "TrieMemtable"}}},
    "sstable": {"selected_format": "bti"},
    "commitlog_sync": "periodic",
    "commitlog_sync_period": "1000ms",
    "commitlog_segment_size": "8MiB",
    "commitlog_total_space": "256MiB",
    "memtable_heap_space": "64MiB",
    "memtable_offheap_space": "64MiB",
    "file_cache_size": "32MiB",
    "networking_cache_size": "32MiB",
    "key_cache_size": "4MiB",
    "concurrent_reads": 8,
    "concurrent_writes": 8,
    "concurrent_counter_writes": 2,
    "dynamic_snitch": False,
    "auto_snapshot": False,
    "phi_convict_threshold": 6,  # with FAST_START: some 14 s until a lost node is noticed
    "block_for_peers_timeout_in_secs": 3,  # a node that starts while others are down
}

QUICK_SCHEMA = ["-Dcassandra.test.flush_local_schema_changes=false"]

PASSWORDS = {
    "authenticator": {"class_name": "PasswordAuthenticator"},
    "authorizer": {"class_name": "CassandraAuthorizer"},
    "role_manager": {"class_name": "CassandraRoleManager"},
}


class Cluster:
    """`nodes` in one data centre dc1, or `datacenters` as {"dc1": 3, "dc2": 1}.

    authentication  passwords; the first role is cassandra with the password cassandra
    tls             "server": clients must use TLS; "mutual": and show a certificate
    server_certificate  which of certificates.py the nodes show
    options         more content for cassandra.yaml
    quick_schema    tables are made in a quarter of the time, as what says that they are there is
                    not written to disk for each; who kills a node calls keep_schema() before
    java_options    later options win, so "-XX:TieredStopAtLevel=4" brings Java's usual compilers
    """

    def __init__(self, nodes=3, datacenters=None, heap_mb=384, authentication=False, tls=None,
                 server_certificate="server", options=None, java_options=(), quick_schema=False):
        if tls not in (None, "server", "mutual"):
            raise ValueError(f"tls is None, 'server' or 'mutual', not {tls!r}")
        self.datacenters = datacenters or {"dc1": nodes}
        self.heap_mb = heap_mb
        self.authentication = authentication
        self.tls = tls
        self.server_certificate = server_certificate
        self.options = dict(options or {})
        self.java_options = [*(QUICK_SCHEMA if quick_schema else ()), *java_options]
        self.nodes = []
        self.folder = None         # temporary, of this cluster
        self.certificates = None   # folder with certificates, when there is TLS
        self._place = None
        self._marks = {}           # (of a node, in the log of another) → where a launch was

    @property
    def contact_points(self):
        """["127.A.B.1:9042", …]"""
        return [node.contact_point for node in self.nodes]

    def in_datacenter(self, name):
        return [node for node in self.nodes if node.datacenter == name]

    def execute(self, *statements, nodes=None, user="cassandra", password="cassandra",
                client="client", datacenter=None):
        """Runs statements of CQL with Cassandra's Python driver at QUORUM, with a data centre at
        LOCAL_QUORUM; returns the rows of each. Raises cql.Refused. `client` names the certificate
        that it shows, None for none."""
        about = {"datacenter": datacenter}
        if self.authentication and user:
            about |= {"user": user, "password": password}
        if self.tls:
            about["authority"] = str(self.certificates / "ca.pem")
            if client:
                about |= {"certificate": str(self.certificates / f"{client}.pem"),
                          "key": str(self.certificates / f"{client}.key")}
        addresses = [node.address for node in nodes or self.nodes if node.is_running()]
        return cql.execute(fetch.python_driver(), statements, addresses, **about)

    # ---- life

    def __enter__(self):
        return self.start()

    def __exit__(self, *_):
        self.close()

    def start(self):
        """Makes the folder and nodes, starts all, and waits until each sees each."""
        assert self.folder is None, "it runs already"
        self.nodes = []
        java, jars = fetch.java(), fetch.jars()
        try:
            self._place = Place(sum(self.datacenters.values()))
            self._folder = processes.Folder("varve-cassandra-")
            self.folder = self._folder.path
            self._make_nodes(java, jars)
            self._start_nodes()
        except BaseException:
            self.close()
            raise
        return self

    def close(self):
        """Kills all nodes and removes their data."""
        for node in self.nodes:
            node.kill()
        if self.folder:
            self._folder.remove()
            self.folder = None
        if self._place:
            self._place.free()
            self._place = None

    def _make_nodes(self, java, jars):
        common = self._common_configuration()
        index = 0
        for number, (datacenter, count) in enumerate(self.datacenters.items()):
            for of_datacenter in range(count):
                address = self._place.addresses[index]
                token = TOKENS_MIN + of_datacenter * (TOKENS // count) + 1000 * number
                configuration = {**common, "initial_token": str(token), "listen_address": address,
                                 "rpc_address": address, **self.options}
                self.nodes.append(Node(java, jars, self.folder / f"node{index + 1}", configuration,
                                       datacenter, self._place.jmx_ports[index],
                                       self._java_options(), self._mark))
                index += 1

    def _common_configuration(self):
        # All are seeds: any can start first, and alone.
        seeds = ",".join(f"{address}:{STORAGE_PORT}" for address in self._place.addresses)
        configuration = {**CONFIGURATION, "seed_provider": [
            {"class_name": "org.apache.cassandra.locator.SimpleSeedProvider",
             "parameters": [{"seeds": seeds}]}]}
        if self.authentication:
            configuration |= PASSWORDS
        if self.tls:
            self.certificates = self.folder / "certificates"
            certificates = Certificates(self.certificates, self._place.addresses)
            configuration["client_encryption_options"] = certificates.client_encryption_options(
                self.tls == "mutual", self.server_certificate)
        return configuration

    def _java_options(self):
        options = [f"-Xms{self.heap_mb}m", f"-Xmx{self.heap_mb}m",
                   "-Dcassandra.superuser_setup_delay_ms=500"]
        if self.authentication:  # else logins fail while the one node with the role is down
            replicas = min(3, sum(self.datacenters.values()))
            options.append(f"-Dcassandra.system_auth.default_rf={replicas}")
        return options + self.java_options

    def _start_nodes(self):
        for node in self.nodes:
            node.launch()
        for node in self.nodes:
            node.wait_listening()
        for node in self.nodes:
            self.wait_until_up(node)
        if self.authentication:
            processes.wait_until(
                lambda: any("Created default superuser role" in node.log() for node in self.nodes),
                "the role cassandra is made", PATIENCE_S)

    def keep_schema(self):
        """What tables there are survives that nodes are killed, also with quick_schema."""
        with concurrent.futures.ThreadPoolExecutor() as pool:
            for done in [pool.submit(node.nodetool, "flush", "system_schema")
                         for node in self.nodes]:
                done.result()

    # ---- who sees whom

    def _mark(self, node):
        for other in self.nodes:
            self._marks[node, other] = other.log_size()

    def wait_until_up(self, node):
        """Waits until a node that was started or resumed sees all others that run, and they it."""
        node.wait_listening()
        for other in self.nodes:
            if other is not node and other.is_running():
                for seen, by in ((node, other), (other, node)):
                    self._wait_until(lambda seen=seen, by=by: self.sees_up(by, seen),
                                     f"{by} sees {seen} up", by)

    def wait_until_down(self, node):
        """Waits until all others that run have noticed that a node is gone or hangs."""
        for other in self.nodes:
            if other is not node and other.is_running():
                self._wait_until(lambda other=other: not self.sees_up(other, node),
                                 f"{other} sees {node} down", other)

    def sees_up(self, by, node):
        """Whether `by` takes the present process of `node` for up."""
        return by.sees_up(node, self._marks.get((node, by), 0))

    def _wait_until(self, condition, what, of_node):
        try:
            processes.wait_until(condition, what, PATIENCE_S)
        except TimeoutError as error:
            raise TimeoutError(f"{error}\n{of_node.log_tail()}") from None
