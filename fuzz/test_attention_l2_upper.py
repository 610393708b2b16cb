"""Long search for data that break `attention_l2_upper`, and its power."""

SLUG = "attention_l2_upper"


def test_attention_l2_upper_survives(survives):
    survives(SLUG)


def test_attention_l2_upper_search_has_power(search_has_power):
    search_has_power(SLUG)
