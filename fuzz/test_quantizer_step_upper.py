"""Long search for data that break `quantizer_step_upper`, and its power."""

SLUG = "quantizer_step_upper"


def test_quantizer_step_upper_survives(survives):
    survives(SLUG)


def test_quantizer_step_upper_search_has_power(search_has_power):
    search_has_power(SLUG)
