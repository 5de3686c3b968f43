"""Protocol Buffers' own Python package, whose messages are those of its C core, upb.

    messages.py WHO SCHEMA TYPE FILE PASSES decode|encode

prints the CPU seconds of so many decodings or encodings, and how many bytes the message has when it
is encoded again. Each decoding makes a new message: one that is parsed into again keeps its arena
and all that it had.
"""

import sys
import time

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.internal import api_implementation


def main():
    _, _, schema, name, path, passes, what = sys.argv
    if api_implementation.Type() != "upb":
        sys.exit("the package runs without upb here")
    with open(path, "rb") as file:
        data = file.read()
    with open(schema, "rb") as file:
        files = descriptor_pb2.FileDescriptorSet.FromString(file.read())
    pool = descriptor_pool.DescriptorPool()
    for file in files.file:
        pool.Add(file)
    of = message_factory.GetMessageClass(pool.FindMessageTypeByName(name))
    message = of.FromString(data)
    length = len(message.SerializeToString())
    work = of.FromString if what == "decode" else None
    start = time.process_time()
    if work:
        for _ in range(int(passes)):
            work(data)
    else:
        for _ in range(int(passes)):
            message.SerializeToString()
    print(f"{time.process_time() - start:.9f} {length}")


main()
