"""Long search for data that break `softmax_tv_cell_upper`, and its power."""

SLUG = "softmax_tv_cell_upper"


def test_softmax_tv_cell_upper_survives(survives):
    survives(SLUG)


def test_softmax_tv_cell_upper_search_has_power(search_has_power):
    search_has_power(SLUG)
