"""Every shell call of the published sample logs against TraceLab's own labels and skeletons.

Compared are true names, before they become tokens; what is compared with was made before custom naming, too.

Differences known and explained: none. All 9,195 calls agree in status, reason, executables and skeleton. The logs hold
six Codex calls more, which TraceLab's extractor does not see: they follow the last ``token_count`` of their file and
so belong to no round of its.
"""

from __future__ import annotations

import gzip
import json
import tarfile
from collections.abc import Iterator
from typing import Any

import pytest

from tests.conftest import corpus_folder, corpus_path
from tracestat.ingest.logs.names import Names
from tracestat.ingest.logs.shell import parsed_command, shell_of

Call = tuple[str, str]


def _objects(archive: str) -> Iterator[dict[str, Any]]:
    decoder = json.JSONDecoder()
    with tarfile.open(corpus_folder() / archive) as folder:
        for member in folder:
            file = folder.extractfile(member)
            for line in file or ():
                text = line.decode("utf-8", "replace").strip()
                while text:  # two objects may share a line
                    try:
                        found, end = decoder.raw_decode(text)
                    except ValueError:
                        break
                    yield found
                    text = text[end:].lstrip()


def _claude() -> Iterator[Call]:
    for line in _objects("raw_claude_code.tar.gz"):
        content = line["message"].get("content") if line.get("type") == "assistant" else None
        for block in content if isinstance(content, list) else ():
            if block["type"] == "tool_use" and block["name"] == "Bash":
                yield block["id"], block["input"]["command"]


def _codex() -> Iterator[Call]:
    for line in _objects("raw_codex.tar.gz"):
        item = line.get("payload", {})
        if line.get("type") == "response_item" and item.get("type") == "function_call":
            arguments = json.loads(item["arguments"])
            if item["name"] == "exec_command":
                yield item["call_id"], arguments["cmd"]


@pytest.fixture(scope="module")
def calls() -> dict[str, str]:
    corpus_path("raw_skeletons.tsv.gz")
    return dict([*_claude(), *_codex()])


@pytest.fixture(scope="module")
def oracle(calls: dict[str, str]) -> dict[str, list[str]]:
    with gzip.open(corpus_folder() / "raw_skeletons.tsv.gz", "rt", encoding="utf-8") as file:
        rows = [line.rstrip("\n").split("\t") for line in file][1:]
    return {row[0]: row[2:] for row in rows}


@pytest.mark.full
def test_every_call_is_found(calls: dict[str, str], oracle: dict[str, list[str]]) -> None:
    assert len(oracle) == 9_195
    assert oracle.keys() <= calls.keys()
    assert len(calls) == 9_201


def test_labels_and_skeletons_are_tracelabs(calls: dict[str, str], oracle: dict[str, list[str]]) -> None:
    different = []
    for call, (status, reason, executables, skeleton) in oracle.items():
        found = parsed_command(calls[call])
        if (found.status, found.reason or "", list(found.labels), " ".join(found.tokens)) != (
            status,
            reason,
            executables.split(),
            skeleton,
        ):
            different.append(call)
    assert different == []


def test_tokens_change_names_and_nothing_else(calls: dict[str, str]) -> None:
    names = Names(b"a key of the tests")
    for command in calls.values():
        shell, found = shell_of(command, names), parsed_command(command)
        assert shell.executables == tuple(names.executable(label) for label in found.labels)
        assert len(shell.skeleton.split()) == len(found.tokens)
        assert shell.fingerprint is not None
