"""Labels and skeleton of a shell command: one walk over its syntax tree, parents first.

The walk keeps its own stack, so that no nesting is too deep for it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import tree_sitter

from tracestat.ingest.logs.shell_grammar import Syntax, UnreadableShellError, syntax
from tracestat.ingest.logs.shell_labels import is_special, label_of

__all__ = ["RESERVED", "Item", "Parsed", "failed", "items_of", "parsed"]

_OPERATORS: Final = frozenset(("|", "&&", "||", ";", "&", "!"))
RESERVED: Final = _OPERATORS | frozenset(
    ("<substitution>", "<unknown>", "<assign>", "<loops>", "<conditional>", "<subshell>", "<function>")
)
"""The tokens of a skeleton that are no names; no label can be one of them (see shell_labels)."""

# What stands in the skeleton for a part whose inside is not shown there.
_CLOSED: Final = {
    "for_statement": "<loops>",
    "c_style_for_statement": "<loops>",
    "while_statement": "<loops>",
    "if_statement": "<conditional>",
    "case_statement": "<conditional>",
    "subshell": "<subshell>",
    "compound_statement": "<subshell>",
    "function_definition": "<function>",
    "variable_assignment": "<assign>",
    "variable_assignments": "<assign>",
    "declaration_command": "<assign>",
    "test_command": "<unknown>",
    "unset_command": "<unknown>",
}
_SHOWN: Final = {"|": "|", "|&": "|", "&&": "&&", "||": "||", "&": "&", "!": "!"}
_SUBSTITUTIONS: Final = frozenset(("command_substitution", "process_substitution"))
# Whose parts are parts of the skeleton; of all else only the commands inside count.
_OPEN: Final = frozenset(("program", "list", "pipeline", "negated_command", "redirected_statement", "heredoc_redirect"))
_REDIRECTS: Final = frozenset(("file_redirect", "heredoc_redirect", "herestring_redirect"))
_CHAINS: Final = frozenset(("list", "pipeline", "negated_command"))
# Where a command belongs in the skeleton; a place of 0 or more: inside the item of that place.
_SHOW: Final = -1
_HIDE: Final = -2


@dataclass(frozen=True, slots=True)
class Parsed:
    """What a command says before private names are replaced.

    Attributes
    ----------
    labels : tuple of str
        One per command, in the order of the text; a command stands before those inside it.
    status, reason : str, str or None
        As in :class:`tracestat.ingest.logs.model.Shell`.
    tokens : tuple of str
        The skeleton; a token outside RESERVED is a name.
    """

    labels: tuple[str, ...]
    status: str
    reason: str | None
    tokens: tuple[str, ...]


@dataclass(slots=True)
class Item:
    """A token of the skeleton: an operator, or what runs or stands for something closed."""

    text: str
    node: tree_sitter.Node | None = None  # of a command
    substitutes: bool = False  # an output of another command is among its words


@dataclass(slots=True)
class _Walk:
    syntax: Syntax
    items: list[Item]
    labels: list[str]
    reason: str | None = None

    def show(self, token: str, node: tree_sitter.Node | None = None) -> int:
        """Add an item, parted from the one before, and give its place."""
        if self.items and self.items[-1].text not in _OPERATORS:
            self.items.append(Item(";"))
        self.items.append(Item(token, node))
        return len(self.items) - 1


def failed(reason: str) -> Parsed:
    """Give what is left of a command that cannot be read."""
    return Parsed((), "failed", reason, ())


def parsed(text: str) -> Parsed:
    """Read labels and skeleton off a command.

    Examples
    --------
    >>> found = parsed("V=1; make -j4 && grep a b | sort > $(mktemp)")
    >>> found.labels, " ".join(found.tokens)
    (('make', 'grep', 'sort', 'mktemp'), '<assign> ; make && grep | sort')
    """
    try:
        walk = _walked(syntax(text))
    except UnreadableShellError as error:
        return failed(str(error))
    status = "success" if walk.reason is None else "partial" if walk.labels else "failed"
    return Parsed(tuple(walk.labels), status, walk.reason, tuple(_tokens(walk.items)))


def items_of(read: Syntax) -> tuple[list[Item], list[str]]:
    """Give the tokens of the skeleton with the commands behind them, and all labels."""
    walk = _walked(read)
    return walk.items, walk.labels


def _tokens(items: list[Item]) -> list[str]:
    tokens: list[str] = []
    for item in items:
        if not item.substitutes or item.text == "<assign>":
            tokens.append(item.text)
        elif item.text == "<unknown>":
            tokens.append("<substitution>")
        else:
            tokens += (item.text, "<substitution>")
    return tokens


def _walked(read: Syntax) -> _Walk:
    walk = _Walk(read, [], [])
    # Most commands hold no other command; then their words need no visit.
    inside = b"(" in read.source or b"`" in read.source
    stack: list[tuple[tree_sitter.Node, int, bool]] = [(read.root, _SHOW, False)]
    while stack:
        node, place, heredoc = stack.pop()
        kind = node.type
        if kind == "command":
            place = _command(walk, node, place, heredoc)
            if not inside:
                continue
        elif kind in _SUBSTITUTIONS:
            if place >= 0:
                walk.items[place].substitutes = True
            place = _HIDE
        elif not node.is_named:
            if place == _SHOW and kind in _SHOWN:
                _operator(walk, _SHOWN[kind])
            continue
        elif place == _SHOW and kind in _CLOSED:
            walk.show(_CLOSED[kind])
            place = _HIDE
        elif place == _SHOW and kind not in _OPEN:
            if not inside:
                continue
            place = _HIDE
        children = node.children
        if kind == "redirected_statement" and place == _SHOW and children[0].type in _REDIRECTS:
            walk.show("<unknown>")  # nothing runs, as in `> emptied`
        stack.extend([(child, place, False) for child in reversed(children)])
        taker = _taker(kind, children, heredoc)
        if taker is not None:
            stack[len(stack) - 1 - taker] = (children[taker], place, True)
    return walk


def _taker(kind: str, children: list[tree_sitter.Node], heredoc: bool) -> int | None:
    """Give which of the parts of a statement a here-document is for."""
    if kind == "redirected_statement":
        return 0 if heredoc or any(child.type == "heredoc_redirect" for child in children) else None
    # the grammar hangs it on the whole of `cd x && python3 <<E`; it is the last one's
    return len(children) - 1 if heredoc and kind in _CHAINS else None


def _operator(walk: _Walk, sign: str) -> None:
    if sign == "!":  # opens a statement; the others stand between two
        walk.show(sign)
    else:
        walk.items.append(Item(sign))


def _command(walk: _Walk, node: tree_sitter.Node, place: int, heredoc: bool) -> int:
    """Take up a command, and give the place of what is inside it."""
    name = node.child_by_field_name("name")
    words = [] if name is None else [walk.syntax.text(name)]
    if words and is_special(words[0].rsplit("/", 1)[-1]):
        words += [walk.syntax.text(word) for word in node.children_by_field_name("argument")]
    label = label_of(words, heredoc=heredoc)
    if label.name is not None:
        walk.labels.append(label.name)
    elif walk.reason is None:
        walk.reason = label.reason
    return walk.show(label.name or "<unknown>", node) if place == _SHOW else place
