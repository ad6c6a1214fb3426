"""`make check` takes the tests of what was changed."""

from check_changed import rooms_tests


def test_the_tests_of_a_change() -> None:
    chosen = rooms_tests(["engine/drafting/ngram.py", "tests/app/store/test_store.py", "docs/models.md", "Makefile"])
    assert "tests/engine/drafting/test_ngram.py" in chosen
    assert "tests/app/store/test_store.py" in chosen
    assert "tests/integration/test_documents.py" in chosen
    assert "tests/integration/test_rooms.py" in chosen
    assert not [name for name in chosen if name.startswith("tests/engine/chat/")]
    assert "tests/engine/generation/test_loop.py" in rooms_tests(["engine/generation/new_folder/new.py"])
