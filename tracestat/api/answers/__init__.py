"""What answers published figures, by theme: functions of (source, question) that give a value with its interval.

Each function reads sufficient statistics of a :class:`Source`, which asks the trace once and keeps the answer, so that
one query serves many figures. Values are in seconds, fractions, counts and tokens; the unit a figure was printed in is
a matter of the caller.
"""

from __future__ import annotations

from tracestat.api.answers.registry import answer_of, check_question
from tracestat.api.answers.source import Answer, Command, Question, Source

__all__ = ["Answer", "Command", "Question", "Source", "answer_of", "check_question"]
