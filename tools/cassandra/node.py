# SPDX-License-Identifier: Apache-2.0
"""One node of Cassandra: a folder that stays, and a process that comes and goes."""
import json
import re
import signal
import socket
import subprocess

import processes

CQL_PORT = 9042
STORAGE_PORT = 7000

# A node that has not come up by then never will; generous, for busy machines.
PATIENCE_S = 180

EXPORTS = """
java.base/java.lang.ref java.base/jdk.internal.misc java.base/jdk.internal.ref java.base/sun.nio.ch
java.management.rmi/com.sun.jmx.remote.internal.rmi java.management/com.sun.jmx.remote.security
java.rmi/sun.rmi.registry java.rmi/sun.rmi.server java.sql/java.sql jdk.unsupported/sun.misc
""".split()

OPENS = """
java.base/java.io java.base/java.lang java.base/java.lang.module java.base/java.lang.reflect
java.base/java.nio java.base/java.util java.base/jdk.internal.loader java.base/jdk.internal.math
java.base/jdk.internal.module java.base/jdk.internal.ref java.base/jdk.internal.reflect
java.base/jdk.internal.util.jar java.base/sun.nio.ch jdk.management/com.sun.management.internal
java.rmi/sun.rmi.transport.tcp
""".split()

# The first compiler alone makes a node start in half the time and CPU; a later option undoes it.
QUICK_JAVA = ["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-XX:-UsePerfData"]

# Neither waits for nodes that the cluster does not have nor expects gossip to be late at first.
FAST_START = ["-Dcassandra.skip_wait_for_gossip_to_settle=0", "-Dcassandra.ring_delay_ms=2000",
              "-Dcassandra.fd_initial_value_ms=1000"]

LOGBACK = """<configuration>
  <appender name="log" class="ch.qos.logback.core.FileAppender">
    <file>{log}</file>
    <encoder><pattern>%-5level %date{{ISO8601}} %logger{{0}} - %msg%n</pattern></encoder>
  </appender>
  <logger name="org.apache.cassandra.service.StorageService" level="DEBUG"/>
  <root level="INFO"><appender-ref ref="log"/></root>
</configuration>
"""

LOGBACK_OF_TOOLS = """<configuration>
  <appender name="errors" class="ch.qos.logback.core.ConsoleAppender">
    <target>System.err</target>
    <encoder><pattern>%-5level %msg%n</pattern></encoder>
  </appender>
  <root level="ERROR"><appender-ref ref="errors"/></root>
</configuration>
"""


