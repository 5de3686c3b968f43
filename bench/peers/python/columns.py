"""Messages to Arrow columns by packages of PyPI.

    columns.py DESCRIPTOR_SET TYPE DELIMITED RUNS

Prints per package and run `WHO CPU_SECONDS ROWS SUM`, where the sum is that of the column `battery`
and checks the result; what is not installed is `absent WHO REASON`. Reading the file and splitting
it into messages is not measured.
"""

import sys
import time


def split(data):
    """The messages of a stream of lengths and messages."""
    messages, at = [], 0
    while at < len(data):
        length, shift = 0, 0
        while True:
            byte = data[at]
            at += 1
            length |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                break
        messages.append(data[at : at + length])
        at += length
    return messages


def message_class(descriptors, full_name):
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

    files = descriptor_pb2.FileDescriptorSet.FromString(descriptors)
    pool = descriptor_pool.DescriptorPool()
    for file in files.file:
        pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName(full_name))


def with_ptars(cls):
    import ptars

    pool = ptars.HandlerPool([cls.DESCRIPTOR.file])
    handler = pool.get_for_message(cls.DESCRIPTOR)
    return handler.list_to_record_batch


def with_protarrow(cls):
    import protarrow

    extractor = protarrow.messages_to_record_batch
    return lambda messages: extractor([cls.FromString(one) for one in messages], cls)


def main():
    descriptors, full_name, file, runs = sys.argv[1:]
    with open(descriptors, "rb") as set_file, open(file, "rb") as data_file:
        descriptors, messages = set_file.read(), split(data_file.read())
    for who, make in (("ptars", with_ptars), ("protarrow", with_protarrow)):
        try:
            import pyarrow.compute

            convert = make(message_class(descriptors, full_name))
        except ImportError as error:
            print("absent", who, error)
            continue
        for _ in range(int(runs)):
            start = time.process_time()
            batch = convert(messages)
            seconds = time.process_time() - start
            total = pyarrow.compute.sum(batch.column("battery")).as_py()
            print(who, seconds, batch.num_rows, total)


main()
