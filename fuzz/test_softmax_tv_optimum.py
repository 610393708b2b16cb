"""Long search for data that break `softmax_tv_optimum`, and its power."""

SLUG = "softmax_tv_optimum"


def test_softmax_tv_optimum_survives(survives):
    survives(SLUG)


def test_softmax_tv_optimum_search_has_power(search_has_power):
    search_has_power(SLUG)
