from collections.abc import Iterable, Iterator, Mapping, Sequence
from os import PathLike
from typing import Any, Literal, final

import pyarrow

class Error(ValueError):
    """Whatever is wrong with an input."""

class SchemaError(Error):
    """Definitions that are wrong; the text has a line per problem, with its place."""

class DecodeError(Error):
    """Bytes that are no message of the type."""

    offset: int
    """Where the tag of the failing field begins."""
    path: str
    """The failing field, as ``person.phones[3].number``."""

class ParseError(Error):
    """Text that is no JSON of the type."""

class EncodeError(Error):
    """A message that cannot be written: a required field is missing."""

@final
class Schema:
    """Message definitions, immutable; may be shared by threads."""

    @staticmethod
    def from_text(text: str, name: str = "input.proto") -> Schema:
        """Compiles one ``.proto`` text; well-known files may be imported."""
    @staticmethod
    def from_texts(texts: Mapping[str, str]) -> Schema:
        """Compiles ``.proto`` texts that import each other by their names."""
    @staticmethod
    def from_files(
        files: Sequence[str | PathLike[str]], include: Sequence[str | PathLike[str]] = ...
    ) -> Schema:
        """Compiles ``.proto`` files; imports are looked for in the folders of ``include``."""
    @staticmethod
    def from_descriptor_set(data: bytes) -> Schema:
        """Loads a serialized ``google.protobuf.FileDescriptorSet``."""
    def descriptor_set(self) -> bytes:
        """The definitions as a serialized ``google.protobuf.FileDescriptorSet``."""
    def message_types(self) -> list[str]:
        """Full names of all messages."""
    def __getitem__(self, full_name: str) -> MessageType:
        """The message type of that name.

        Raises ``KeyError`` if there is none.
        """
    def __contains__(self, full_name: str) -> bool: ...

@final
class MessageType:
    """A message type: decodes, encodes, makes messages."""

    full_name: str
    field_names: list[str]
    def __call__(self, **fields: Any) -> Message:
        """A new message with those fields: scalars, strings, lists, dicts, messages."""
    def decode(self, data: bytes) -> Message: ...
    def decode_to_dict(self, data: bytes) -> dict[str, Any]:
        """The message as plain values: those that are set."""
    def encode(self, fields: Mapping[str, Any]) -> bytes:
        """Serializes a message given as plain values."""
    def from_json(self, text: str | bytes, *, ignore_unknown: bool = False) -> Message: ...
    def json_to_bytes(self, text: str | bytes, *, ignore_unknown: bool = False) -> bytes:
        """Serializes a message given as JSON; no message is made in between."""
    def bytes_to_json(self, data: bytes) -> str:
        """The JSON of a serialized message; no message is made in between."""
    def columns(
        self,
        messages: Iterable[bytes],
        *,
        select: Sequence[str] | None = None,
        enums: Literal["names", "numbers"] = "names",
    ) -> Batch:
        """Serialized messages as Arrow columns, a row each."""

@final
class Message:
    """A message; fields are attributes, ``message["name"]`` works for all names.

    What is not set reads as its default; a message that is not set reads as an empty one and is
    set by writing into it.
    """

    def __getattr__(self, name: str) -> Any: ...
    def __setattr__(self, name: str, value: Any) -> None: ...
    def __getitem__(self, name: str) -> Any: ...
    def __setitem__(self, name: str, value: Any) -> None: ...
    def __eq__(self, other: object) -> bool: ...
    def has(self, name: str) -> bool:
        """True if the field is set; of a list or map, if it is not empty."""
    def clear(self, name: str) -> None: ...
    def which(self, oneof: str) -> str | None:
        """The name of the member of the oneof that is set."""
    def type(self) -> MessageType: ...
    def to_dict(self) -> dict[str, Any]:
        """Plain values of the fields that are set."""
    def to_json(self) -> str: ...
    def encode(self) -> bytes: ...
    def merge(self, data: bytes) -> None:
        """Merges a serialized message into this one."""

@final
class RepeatedField:
    """The elements of a repeated field."""

    def __len__(self) -> int: ...
    def __getitem__(self, index: int) -> Any: ...
    def __setitem__(self, index: int, value: Any) -> None: ...
    def __delitem__(self, index: int) -> None: ...
    def __iter__(self) -> Iterator[Any]: ...
    def append(self, value: Any) -> None: ...
    def extend(self, values: Iterable[Any]) -> None: ...
    def to_list(self) -> list[Any]: ...

@final
class MapField:
    """The entries of a map field."""

    def __len__(self) -> int: ...
    def __getitem__(self, key: Any) -> Any: ...
    def __setitem__(self, key: Any, value: Any) -> None: ...
    def __delitem__(self, key: Any) -> None: ...
    def __contains__(self, key: Any) -> bool: ...
    def __iter__(self) -> Iterator[Any]: ...
    def keys(self) -> list[Any]: ...
    def items(self) -> list[tuple[Any, Any]]: ...
    def to_dict(self) -> dict[Any, Any]: ...

@final
class Batch:
    """Arrow columns; ``pyarrow.record_batch(batch)`` takes them without a copy."""

    def __len__(self) -> int: ...
    def __arrow_c_array__(self, requested_schema: object | None = None) -> tuple[object, object]: ...

def to_arrow(
    message_type: MessageType,
    messages: Iterable[bytes],
    *,
    select: Sequence[str] | None = None,
    enums: Literal["names", "numbers"] = "names",
) -> pyarrow.RecordBatch: ...
