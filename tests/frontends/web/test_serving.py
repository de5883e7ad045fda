"""Serving: what else the server carries, and where it may listen."""

from __future__ import annotations

import gzip
import json
import ssl
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.request import Request, urlopen

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from errands.config.sections import Web
from errands.frontends.web import bundle, static
from errands.frontends.web.guard import RefusalError
from errands.frontends.web.serve import place_of
from errands.frontends.web.static import page_file
from errands.model.errors import BadValue
from tests.frontends.web.server import WITHIN, WebServer

pytestmark = pytest.mark.spec("X8")

CALL = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "by-hand", "version": "1"},
    },
}


@pytest.mark.spec("X5")
def test_the_tools_for_agents_are_served_beside_the_page_with_their_own_token(
    make_web: Callable[..., WebServer],
) -> None:
    web = make_web(settings="[web]\nmcp = true\n")
    web.sign_in()
    token = (web.home / "mcp" / "token").read_text()
    accepts = {"Accept": "application/json, text/event-stream"}
    reply = web.post("/mcp", CALL, key=token, headers=accepts)
    assert reply.status == 200, reply.body
    assert b'"serverInfo"' in reply.body
    assert reply.headers["content-security-policy"]
    assert web.post("/mcp", CALL, headers=accepts).status == 401  # the key of the page is not theirs
    assert web.get("/api/me", key=token).status == 401
    assert web.post("/mcp", CALL, key=token, headers={**accepts, "Host": "evil.example"}).status == 421
    assert web.get("/api/me").status == 200


@pytest.mark.spec("X23")
def test_the_metrics_are_served_to_programs(web: WebServer) -> None:
    web.run("true")
    token = web.errands("web", "--token").strip()
    reply = web.get("/metrics", key=token, headers={"Accept": "application/openmetrics-text, */*;q=0.1"})
    assert reply.headers["content-type"] == "application/openmetrics-text; version=1.0.0; charset=utf-8"
    assert reply.body.endswith(b"# EOF\n")
    assert b"errands_" in reply.body
    old = web.get("/metrics", key=token)
    assert old.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    assert b"# EOF" not in old.body
    assert b"errands_" in old.body
    assert web.get("/metrics", key="").status == 401


def test_a_question_about_the_head_of_an_answer_is_refused(web: WebServer) -> None:
    assert web.ask("HEAD", "/api/stream").status == 405
    assert web.ask("HEAD", "/api/me").status == 405


def test_nothing_is_served_by_a_run_that_would_sign_itself_in(web: WebServer) -> None:
    other = ("env", f"ERRANDS_HOME={web.folder}/other")
    task = web.run("--", *other, sys.executable, "-m", "errands", "web", "127.0.0.1:0", "--no-open")
    said = web.get(f"/api/tasks/{task}/output").json["text"]
    assert "inside run" in said
    assert "http://" not in said


def test_without_the_setting_there_are_no_tools(web: WebServer) -> None:
    assert web.post("/mcp", CALL).status == 404


