"""Text of a shell command to its syntax tree, in a time that its length bounds.

The grammar is tree-sitter's of bash. Three things are done to the text before: characters beyond ASCII, which no name
has, are replaced by one that is as good; the body of a patch, which is data of ``apply_patch`` whatever quotes it
holds, is cut; and the bodies of here-documents of a very long command are.

Reading well-formed text takes linear time. Recovering from errors may take quadratic time and memory, and its result
is of no use here, since a command with an error has no labels at all: so reading stops at the first error. What has
opened and is never closed shows only at the end of the text, too late to stop; so what is longer than 8 KiB without
its here-documents is read only if it opens little, and nothing above 64 KiB is. The worst text found by searching
takes seconds, any that somebody would write takes milliseconds.
"""

from __future__ import annotations

import re
import threading
from dataclasses import dataclass
from typing import Final

import tree_sitter
import tree_sitter_bash

__all__ = ["Syntax", "UnreadableShellError", "syntax"]

_LANGUAGE: Final = tree_sitter.Language(tree_sitter_bash.language())
_PER_THREAD: Final = threading.local()
_MOST: Final = 65_536  # bytes
_LONG: Final = 8_192
_BUSY: Final = 2_000  # marks that may open something, in a text that is long
_MARKS: Final = re.compile(
    rb"[(){}\[\]`|<>&!=~;\"']|\b(?:if|then|elif|else|for|while|until|do|case|in|select|function)\b"
)
_UNWATCHED: Final = 1_024  # bytes: too short to be slow, and watching costs
_CHUNK: Final = 4_096
_ENTITY: Final = re.compile(rb"&(?:amp|lt|gt|quot|apos|#\d{1,6});")
_BEGIN_PATCH: Final = "*** Begin Patch"
_END_PATCH: Final = "*** End Patch"
_PATCHES: Final = re.compile(r"\bapply_?patch\b[^\n]*\n?[^\n]*\Z")
_HEREDOC: Final = re.compile(r"<<(-?)[ \t]*(?:(['\"])([^'\"\n]{1,80})\2|(\\?)([A-Za-z0-9_]{1,80}))")
# To bash, a character like any other of a word; what takes its place is one, too, and is in no name.
_FOREIGN: Final = re.compile(r"[^\x00-\x7f]")
_EXPANDS: Final = re.compile(r"`|\$\(")


class UnreadableShellError(Exception):
    """A text that is no shell command; the message is TraceLab's word for the reason."""


@dataclass(frozen=True, slots=True)
class Syntax:
    """A syntax tree without errors, and the text that its places count in."""

    source: bytes
    root: tree_sitter.Node

    def text(self, node: tree_sitter.Node) -> str:
        """Give the text of a node."""
        return self.source[node.start_byte : node.end_byte].decode("ascii")


def syntax(text: str) -> Syntax:
    """Parse a shell command.

    Raises
    ------
    UnreadableShellError
        With ``empty``; ``undecodable`` (a NUL, which no command can hold); ``html-entity`` (a text escaped for HTML,
        whose ``&amp;`` a shell would run in the background); or ``parse-error``.
    """
    if "\0" in text:
        raise UnreadableShellError("undecodable")
    if "\r" in text:
        text = text.replace("\r\n", "\n")
    text = _without_patches(text.strip())
    if not text:
        raise UnreadableShellError("empty")
    source = _encoded(text)
    if len(source) > _LONG:
        source = _encoded(_without_heredocs(text))
    root = _root(source)
    entities = [] if b"&" not in source else [found.start() for found in _ENTITY.finditer(source)]
    if root is None or root.has_error:
        raise UnreadableShellError("html-entity" if entities else "parse-error")
    for place in entities:
        node = root.descendant_for_byte_range(place, place + 1)
        if node is not None and node.type == "&":
            raise UnreadableShellError("html-entity")
    return Syntax(source, root)


def _encoded(text: str) -> bytes:
    """Give ASCII. The grammar's scanner looks characters up in tables that end there, and crashes on some others."""
    return (text if text.isascii() else _FOREIGN.sub("\x7f", text)).encode()


def _root(source: bytes) -> tree_sitter.Node | None:
    """Give the root, or None if there is an error for certain."""
    if len(source) > _MOST or (len(source) > _LONG and len(_MARKS.findall(source)) > _BUSY):
        return None
    parser: tree_sitter.Parser | None = getattr(_PER_THREAD, "parser", None)
    if parser is None:
        parser = _PER_THREAD.parser = tree_sitter.Parser(_LANGUAGE)
    if len(source) <= _UNWATCHED:
        return parser.parse(source).root_node
    try:
        return parser.parse(
            lambda place, _: source[place : place + _CHUNK],
            progress_callback=lambda _, has_error: has_error,
        ).root_node
    except ValueError:  # stopped
        parser.reset()
        return None


def _without_patches(text: str) -> str:
    """Cut what stands between the marks of a patch that is given to ``apply_patch``."""
    begin = text.find(_BEGIN_PATCH)
    if begin < 0:
        return text
    kept: list[str] = []
    done = 0
    while begin >= 0:
        end = text.find(_END_PATCH, begin)
        if end < 0:
            break
        end += len(_END_PATCH)
        if _PATCHES.search(text[max(done, begin - 400) : begin]):
            kept.append(text[done:begin])
            done = end
        begin = text.find(_BEGIN_PATCH, end)
    return "".join((*kept, text[done:]))


def _without_heredocs(text: str) -> str:
    """Cut the bodies of here-documents that hold no commands."""
    kept: list[str] = []
    done = place = 0
    while (opening := _HEREDOC.search(text, place)) is not None:
        tabs, quote, quoted, escape, bare = opening.groups()
        start = text.find("\n", opening.end()) + 1
        closing = _closing(text, start, quoted or bare, tabs=bool(tabs)) if start else None
        if closing is None:  # unfinished: the grammar says so
            break
        if quote or escape or not _EXPANDS.search(text, start, closing):
            kept.append(text[done:start])
            done = closing
        place = closing
    return "".join((*kept, text[done:]))


def _closing(text: str, start: int, tag: str, *, tabs: bool) -> int | None:
    """Give the start of the line that closes a here-document."""
    place = text.find(tag, start)
    while place >= 0:
        end = place + len(tag)
        line = text.rfind("\n", max(start - 1, place - _CHUNK), place) + 1  # a line further back holds more than tabs
        before = text[line:place]
        if line and (end == len(text) or text[end] == "\n") and not (before.strip("\t") if tabs else before):
            return line
        place = text.find(tag, end)
    return None
