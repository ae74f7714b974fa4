"""Roman numerals."""

SYMBOLS = (
    (1000, "M"),
    (500, "D"),
    (100, "C"),
    (50, "L"),
    (10, "X"),
    (5, "V"),
    (1, "I"),
)


def to_roman(number: int) -> str:
    """Return *number*, from 1 to 3999, as a Roman numeral."""
    numeral = ""
    for value, symbol in SYMBOLS:
        while number >= value:
            numeral += symbol
            number -= value
    return numeral