def certificate(folder: Path) -> tuple[Path, Path]:
    """Make a certificate for this machine; return its file, and that of its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .sign(key, hashes.SHA256())
    )
    cert, private = folder / "cert.pem", folder / "key.pem"
    cert.write_bytes(made.public_bytes(serialization.Encoding.PEM))
    private.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
    )
    return cert, private


def test_with_a_certificate_it_speaks_tls(make_web: Callable[..., WebServer], tmp_path: Path) -> None:
    cert, private = certificate(tmp_path)
    web = make_web(settings=f'[web]\ncert = "{cert}"\ncert_key = "{private}"\n')
    assert web.url.startswith("https://127.0.0.1:")
    trust = ssl.create_default_context()
    trust.check_hostname, trust.verify_mode = False, ssl.CERT_NONE
    body = json.dumps({"code": web.code}).encode()
    asked = Request(f"{web.url}/api/sign-in", body, {"Content-Type": "application/json", "Origin": web.url})
    with urlopen(asked, timeout=WITHIN, context=trust) as answer:
        assert answer.status == 201
        assert answer.headers["strict-transport-security"]


def test_another_machine_is_served_with_tls_only(tmp_path: Path) -> None:
    cert, private = certificate(tmp_path)
    with pytest.raises(BadValue, match="can be reached from other machines"):
        place_of("192.0.2.1:7979", Web())
    with pytest.raises(BadValue, match="can be reached from other machines"):
        place_of("192.0.2.1:7979", Web(origin="https://errands.example"))
    with pytest.raises(BadValue, match="belong together"):
        place_of(None, Web(cert=str(cert)))
    with pytest.raises(BadValue, match="cannot be read"):
        place_of(None, Web(cert="/nowhere", cert_key="/nowhere"))
    found = place_of("192.0.2.1:7979", Web(cert=str(cert), cert_key=str(private)))
    assert found.url(7979) == "https://192.0.2.1:7979"


@pytest.fixture
def page_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A page of two modules, instead of ours."""
    caches = (static.files, static.version, static.shell, static._compressed)
    (tmp_path / "js").mkdir()
    (tmp_path / "css").mkdir()
    (tmp_path / "index.html").write_text('<script type="module" src="/page/bundle.js"></script>')
    (tmp_path / "js" / "main.js").write_text('import { said as word } from "./other.js";\nalert(word);\n')
    (tmp_path / "js" / "other.js").write_text('export const said = "hello";\n')
    (tmp_path / "js" / "secret.py").write_text("")
    for path in bundle.STYLE_SHEETS:
        (tmp_path / path).write_text(f"/* {path} */\n")
    monkeypatch.setattr(static, "FOLDER", str(tmp_path))
    for each in caches:
        each.cache_clear()
    yield tmp_path
    for each in caches:
        each.cache_clear()


def test_the_page_is_served_at_its_addresses_and_its_files_for_ever(page_of: Path) -> None:
    shell = page_file("/tasks/pytest-7k2m4x", "")
    named = f"/page/{static.version()}/bundle.js"
    assert shell.body == f'<script type="module" src="{named}"></script>'.encode()
    assert "cache-control" not in shell.headers  # the guard says: do not keep it
    script = page_file(named, "")
    assert script.headers["content-type"] == "text/javascript; charset=utf-8"
    assert script.headers["cache-control"] == "public, max-age=31536000, immutable"
    for path in (
        "/page/old/bundle.js",
        f"/page/{static.version()}/js/secret.py",
        f"/page/{static.version()}/js/main.js",
        f"/page/{static.version()}/index.html",
        "/main.js",
    ):
        with pytest.raises(RefusalError):
            page_file(path, "")


def test_files_are_compressed_for_a_browser_that_takes_them_so(page_of: Path) -> None:
    for path in ("/", f"/page/{static.version()}/bundle.js"):
        plain, sent = page_file(path, ""), page_file(path, "br, gzip;q=0.8")
        assert "content-encoding" not in plain.headers
        assert sent.headers.get("content-encoding") == "gzip"
        assert plain.headers["vary"] == sent.headers["vary"] == "accept-encoding"  # for a proxy that keeps it
        assert gzip.decompress(bytes(sent.body)) == plain.body


def test_a_request_that_is_still_answered_when_the_server_stops_is_refused(
    make_web: Callable[..., WebServer],
) -> None:
    web = make_web()
    with web.connect(f"POST /api/sign-in HTTP/1.1\r\nHost: {web.host}:{web.port}\r\n".encode()) as line:
        line.sendall(b"Content-Type: application/json\r\nContent-Length: 10\r\nExpect: 100-continue\r\n\r\n")
        assert b"100 Continue" in line.recv(4096)  # it waits for the body
        web.process.terminate()
        answer = line.makefile("rb").read()
    assert b"503" in answer
    assert b"stopping" in answer
    web.process.wait(WITHIN)
    assert "Traceback" not in web.log.read_text()
