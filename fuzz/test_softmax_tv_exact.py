"""Long search for data that break `softmax_tv_exact`, and its power."""

SLUG = "softmax_tv_exact"


def test_softmax_tv_exact_survives(survives):
    survives(SLUG)


def test_softmax_tv_exact_search_has_power(search_has_power):
    search_has_power(SLUG)
