"""A JSON Schema drawn from documents: which fields there are, of which types, in every one or only in some."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

Schema = dict[str, Any]
DIALECT = "https://json-schema.org/draft/2020-12/schema"
KEYED = frozenset({"flags", "launch", "resolved", "ranks", "env", "figures", "values", "labels", "lost", "by_pool"})
"""Fields whose keys are data: names of flags, labels of ranks."""


def schema_of(documents: Sequence[Any]) -> Schema:
    """The least schema that all of them meet; more fields than it names are always allowed."""
    kinds = sorted({kind_of(value) for value in documents})
    if "number" in kinds:
        kinds = [kind for kind in kinds if kind != "integer"]
    schema: Schema = {"type": kinds[0] if len(kinds) == 1 else kinds}
    objects = [value for value in documents if isinstance(value, dict)]
    if objects:
        schema |= _properties(objects)
    items = [item for value in documents if isinstance(value, list) for item in value]
    if items:
        schema["items"] = schema_of(items)
    return schema


def kind_of(value: object) -> str:
    """The JSON type of one value."""
    if value is None:
        return "null"
    for python, kind in ((bool, "boolean"), (int, "integer"), (float, "number"), (str, "string"), (list, "array")):
        if isinstance(value, python):
            return kind
    return "object"


def _properties(objects: Sequence[Mapping[str, Any]]) -> Schema:
    names = list(dict.fromkeys(name for each in objects for name in each))
    fields = {name: _field(name, [each[name] for each in objects if name in each]) for name in names}
    return {"properties": fields, "required": [name for name in names if all(name in each for each in objects)]}


def _field(name: str, values: Sequence[Any]) -> Schema:
    if name not in KEYED or not any(isinstance(value, dict) for value in values):
        return schema_of(values)
    entries = [entry for value in values if isinstance(value, dict) for entry in value.values()]
    kinds = {kind_of(value) for value in values}
    keyed: Schema = {"type": "object" if kinds == {"object"} else sorted(kinds)}
    return keyed | ({"additionalProperties": schema_of(entries)} if entries else {})


def fields_of(schema: Schema, path: str = "") -> Iterator[tuple[str, str, Schema]]:
    """Path, type and schema of every field, parents before children."""
    for name, field in schema.get("properties", {}).items():
        here = f"{path}.{name}" if path else name
        yield here, _type(field), field
        yield from fields_of(field, here)
        yield from fields_of(field.get("items", {}), f"{here}[]")
        if "additionalProperties" in field:
            yield from fields_of(field["additionalProperties"], f"{here}.*")


def _type(schema: Schema) -> str:
    kinds: Iterable[str] = schema.get("type", ["any"])
    kinds = [kinds] if isinstance(kinds, str) else kinds
    return " or ".join(sorted(kinds, key=lambda kind: kind == "null"))
