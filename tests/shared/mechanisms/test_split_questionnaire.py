"""Properties that only split questionnaires have; other tests cover their matrices."""

import dense_split
from halftruth_shared import SplitQuestionnaire, ViewClass


def test_a_report_consists_of_the_public_answers_and_a_symbol(split_case):
    space = split_case.perturbation.space
    assert space.names == (*(f"a{j}" for j in sorted(split_case.public)), "(symbol)")
    assert space.shape == tuple(code + 1 for code in split_case.reports[-1])


def test_a_decoded_report_names_the_attributes_of_its_view(split_case, walk):
    schema, mechanism = split_case.schema, split_case.mechanism
    subjects, groups = set(), {f"a{j} (group)": f"a{j}" for j, _ in split_case.collapsed}
    for report in walk(lambda below: mechanism.bind(schema).report(split_case.cells[-1], below)):
        words = mechanism.bind(schema).decode(report)
        code, _, about = words.pop("(symbol)").partition(" about ")
        assert code == f"code {report[-1]}"
        named = about.replace(" and ", ", ").split(", ")
        # Of several questions, a report has the groups of collapsed answers.
        assert not set(groups.values() if len(named) > 1 else groups).intersection(named)
        subjects.add(tuple(groups.get(name, name) for name in named))
        assert words == {f"a{j}": f"c{split_case.shape[j] - 1}" for j in split_case.public}
    views = dense_split.views(split_case.shape, split_case.parameters[-1])
    assert subjects == {tuple(f"a{j}" for j in positions) for _, positions in views}


def test_the_attributes_of_a_view_are_joined_with_commas_and_and(schema_of):
    views = [ViewClass(attributes=(("a0", "a1", "a2"),), weight=1)]
    mechanism = SplitQuestionnaire("19", views)
    words = mechanism.bind(schema_of((2, 2, 2))).decode([5])
    assert words == {"(symbol)": "code 5 about a0, a1 and a2"}
