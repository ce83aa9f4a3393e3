"""What the package and its `api` offer by name."""

import inspect

import pytest

import poolsplit
from poolsplit import api


@pytest.mark.parametrize("module", [poolsplit, api])
def test_every_public_name_is_there_and_they_are_sorted(module):
    assert list(module.__all__) == sorted(module.__all__)
    assert all(hasattr(module, name) for name in module.__all__)


def test_the_package_offers_functions_of_the_api():
    assert all(getattr(poolsplit, name) is getattr(api, name) for name in poolsplit.__all__ if name != "__version__")


def test_api_offers_every_function_of_its_modules():
    modules = [value for value in vars(api).values() if inspect.ismodule(value)]
    made = {
        name
        for module in modules
        for name, value in vars(module).items()
        if inspect.isfunction(value) and value.__module__ == module.__name__ and not name.startswith("_")
    }
    assert made == set(api.__all__)
