"""Named tuples for a process that lives for milliseconds.

``class Point(Record)`` makes what ``class Point(typing.NamedTuple)`` makes; a type checker sees just that. Importing
``typing`` and letting it define our types costs a hook as much as starting its interpreter; here nothing is compiled.

Annotations must stay text (``from __future__ import annotations``): nothing but the fields' names is read from them.
"""

from __future__ import annotations

from collections.abc import Iterable

TYPE_CHECKING = False
"""What ``typing.TYPE_CHECKING`` is: a type checker knows the name and takes it for true."""

if TYPE_CHECKING:
    from typing import Any
    from typing import NamedTuple as Record

    def quicken() -> None:
        """Make the making of records faster."""
else:
    try:
        from _collections import _tuplegetter as _getter  # what collections.namedtuple uses
    except ImportError:  # another interpreter than CPython
        from operator import itemgetter

        def _getter(index: int, doc: str) -> property:
            return property(itemgetter(index), doc=doc)

    class _RecordType(type):
        """Makes a tuple with named items of a class body: annotated names are fields, their values defaults."""

        def __new__(mcs, name: str, bases: tuple[type, ...], body: dict[str, Any]) -> type:
            if any(getattr(base, "_fields", ()) for base in bases):
                raise TypeError(f"{name}: a record cannot be extended")
            fields = tuple(notes := body.get("__annotations__", {}))
            if "__annotate_func__" in body or (fields and type(notes[fields[0]]) is not str):
                raise TypeError(f"{name}: annotations must be text; Python 3.14 shows no others here")
            defaults = {field: body[field] for field in fields if field in body}
            if tuple(defaults) != fields[len(fields) - len(defaults) :]:
                raise TypeError(f"{name}: a field without a default follows one with a default")
            places = {field: index for index, field in enumerate(fields)}
            for field, index in places.items():
                body[field] = _getter(index, "")
            body.update(_places=places, __slots__=(), __match_args__=fields, _fields=fields, _field_defaults=defaults)
            body["_last"] = tuple(defaults.values())
            return type.__new__(mcs, name, bases, body)

    _new = tuple.__new__

    class Record(tuple, metaclass=_RecordType):
        """Base of all records."""

        def __new__(cls, *values: Any, **named: Any) -> Record:  # noqa: D102 - what a class is called for
            missing = len(cls._fields) - len(values)
            if named or missing:
                if named or not 0 < missing <= len(cls._last):
                    values = _complete(cls, values, named)
                else:
                    values += cls._last[-missing:]
            return _new(cls, values)

        @classmethod
        def _make(cls, values: Iterable[Any]) -> Record:
            """A record of exactly as many values as there are fields."""
            made = _new(cls, values)
            if len(made) != len(cls._fields):
                raise TypeError(f"{cls.__name__} has {len(cls._fields)} fields, not {len(made)}")
            return made

        def _replace(self, **changes: Any) -> Record:
            """A copy with other values in some fields."""
            places, values = self._places, [*self]
            try:
                for name, value in changes.items():
                    values[places[name]] = value
            except KeyError:
                raise TypeError(f"{type(self).__name__} has no field {name!r}") from None
            return _new(type(self), values)

        def _asdict(self) -> dict[str, Any]:
            """The values by the fields' names."""
            return dict(zip(self._fields, self, strict=True))

        def __getnewargs__(self) -> tuple[Any, ...]:
            """What ``copy`` and ``pickle`` make the record anew from."""
            return tuple(self)

        def __repr__(self) -> str:
            values = ", ".join(f"{field}={value!r}" for field, value in zip(self._fields, self, strict=True))
            return f"{type(self).__name__}({values})"

    def _complete(made: type[Record], values: tuple[Any, ...], named: dict[str, Any]) -> tuple[Any, ...]:
        """The values of all fields: those given in order, those given by name, and defaults for the rest."""
        fields = made._fields
        if len(values) > len(fields):
            raise TypeError(f"{made.__name__} has {len(fields)} fields, not {len(values)}")
        if not named.keys() <= set(fields[len(values) :]):
            wrong = next(name for name in named if name not in fields[len(values) :])
            raise TypeError(f"{made.__name__} has no field {wrong!r}, or it was given twice")
        whole = {**made._field_defaults, **dict(zip(fields, values, strict=False)), **named}
        if len(whole) < len(fields):
            wrong = next(field for field in fields if field not in whole)
            raise TypeError(f"{made.__name__} needs a value for {wrong!r}")
        return tuple(map(whole.__getitem__, fields))

    def quicken() -> None:
        """Give all records that there are a constructor of their own, as ``collections.namedtuple`` makes one.

        To compile one takes longer than all that a hook uses it for; a process that lives long makes very many records.
        """
        for made in Record.__subclasses__():
            fields = ", ".join(made._fields)
            source = f"lambda _cls, {fields}: _new(_cls, ({fields},))" if fields else "lambda _cls: _new(_cls)"
            new = eval(source, {"_new": _new, "__builtins__": {}})  # noqa: S307 - names of our own code
            new.__defaults__ = made._last or None
            if "__new__" not in vars(made):
                made.__new__ = staticmethod(new)


__all__ = ["TYPE_CHECKING", "Record", "quicken"]
