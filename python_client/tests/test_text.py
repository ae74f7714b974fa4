"""Text of any origin fits into the ledger."""

from __future__ import annotations

import json

from hypothesis import given, settings
from hypothesis import strategies as st

from fencepost.text import REASON_BYTES, harmless, head, reason, tail

ANY_TEXT = st.text(st.characters(codec=None))


@settings(database=None)
@given(st.binary() | ANY_TEXT)
def test_harmless_is_text_that_postgresql_and_a_terminal_take(content: bytes | str) -> None:
    text = harmless(content)
    text.encode("utf-8")
    assert "\0" not in text
    assert "\x1b" not in text
    assert "\\u0000" not in json.dumps(text)
    assert harmless(text) == text


def test_harmless_keeps_what_is_harmless() -> None:
    assert harmless("tab\tline\nä 漢 😀".encode()) == "tab\tline\nä 漢 😀"
    assert harmless(b"\x1b[31mred\x1b[0m") == "red"
    assert harmless("\x1b]0;title\x07x") == "x"
    assert harmless(b"a\0b\xffc") == "a\ufffdb\ufffdc"
    assert harmless("\ud800") == "\ufffd"


@settings(database=None)
@given(ANY_TEXT, st.integers(0, 50))
def test_head_and_tail_are_bounded_and_whole(text: str, limit: int) -> None:
    for part in (head(text, limit), tail(text, limit)):
        assert len(part.encode()) <= limit


@settings(database=None)
@given(ANY_TEXT, st.binary(max_size=20000))
def test_a_reason_fits(summary: str, output: bytes) -> None:
    assert len(reason(summary, output).encode()) <= REASON_BYTES


def test_a_reason_has_its_summary_first_and_the_end_of_the_output() -> None:
    made = reason("exit code 1", b"x" * 10000 + b"\nthe end\n")
    assert made.startswith("exit code 1\nxxx")
    assert made.endswith("the end")
    assert reason("exit code 1", b" \n") == "exit code 1"
