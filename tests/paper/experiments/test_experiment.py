from mvset.paper.experiments.reproduce import EXPERIMENTS
from mvset.paper.experiments.rows import Plan


def test_tasks_come_repetition_by_repetition():
    plan = Plan(cases=[{"n": 10}, {"n": 20}], repetitions=2)
    assert [(task["n"], task["repetition"]) for task in plan.tasks()] == [(10, 0), (20, 0), (10, 1), (20, 1)]


def test_a_plan_without_cases_still_repeats():
    assert Plan(cases=[{}], repetitions=2).tasks() == [{"repetition": 0}, {"repetition": 1}]


def test_the_docstring_of_a_module_is_its_text_on_the_page():
    title, paper, remark = EXPERIMENTS["boston"].paragraphs
    assert title == "Boston housing"
    assert paper.startswith("Rooms and lower status, standardised, 30 σ in [0.01, 4]")
    assert remark.startswith("The area is nearly the same")
    assert all("\n" not in text and text for each in EXPERIMENTS.values() for text in each.paragraphs)
