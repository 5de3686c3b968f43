"""Protocol Buffers with schemas that are loaded at run time.

    >>> import tidemill
    >>> schema = tidemill.Schema.from_text('''
    ...     syntax = "proto3";
    ...     message Person { string name = 1; repeated int32 scores = 2; }
    ... ''')
    >>> Person = schema["Person"]
    >>> message = Person(name="Ada", scores=[1, 2])
    >>> message.encode()
    b'\\n\\x03Ada\\x12\\x02\\x01\\x02'
    >>> Person.decode(message.encode()).scores[1]
    2

A ``Schema`` holds message types; a type decodes, encodes, speaks JSON, and turns batches of
messages into Arrow columns (``to_arrow``). Fields of messages are read on access.
"""

from ._native import (
    Batch,
    DecodeError,
    DelimitedReader,
    EncodeError,
    Enum,
    Error,
    Extensions,
    Field,
    MapField,
    Message,
    MessageType,
    ParseError,
    RangeError,
    RepeatedField,
    Schema,
    SchemaError,
    __version__,
)

__all__ = [
    "Batch",
    "DecodeError",
    "DelimitedReader",
    "EncodeError",
    "Enum",
    "Error",
    "Extensions",
    "Field",
    "MapField",
    "Message",
    "MessageType",
    "ParseError",
    "RangeError",
    "RepeatedField",
    "Schema",
    "SchemaError",
    "__version__",
    "to_arrow",
]


def to_arrow(message_type, messages, *, select=None, enums="names"):
    """Batches of serialized messages as a ``pyarrow.RecordBatch``, one row each.

    The bytes are walked once and appended to the columns; no message objects are made. ``select``
    names the wanted fields, as ``["name", "position.latitude"]``; ``enums`` is ``"names"`` or
    ``"numbers"``. Needs pyarrow.
    """
    import pyarrow

    return pyarrow.record_batch(message_type.columns(messages, select=select, enums=enums))
