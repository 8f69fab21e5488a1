from __future__ import annotations

from mvset.experiments.plan import Plan


def test_tasks_come_repetition_by_repetition():
    plan = Plan(cases=[{"n": 10}, {"n": 20}], repetitions=2)
    assert [(task["n"], task["repetition"]) for task in plan.tasks()] == [(10, 0), (20, 0), (10, 1), (20, 1)]


def test_a_plan_without_cases_still_repeats():
    assert Plan(cases=[{}], repetitions=2).tasks() == [{"repetition": 0}, {"repetition": 1}]