class Node:
    """A node that its cluster has configured. `configuration` is the content of cassandra.yaml;
    on_launch(node) is called before each start of the process."""

    def __init__(self, java, jars, folder, configuration, datacenter, jmx_port, java_options,
                 on_launch=lambda node: None):
        self.java = str(java)
        self.jars = jars
        self.folder = folder
        self.configuration = configuration
        self.address = configuration["listen_address"]
        self.datacenter = datacenter
        self.jmx_port = jmx_port
        self.java_options = list(java_options)
        self.on_launch = on_launch
        self.log_path = folder / "system.log"
        self.process = None
        self.paused = False
        self.log_start = 0  # where in the log this process begins

    def __repr__(self):
        return f"<node {self.address}>"

    @property
    def contact_point(self):
        return f"{self.address}:{CQL_PORT}"

    @property
    def pid(self):
        return self.process.pid if self.process else None

    # ---- the process

    def write_files(self):
        """Writes all that its Java reads; `configuration` may have changed since the last start."""
        (self.folder / "tmp").mkdir(parents=True, exist_ok=True)
        for name, text in (
                ("cassandra.yaml", json.dumps(self.configuration, indent=1)),
                ("rackdc.properties", f"dc={self.datacenter}\nrack=rack1\n"),
                ("logback.xml", LOGBACK.format(log=self.log_path)),
                ("logback-tools.xml", LOGBACK_OF_TOOLS)):
            (self.folder / name).write_text(text)

    def java_command(self, logback, options):
        return [self.java, *QUICK_JAVA,
                "-Djdk.attach.allowAttachSelf=true", "-Dio.netty.tryReflectionSetAccessible=true",
                *(f"--add-exports={name}=ALL-UNNAMED" for name in EXPORTS),
                *(f"--add-opens={name}=ALL-UNNAMED" for name in OPENS),
                f"-Djava.io.tmpdir={self.folder}/tmp", f"-Duser.home={self.folder}/tmp",
                f"-Dlogback.configurationFile={self.folder}/{logback}",
                f"-Dcassandra.config=file://{self.folder}/cassandra.yaml",
                f"-Dcassandra.storagedir={self.folder}", f"-Dcassandra.logdir={self.folder}",
                f"-Dcassandra-rackdc.properties=file://{self.folder}/rackdc.properties",
                *options, "-cp", f"{self.jars}/*"]

    def launch(self):
        """Starts the process and waits for nothing."""
        assert self.process is None or self.process.poll() is not None, f"{self} runs already"
        self.write_files()
        self.on_launch(self)
        self.log_start = self.log_size()
        agent, = self.jars.glob("jamm-*.jar")
        command = self.java_command("logback.xml", [
            f"-javaagent:{agent}", "-XX:+ExitOnOutOfMemoryError",
            "-Dcassandra-foreground=yes", f"-Dcassandra.jmx.local.port={self.jmx_port}",
            *FAST_START, *self.java_options])
        with open(self.folder / "console.log", "ab") as console:
            self.process = processes.start(
                [*command, "org.apache.cassandra.service.CassandraDaemon"],
                stdout=console, stderr=console, cwd=self.folder)
        return self

    def start(self):
        """Starts it and waits until it takes clients; see also Cluster.wait_until_up."""
        return self.launch().wait_listening()

    def wait_listening(self, port=CQL_PORT):
        """Waits until a port of it answers; fails with its log when the process ends."""
        def look():
            if self.process is None or self.process.poll() is not None:
                raise RuntimeError(f"{self} ended while it started:\n{self.log_tail()}")
            try:
                socket.create_connection((self.address, port), 1).close()
            except OSError:
                return False
            return True
        try:
            processes.wait_until(look, f"{self} listens on port {port}", PATIENCE_S)
        except TimeoutError as error:
            raise TimeoutError(f"{error}\n{self.log_tail()}") from None
        return self

    def is_running(self):
        """Whether its process is there and not paused."""
        return self.process is not None and self.process.poll() is None and not self.paused

    def stop(self):
        """SIGTERM: tells the others, writes all to disk, ends. Takes some 5 s."""
        self._end(signal.SIGTERM)
        return self

    def kill(self):
        """SIGKILL: a crash. Nothing happens when it does not run."""
        self._end(signal.SIGKILL)
        return self

    def _end(self, number):
        if self.process is None:
            return
        if self.paused and number != signal.SIGKILL:
            self.resume()
        self.process.send_signal(number)
        try:
            self.process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            raise TimeoutError(f"{self} does not end:\n{self.log_tail()}") from None
        self.process = None
        self.paused = False

    def pause(self):
        """SIGSTOP: it hangs, and its connections stay open."""
        self.process.send_signal(signal.SIGSTOP)
        self.paused = True
        return self

    def resume(self):
        self.process.send_signal(signal.SIGCONT)
        self.paused = False
        return self

    def restart(self):
        """Starts it again on its data, after a clean stop when it still runs."""
        return self.stop().start()

    # ---- its log

    def log_size(self):
        return self.log_path.stat().st_size if self.log_path.exists() else 0

    def log(self, start=0):
        """Its log from a position in bytes on."""
        if not self.log_path.exists():
            return ""
        with open(self.log_path, "rb") as file:
            file.seek(start)
            return file.read().decode("utf-8", "replace")

    def log_tail(self, lines=40):
        console = (self.folder / "console.log").read_text(errors="replace").splitlines()
        tail = self.log(self.log_start).splitlines()[-lines:]
        return "\n".join([*console[-10:], *tail])

    def sees_up(self, other, since=0):
        """Whether the last that its log says about another node, from a position on, is that it is
        up, and whether it knows its place in the ring."""
        log = self.log(max(since, self.log_start))
        name = f"/{re.escape(other.address)}:{STORAGE_PORT}"
        states = re.findall(rf"InetAddress {name} is now (UP|DOWN)", log)
        return bool(states) and states[-1] == "UP" and bool(
            re.search(rf"Node {name} state NORMAL, token", log))

    # ---- tools

    def tool(self, name, *arguments, check=True):
        """Runs a program of Cassandra's package of tools with this node's configuration; returns
        what it printed."""
        command = [*self.java_command("logback-tools.xml", ["-Xmx128m"]),
                   f"org.apache.cassandra.tools.{name}", *map(str, arguments)]
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              cwd=self.folder, timeout=PATIENCE_S)
        if check and done.returncode != 0:
            raise RuntimeError(f"{name} {' '.join(map(str, arguments))} on {self}: exit code "
                               f"{done.returncode}:\n{done.stdout}{done.stderr}")
        return done.stdout

    def nodetool(self, *arguments, check=True):
        """nodetool("status"), nodetool("flush", keyspace, table), …; takes some 2 s."""
        return self.tool("NodeTool", "-p", self.jmx_port, *arguments, check=check)

    def states(self):
        """How it sees the ring: {address: "UN"}, with N normal, U up and D down; by nodetool."""
        lines = self.nodetool("status")
        return {address: state
                for state, address in re.findall(r"^([UD][NLJM])\s+([\d.]+)", lines, re.MULTILINE)}

    def sstables(self, keyspace, table):
        """The data files of a table, without those of indexes and snapshots."""
        return sorted(self.folder.glob(f"data/{keyspace}/{table}-*/*-Data.db"))

    def sstable_metadata(self, path):
        """What SSTableMetadataViewer says about a data file."""
        return self.tool("SSTableMetadataViewer", path)

    def expired_blockers(self, keyspace, table):
        """What SSTableExpiredBlockers says: which SSTables of a table keep expired ones alive."""
        return self.tool("SSTableExpiredBlockers", keyspace, table)
