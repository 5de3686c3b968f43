"""What messages of well-known types can do besides: times, durations, ``Any``, masks, structs.

The methods have the names that the stock package gives them. A time is a ``datetime``, a duration a
``timedelta``; both can be assigned to fields of these types.
"""

import datetime
import json

EPOCH = datetime.datetime(1970, 1, 1)
EPOCH_UTC = EPOCH.replace(tzinfo=datetime.timezone.utc)
NANOS = 10**9
# From year 1 to year 9999, as JSON has them.
SECONDS_MIN, SECONDS_MAX = -62135596800, 253402300799
DURATION_MAX = 315576000000


def _parts(nanoseconds):
    """Seconds and nanoseconds of a time: the second are never negative."""
    seconds, nanos = divmod(nanoseconds, NANOS)
    if not SECONDS_MIN <= seconds <= SECONDS_MAX:
        raise ValueError(f"{seconds} seconds are out of range for a time")
    return {"seconds": seconds, "nanos": nanos}


def _duration_parts(nanoseconds):
    """Seconds and nanoseconds of a duration: both have its sign."""
    sign = -1 if nanoseconds < 0 else 1
    seconds, nanos = divmod(abs(nanoseconds), NANOS)
    if seconds > DURATION_MAX:
        raise ValueError(f"{sign * seconds} seconds are out of range for a duration")
    return {"seconds": sign * seconds, "nanos": sign * nanos}


def _of_datetime(when):
    start = EPOCH_UTC if when.tzinfo else EPOCH
    return _parts((when - start) // datetime.timedelta(microseconds=1) * 1000)


def _of_timedelta(span):
    return _duration_parts(span // datetime.timedelta(microseconds=1) * 1000)


def fields_of(full_name, value):
    """The fields that a Python object means for a well-known type; ``None`` if it means none."""
    if full_name == "google.protobuf.Timestamp" and isinstance(value, datetime.datetime):
        return _of_datetime(value)
    if full_name == "google.protobuf.Duration" and isinstance(value, datetime.timedelta):
        return _of_timedelta(value)
    return None


def _set(message, fields):
    message.seconds, message.nanos = fields["seconds"], fields["nanos"]


def _nanoseconds(message):
    return message.seconds * NANOS + message.nanos


class _Instant:
    """Of times and durations."""

    def ToNanoseconds(message):
        return _nanoseconds(message)

    def ToMicroseconds(message):
        return _rounded(_nanoseconds(message), 1000)

    def ToMilliseconds(message):
        return _rounded(_nanoseconds(message), 10**6)

    def ToSeconds(message):
        return message.seconds

    def ToJsonString(message):
        return json.loads(message.to_json())

    def FromJsonString(message, text):
        message.CopyFrom(message.type().from_json(json.dumps(text)))


def _rounded(nanoseconds, unit):
    """Towards zero."""
    return nanoseconds // unit if nanoseconds >= 0 else -(-nanoseconds // unit)


class Timestamp(_Instant):
    def ToMicroseconds(message):
        return _nanoseconds(message) // 1000

    def ToMilliseconds(message):
        return _nanoseconds(message) // 10**6

    def FromNanoseconds(message, nanoseconds):
        _set(message, _parts(nanoseconds))

    def FromMicroseconds(message, microseconds):
        _set(message, _parts(microseconds * 1000))

    def FromMilliseconds(message, milliseconds):
        _set(message, _parts(milliseconds * 10**6))

    def FromSeconds(message, seconds):
        _set(message, _parts(seconds * NANOS))

    def FromDatetime(message, when):
        _set(message, _of_datetime(when))

    def ToDatetime(message, tzinfo=None):
        span = datetime.timedelta(seconds=message.seconds, microseconds=message.nanos // 1000)
        return EPOCH + span if tzinfo is None else (EPOCH_UTC + span).astimezone(tzinfo)

    def GetCurrentTime(message):
        _set(message, _of_datetime(datetime.datetime.now(datetime.timezone.utc)))


class Duration(_Instant):
    def FromNanoseconds(message, nanoseconds):
        _set(message, _duration_parts(nanoseconds))

    def FromMicroseconds(message, microseconds):
        _set(message, _duration_parts(microseconds * 1000))

    def FromMilliseconds(message, milliseconds):
        _set(message, _duration_parts(milliseconds * 10**6))

    def FromSeconds(message, seconds):
        _set(message, _duration_parts(seconds * NANOS))

    def FromTimedelta(message, span):
        _set(message, _of_timedelta(span))

    def ToTimedelta(message):
        micros = _rounded(message.nanos, 1000)
        return datetime.timedelta(seconds=message.seconds, microseconds=micros)


class Any:
    def Pack(message, other, type_url_prefix="type.googleapis.com/", deterministic=False):
        slash = "" if not type_url_prefix or type_url_prefix.endswith("/") else "/"
        if not type_url_prefix:
            slash = "/"
        message.type_url = f"{type_url_prefix}{slash}{other.type().full_name}"
        message.value = other.encode(deterministic=deterministic)

    def Unpack(message, other):
        if not Any.Is(message, other.type()):
            return False
        other.ParseFromString(message.value)
        return True

    def TypeName(message):
        return message.type_url.rpartition("/")[2]

    def Is(message, of):
        return "/" in message.type_url and Any.TypeName(message) == of.full_name


class FieldMask:
    def ToJsonString(message):
        return json.loads(message.to_json())

    def FromJsonString(message, text):
        message.CopyFrom(message.type().from_json(json.dumps(text)))


def _value(value):
    """The fields of a ``google.protobuf.Value`` for what JSON has."""
    if value is None:
        return {"null_value": 0}
    if isinstance(value, bool):
        return {"bool_value": value}
    if isinstance(value, str):
        return {"string_value": value}
    if isinstance(value, (int, float)):
        return {"number_value": value}
    if hasattr(value, "keys"):
        return {"struct_value": {"fields": {key: _value(value[key]) for key in value.keys()}}}
    if hasattr(value, "__iter__"):
        return {"list_value": {"values": [_value(one) for one in value]}}
    raise ValueError(f"JSON has no value for {type(value).__name__}")


class Struct:
    def update(message, values):
        for key in values.keys():
            message.fields[key] = _value(values[key])

    def get_or_create_struct(message, key):
        return message.fields.get_or_create(key).struct_value

    def get_or_create_list(message, key):
        return message.fields.get_or_create(key).list_value

    def keys(message):
        return message.fields.keys()


class ListValue:
    def append(message, value):
        message["values"].append(_value(value))

    def extend(message, values):
        message["values"].extend([_value(value) for value in values])


def _methods(cls):
    names = (name for name in dir(cls) if not name.startswith("_"))
    return {name: getattr(cls, name) for name in names}


METHODS = {
    f"google.protobuf.{cls.__name__}": _methods(cls)
    for cls in (Timestamp, Duration, Any, FieldMask, Struct, ListValue)
}


def method(full_name, name):
    """The function that a well-known type has under that name, or ``None``."""
    return METHODS.get(full_name, {}).get(name)
