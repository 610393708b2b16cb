"""Long search for data that break `argmax_margin_lower`, and its power."""

SLUG = "argmax_margin_lower"


def test_argmax_margin_lower_survives(survives):
    survives(SLUG)


def test_argmax_margin_lower_search_has_power(search_has_power):
    search_has_power(SLUG)
