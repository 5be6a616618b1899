"""The nginx.conf of docker/, adapted to run alone on loopback."""

import re
import ssl
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path


def certify(folder: Path) -> tuple[Path, Path]:
    """Create a self-signed certificate for localhost and its key."""
    certificate, key = folder / "tls.crt", folder / "tls.key"
    subprocess.run(
        [
            *["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"],
            *["-noenc", "-days", "2", "-subj", "/CN=localhost"],
            *["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", certificate],
        ],
        check=True,
        capture_output=True,
    )
    return certificate, key


def temporary_paths(folder: Path) -> str:
    """Return the directives with which nginx writes its temporary files into a folder."""
    places = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    return "".join(f"{name}_temp_path {folder}/{name};\n" for name in places)


def nginx_files(
    root: Path,
    folder: Path,
    plain: int,
    port: int,
    collectors: Sequence[str],
    changes: Mapping[str, str] | None = None,
) -> tuple[Path, ssl.SSLContext]:
    """Write the files of nginx into a folder.

    Parameters
    ----------
    root : Path
        Root of the project.
    folder : Path
    plain, port : int
        Ports without and with TLS.
    collectors : sequence of str
        Addresses that replace the collector of nginx.conf.
    changes : mapping of str to str, optional
        Further replacements.

    Returns
    -------
    tuple
        The configuration file, and a TLS context that trusts the certificate.
    """
    certificate, key = certify(folder)
    text = (root / "docker/nginx.conf").read_text(encoding="utf-8")
    for old, new in (changes or {}).items():
        assert old in text, old
        text = text.replace(old, new)
    [(server, parameters)] = re.findall(r"^( *server 127.0.0.1:8000( .*)?;)$", text, re.M)
    changes = {
        "    listen [::]:80;\n": "",
        "    listen [::]:443 ssl http2;\n": "",
        "listen 80;": f"listen 127.0.0.1:{plain};",
        "listen 443 ssl http2;": f"listen 127.0.0.1:{port} ssl http2;",
        server: "".join(f"server {address}{parameters};" for address in collectors),
        "/etc/letsencrypt/live/collect.example.org/fullchain.pem": str(certificate),
        "/etc/letsencrypt/live/collect.example.org/privkey.pem": str(key),
        "/var/log/nginx/halftruth-error.log": str(folder / "errors"),
    }
    for old, new in changes.items():
        assert old in text, old
        text = text.replace(old, new)
    # A relay has no such log.
    text = text.replace("/var/log/nginx/halftruth.log", str(folder / "log"))
    (folder / "halftruth.conf").write_text(text, encoding="utf-8")
    main = folder / "nginx.conf"
    main.write_text(
        f"daemon off;\npid {folder}/pid;\nerror_log stderr emerg;\n"
        f"events {{}}\nhttp {{\n{temporary_paths(folder)}include {folder}/halftruth.conf;\n}}\n"
    )
    return main, ssl.create_default_context(cafile=certificate)
