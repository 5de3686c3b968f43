from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping, MutableSequence, Sequence
from os import PathLike
from typing import Any, BinaryIO, Literal, final, overload

import pyarrow
from typing_extensions import Buffer

__version__: str

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
    """Text that is no JSON or text format of the type."""

class EncodeError(Error):
    """A message that cannot be written: a required field is missing, or it nests too deep."""

class RangeError(Error, OverflowError):
    """A number that the field has no room for."""

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
    def from_descriptor_set(data: Buffer) -> Schema:
        """Loads a serialized ``google.protobuf.FileDescriptorSet``."""
    def descriptor_set(self) -> bytes:
        """The definitions as a serialized ``google.protobuf.FileDescriptorSet``."""
    def message_types(self) -> list[str]:
        """Full names of all messages."""
    def enum_types(self) -> list[str]:
        """Full names of all enums."""
    def enum(self, full_name: str) -> Enum:
        """The enum of that name.

        Raises ``KeyError`` if there is none.
        """
    def extension(self, full_name: str) -> Field:
        """The extension of that name.

        Raises ``KeyError`` if there is none.
        """
    def __getitem__(self, full_name: str) -> MessageType:
        """The message type of that name.

        Raises ``KeyError`` if there is none.
        """
    def __contains__(self, full_name: str) -> bool: ...
    def __iter__(self) -> Iterator[str]: ...
    def __len__(self) -> int: ...

@final
class MessageType:
    """A message type: decodes, encodes, makes messages; ``isinstance(message, Type)`` works."""

    full_name: str
    name: str
    field_names: list[str]
    fields: list[Field]
    fields_by_name: dict[str, Field]
    fields_by_number: dict[int, Field]
    oneofs: dict[str, list[str]]
    """The names of the members of each."""
    schema: Schema
    DESCRIPTOR: MessageType
    """The type itself, where the stock package has a descriptor."""
    def __call__(self, **fields: Any) -> Message:
        """A new message with those fields: scalars, strings, lists, dicts, messages."""
    def decode(self, data: Buffer) -> Message:
        """The message that the bytes are; raises ``DecodeError``."""
    def FromString(self, data: Buffer) -> Message:
        """As ``decode``."""
    def decode_to_dict(self, data: Buffer) -> dict[str, Any]:
        """The message as plain values: those that are set."""
    def encode(self, fields: Mapping[str, Any] | Message, *, deterministic: bool = False) -> bytes:
        """Serializes a message given as plain values."""
    def from_json(self, text: str | Buffer, *, ignore_unknown: bool = False) -> Message:
        """The message that a JSON text is; raises ``ParseError``."""
    def from_text(self, text: str | Buffer) -> Message:
        """The message that a text in the text format is; raises ``ParseError``."""
    def json_to_bytes(self, text: str | Buffer, *, ignore_unknown: bool = False) -> bytes:
        """Serializes a message given as JSON; no message is made in between."""
    def bytes_to_json(self, data: Buffer) -> str:
        """The JSON of a serialized message; no message is made in between."""
    def read_delimited(
        self,
        source: BinaryIO | Buffer | Iterable[Buffer],
        *,
        framing: Literal["varint", "fixed32"] = "varint",
        bytes_max: int = 2147483647,
    ) -> DelimitedReader:
        """The messages of a stream, each behind its length; see ``DelimitedReader``."""
    def write_delimited(
        self,
        file: BinaryIO,
        messages: Iterable[Message | Mapping[str, Any]],
        *,
        framing: Literal["varint", "fixed32"] = "varint",
    ) -> int:
        """Writes messages, each behind its length; gives how many there were."""
    def prepare(self) -> bool:
        """Compiles the decoder and the encoder now, not when it pays: some milliseconds."""
    def columns(
        self,
        messages: Iterable[Buffer],
        *,
        select: Sequence[str] | None = None,
        enums: Literal["names", "numbers"] = "names",
    ) -> Batch:
        """Serialized messages as Arrow columns, a row each."""
    def __getattr__(self, name: str) -> Any:
        """Types, enums and values of enums that are declared inside, ``NAME_FIELD_NUMBER``."""
    def __instancecheck__(self, value: object) -> bool: ...

