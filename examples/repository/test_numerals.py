"""What numerals.py must do: run by ``python3 -m unittest``."""

# ruff: noqa: PT009 - unittest's own assertions, so that nothing needs to be installed
import unittest

from numerals import to_roman


class ToRoman(unittest.TestCase):
    """A smaller symbol before a larger one is subtracted from it."""

    def test_adds(self) -> None:
        """Symbols that follow in falling order are added."""
        self.assertEqual(to_roman(1), "I")
        self.assertEqual(to_roman(2026), "MMXXVI")

    def test_four_is_subtracted(self) -> None:
        """Four is one before five."""
        self.assertEqual(to_roman(4), "IV")

    def test_all_are_subtracted(self) -> None:
        """So are nine, and the tens and hundreds likewise."""
        self.assertEqual(to_roman(9), "IX")
        self.assertEqual(to_roman(1994), "MCMXCIV")
        self.assertEqual(to_roman(444), "CDXLIV")


if __name__ == "__main__":
    unittest.main()
