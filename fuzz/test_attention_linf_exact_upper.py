"""Long search for data that break `attention_linf_exact_upper`, and its power."""

SLUG = "attention_linf_exact_upper"


def test_attention_linf_exact_upper_survives(survives):
    survives(SLUG)


def test_attention_linf_exact_upper_search_has_power(search_has_power):
    search_has_power(SLUG)