@final
class Message:
    """A message; fields are attributes, ``message["name"]`` works for all names.

    What is not set reads as its default; a message that is not set reads as an empty one and is
    set by writing into it. A message that is taken out of another lives on by itself. ``copy`` and
    ``pickle`` work; ``str`` is the text format. Names that begin with a capital are those of the
    stock package and do what they do there; those of well-known types (``ToDatetime``, ``Pack``, ...)
    are there too.
    """

    DESCRIPTOR: MessageType
    Extensions: Extensions
    def __getattr__(self, name: str) -> Any: ...
    def __setattr__(self, name: str, value: Any) -> None: ...
    def __delattr__(self, name: str) -> None: ...
    def __getitem__(self, name: str) -> Any: ...
    def __setitem__(self, name: str, value: Any) -> None: ...
    def __delitem__(self, name: str) -> None: ...
    def __contains__(self, name: str) -> bool: ...
    def __eq__(self, other: object) -> bool: ...
    def __copy__(self) -> Message: ...
    def __deepcopy__(self, memo: Any) -> Message: ...
    def has(self, name: str) -> bool:
        """True if the field is set; of a list or map, if it is not empty."""
    def clear(self, name: str) -> None: ...
    def which(self, oneof: str) -> str | None:
        """The name of the member of the oneof that is set."""
    def type(self) -> MessageType: ...
    def to_dict(self) -> dict[str, Any]:
        """Plain values of the fields that are set."""
    def to_json(
        self,
        *,
        names: Literal["json", "proto"] = "json",
        enums: Literal["names", "numbers"] = "names",
        defaults: bool = False,
        indent: int | None = None,
    ) -> str:
        """The message as JSON; ``defaults`` writes fields without presence that are zero too."""
    def to_text(self, *, one_line: bool = False, unknown: bool = False) -> str:
        """The message in the text format."""
    def encode(self, *, deterministic: bool = False) -> bytes:
        """The serialized message; ``deterministic``: equal messages have equal bytes.

        Raises ``EncodeError`` if a required field is missing.
        """
    def merge(self, data: Buffer | Message | dict[str, Any]) -> None:
        """Merges a serialized message, a message or a dict into this one."""

    def ByteSize(self) -> int: ...
    def Clear(self) -> None: ...
    def ClearExtension(self, extension: Field | str) -> None: ...
    def ClearField(self, name: str) -> None: ...
    def CopyFrom(self, other: Message) -> None: ...
    def DiscardUnknownFields(self) -> None: ...
    def FindInitializationErrors(self) -> list[str]: ...
    def FromString(self, data: Buffer) -> Message: ...
    def HasExtension(self, extension: Field | str) -> bool: ...
    def HasField(self, name: str) -> bool: ...
    def IsInitialized(self, errors: list[str] | None = None) -> bool: ...
    def ListFields(self) -> list[tuple[Field, Any]]: ...
    def MergeFrom(self, other: Message) -> None: ...
    def MergeFromString(self, data: Buffer) -> int: ...
    def ParseFromString(self, data: Buffer) -> int: ...
    def SerializePartialToString(self, *, deterministic: bool = False) -> bytes: ...
    def SerializeToString(self, *, deterministic: bool = False) -> bytes: ...
    def SetInParent(self) -> None: ...
    def UnknownFields(self) -> list[bytes]: ...
    def WhichOneof(self, oneof: str) -> str | None: ...

@final
class Extensions:
    """The extensions of a message, by their names or fields."""

    def __getitem__(self, extension: Field | str) -> Any: ...
    def __setitem__(self, extension: Field | str, value: Any) -> None: ...
    def __delitem__(self, extension: Field | str) -> None: ...
    def __contains__(self, extension: Field | str) -> bool: ...

