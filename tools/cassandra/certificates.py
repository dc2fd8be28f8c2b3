# SPDX-License-Identifier: Apache-2.0
"""Certificates for tests of TLS, made with the program openssl. All files are PEM:

  ca.pem              the authority that servers and clients trust
  server.pem          for the nodes' addresses
  expired-server.pem  the same, no longer valid
  misnamed-server.pem valid, but for another host
  client.pem          a client that the servers accept
  expired-client.pem  one whose time is over
  other-ca.pem        an authority that nobody trusts
  other-client.pem    a client of that authority

Beside each certificate NAME.pem lies its key NAME.key; NAME-both.pem holds the two, key first.
"""
import shutil
import subprocess

from fetch import Unreachable

CONFIGURATION = """[req]
distinguished_name = name
prompt = no
[name]
CN = {name}
[ca]
basicConstraints = critical, CA:TRUE
keyUsage = critical, keyCertSign, cRLSign
subjectKeyIdentifier = hash
[leaf]
basicConstraints = CA:FALSE
keyUsage = critical, digitalSignature
extendedKeyUsage = serverAuth, clientAuth
subjectAltName = {hosts}
"""


class Certificates:
    """Makes all of them in a folder."""

    def __init__(self, folder, addresses):
        if not shutil.which("openssl"):
            raise Unreachable("the program openssl is not installed (on Debian: openssl)")
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        hosts = ",".join(f"IP:{address}" for address in addresses)
        self._authority("ca")
        self._authority("other-ca")
        self._leaf("server", hosts)
        self._leaf("expired-server", hosts, days=-1)
        self._leaf("misnamed-server", "DNS:elsewhere.invalid")
        self._leaf("client", "DNS:client.invalid")
        self._leaf("expired-client", "DNS:client.invalid", days=-1)
        self._leaf("other-client", "DNS:client.invalid", authority="other-ca")

    def _openssl(self, *arguments):
        done = subprocess.run(["openssl", *arguments], cwd=self.folder, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError(f"openssl {' '.join(arguments)}:\n{done.stderr}")

    def _request(self, name, hosts):
        """A key, a request, and the configuration for signing it."""
        text = CONFIGURATION.format(name=f"varve-test-{name}", hosts=hosts)
        (self.folder / f"{name}.cnf").write_text(text)
        self._openssl("req", "-new", "-config", f"{name}.cnf", "-nodes", "-newkey", "ec",
                      "-pkeyopt", "ec_paramgen_curve:prime256v1", "-keyout", f"{name}.key",
                      "-out", f"{name}.csr")

    def _sign(self, name, section, days, *signer):
        self._openssl("x509", "-req", "-in", f"{name}.csr", "-out", f"{name}.pem", "-days",
                      str(days), "-sha256", "-extfile", f"{name}.cnf", "-extensions", section,
                      *signer)
        for suffix in ("csr", "cnf"):
            (self.folder / f"{name}.{suffix}").unlink()

    def _authority(self, name):
        self._request(name, "DNS:authority.invalid")
        self._sign(name, "ca", 3650, "-signkey", f"{name}.key")

    def _leaf(self, name, hosts, days=3650, authority="ca"):
        self._request(name, hosts)
        self._sign(name, "leaf", days, "-CA", f"{authority}.pem", "-CAkey", f"{authority}.key",
                   "-CAcreateserial")
        both = (self.folder / f"{name}.key").read_text() + (self.folder / f"{name}.pem").read_text()
        (self.folder / f"{name}-both.pem").write_text(both)

    def client_encryption_options(self, mutual, server="server"):
        """For cassandra.yaml: the nodes show the certificate `server`."""
        return {
            "enabled": True, "optional": False, "require_client_auth": mutual,
            "ssl_context_factory": {"class_name":
                                    "org.apache.cassandra.security.PEMBasedSslContextFactory"},
            "keystore": str(self.folder / f"{server}-both.pem"),
            "truststore": str(self.folder / "ca.pem"),
        }
