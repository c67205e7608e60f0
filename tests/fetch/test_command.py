"""``tracestat fetch``, and that nothing else in the package uses the network."""

from __future__ import annotations

import ast
import hashlib
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import tracestat
from tests.fetch.serving import ASSET, CONTENT, already_there, serving
from tracestat import fetch, published
from tracestat.cli import main
from tracestat.fetch import RELEASES

NAME = "syfi_coding_trace.jsonl.gz"
# of the standard library and of the packages that this one depends on
NETWORK = {"pooch", "requests", "urllib3", "socket", "ssl", "http", "ftplib", "smtplib", "asyncio", "socketserver"}


@pytest.fixture
def base(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    with serving("right") as server:
        monkeypatch.setattr(fetch.fetch_release, "__kwdefaults__", {**_defaults(), "base": server.base})
        yield server.base


def _defaults() -> dict[str, object]:
    return dict(fetch.fetch_release.__kwdefaults__ or {})


def test_document_and_table(base: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fetch", "-o", str(tmp_path), "--json"]) == 0
    caught = capsys.readouterr()
    assert caught.err == ""
    document = json.loads(caught.out)
    assert document["new"] is True
    assert document["url"] == f"{base}/v0.0.2/{NAME}"
    assert document["files"] == [{"path": NAME, "rows": 7, "bytes": len(CONTENT), "sha256": ASSET.sha256}]
    assert "CC BY 4.0" in document["notes"][0]
    assert main(["fetch", "-o", str(tmp_path)]) == 0
    text = capsys.readouterr().out
    assert text.startswith("TraceLab v0.0.2, jsonl: was there, and its SHA-256 is right; nothing fetched\n")
    for words in ("Zhu, Jacob, Ma, Pan, Wang,", "2606.30560", "CC BY 4.0", "next: tracestat hazard"):
        assert words in " ".join(text.split())
    assert max(map(len, text.splitlines())) <= 80


def test_default_place_is_this_folder(base: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert base
    monkeypatch.chdir(tmp_path)
    assert main(["fetch", "--quiet"]) == 0
    assert (tmp_path / NAME).read_bytes() == CONTENT


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["--release", "v9"], 2),
        (["--format", "csv"], 2),
        (["-o", "no_such_folder"], 2),
        (["-o", "none/a.jsonl.gz"], 1),
        (["extra"], 2),
        (["--base", "http://example.invalid"], 2),
    ],
)
def test_wrong_requests_are_one_line(
    arguments: list[str], code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["fetch", *arguments]) == code
    caught = capsys.readouterr()
    assert (caught.out, caught.err.count("\n")) == ("", 1)
    assert list(tmp_path.iterdir()) == []


def test_no_network_is_one_line_and_exit_1(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fetch", "-o", str(tmp_path)]) == 1
    assert capsys.readouterr().err == (
        "tracestat: github.com: cannot be reached; check the network, or HTTPS_PROXY behind a proxy\n"
    )


def test_interrupt_is_130_and_leaves_nothing(base: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert base

    def stop(_: object, size: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(fetch._Watch, "update", stop)
    assert main(["fetch", "-o", str(tmp_path)]) == 130
    assert list(tmp_path.iterdir()) == []


@pytest.mark.full
def test_help_states_the_default_release_and_loads_no_network(tmp_path: Path) -> None:
    program = (
        "import sys\n"
        "from tracestat.cli import main\n"
        "code = main(['fetch', '--help'])\n"
        "print(*sorted({name.partition('.')[0] for name in sys.modules}), file=sys.stderr)\n"
        "sys.exit(code)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert f"[default: {fetch.LATEST}]" in done.stdout
    assert max(map(len, done.stdout.partition("Example:")[0].splitlines())) <= 80
    assert not set(done.stderr.split()) & {"pooch", "requests", "urllib3", "rich"}


def test_only_fetch_uses_the_network() -> None:
    package = Path(tracestat.__file__).parent
    found = set()
    for path in package.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        if not any(name in text for name in (*NETWORK, "urllib")):
            continue  # parsing takes time
        for node in ast.walk(ast.parse(text)):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module] if isinstance(node, ast.ImportFrom) and node.module else []
            if any(name.partition(".")[0] in NETWORK or name == "urllib.request" for name in names):
                found.add(path.relative_to(package).as_posix())
    assert found == {"fetch.py"}


def test_published_hashes_are_hashes() -> None:
    assert set(RELEASES) >= {"v0.0.1", "v0.0.2"}
    for kinds in RELEASES.values():
        assert set(kinds) == set(fetch.KINDS)
        for asset in kinds.values():
            assert len(bytes.fromhex(asset.sha256)) == hashlib.sha256().digest_size


def test_releases_are_those_that_published_figures_speak_of() -> None:
    assert {a.sha256 for kinds in RELEASES.values() for a in kinds.values()} == set(published.RELEASES)
    for tag, kinds in RELEASES.items():
        same = {published.RELEASES[asset.sha256] for asset in kinds.values()}
        assert same == {tag if tag.startswith("v0.") else "v0.0.1"}


def test_arguments_of_what_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert main(["fetch", *map(str, already_there(monkeypatch, tmp_path)), "--quiet"]) == 0