@final
class RepeatedField(MutableSequence[Any]):
    """The elements of a repeated field: what a list does. Slices are lists."""

    def __len__(self) -> int: ...
    @overload
    def __getitem__(self, index: int) -> Any: ...
    @overload
    def __getitem__(self, index: slice) -> list[Any]: ...
    def __setitem__(self, index: int | slice, value: Any) -> None: ...
    def __delitem__(self, index: int | slice) -> None: ...
    def __iter__(self) -> Iterator[Any]: ...
    def __add__(self, values: Iterable[Any]) -> list[Any]: ...
    def append(self, value: Any) -> None: ...
    def add(self, **fields: Any) -> Message:
        """Appends a new message with those fields, and gives it."""
    def extend(self, values: Iterable[Any]) -> None: ...
    def insert(self, index: int, value: Any) -> None: ...
    def pop(self, index: int = -1) -> Any: ...
    def remove(self, value: Any) -> None: ...
    def clear(self) -> None: ...
    def copy(self) -> list[Any]: ...
    def reverse(self) -> None: ...
    def sort(self, *, key: Callable[[Any], Any] | None = None, reverse: bool = False) -> None: ...
    def to_list(self) -> list[Any]:
        """The elements as plain values."""
    def MergeFrom(self, values: Iterable[Any]) -> None: ...

@final
class MapField(MutableMapping[Any, Any]):
    """The entries of a map field: what a dict does. A key that is missing is a ``KeyError``."""

    def __len__(self) -> int: ...
    def __getitem__(self, key: Any) -> Any: ...
    def __setitem__(self, key: Any, value: Any) -> None: ...
    def __delitem__(self, key: Any) -> None: ...
    def __contains__(self, key: object) -> bool: ...
    def __iter__(self) -> Iterator[Any]: ...
    def keys(self) -> list[Any]: ...  # type: ignore[override]
    def values(self) -> list[Any]: ...  # type: ignore[override]
    def items(self) -> list[tuple[Any, Any]]: ...  # type: ignore[override]
    def get_or_create(self, key: Any) -> Message:
        """The message of a key, a new one if there was none."""
    def copy(self) -> dict[Any, Any]: ...
    def to_dict(self) -> dict[Any, Any]:
        """The entries as plain values."""
    def MergeFrom(self, entries: Mapping[Any, Any]) -> None: ...

@final
class Field:
    """A field of a message type, or an extension."""

    name: str
    full_name: str
    json_name: str
    number: int
    kind: str
    """The type of its values as in ``.proto`` files: ``"int32"``, ``"message"``, ``"enum"``."""
    is_repeated: bool
    is_required: bool
    is_map: bool
    is_extension: bool
    has_presence: bool
    containing_type: MessageType
    containing_oneof: str | None
    message_type: MessageType | None
    enum_type: Enum | None
    default_value: Any

@final
class Enum:
    """An enum: names and numbers of its values; values are attributes too."""

    name: str
    full_name: str
    is_closed: bool
    def Value(self, name: str) -> int: ...
    def Name(self, number: int) -> str: ...
    def keys(self) -> list[str]: ...
    def values(self) -> list[int]: ...
    def items(self) -> list[tuple[str, int]]: ...
    def __getattr__(self, name: str) -> int: ...
    def __getitem__(self, name: str) -> int: ...
    def __contains__(self, name: str) -> bool: ...
    def __iter__(self) -> Iterator[str]: ...
    def __len__(self) -> int: ...

@final
class DelimitedReader(Iterator[Message]):
    """Gives the messages of a stream one by one.

    A malformed message raises ``DecodeError``; the next can still be read. A length over
    the limit, or a stream that ends in a message, is the same error.
    """

    def __next__(self) -> Message: ...

@final
class Batch:
    """Arrow columns; ``pyarrow.record_batch(batch)`` takes them without a copy."""

    def __len__(self) -> int: ...
    def __arrow_c_array__(self, requested_schema: object | None = None) -> tuple[object, object]: ...

def to_arrow(
    message_type: MessageType,
    messages: Iterable[Buffer],
    *,
    select: Sequence[str] | None = None,
    enums: Literal["names", "numbers"] = "names",
) -> pyarrow.RecordBatch: ...
