"""Every test says what it claims."""

from __future__ import annotations

import pytest

from tests.support.claims import refuse_without_claim


def test_a_test_without_a_docstring_is_refused_by_name(request: pytest.FixtureRequest) -> None:
    """The error has the file and the test, once for all of its parameters; others are not in it."""

    def silent() -> None:
        pass

    def told() -> None:
        """Claims something."""

    def item(name: str, function: object) -> pytest.Function:
        found: pytest.Function = pytest.Function.from_parent(
            request.node.parent, name=name, callobj=function, originalname=name.partition("[")[0]
        )
        return found

    refuse_without_claim([item("test_told", told)])
    with pytest.raises(pytest.UsageError, match=r"none: test_claims\.py::test_silent\.$"):
        refuse_without_claim(
            [item("test_silent[1]", silent), item("test_told", told), item("test_silent[2]", silent)]
        )
