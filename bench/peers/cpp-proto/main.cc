// The generated code of Protocol Buffers' own C++ library.
//
//     cpp-proto WHO SCHEMA TYPE FILE PASSES decode|encode
//
// WHO is `cpp` (one message used again), `cpp-arena` (a new arena for each) or `cpp-dynamic` (one
// DynamicMessage of a schema read at run time, used again). Prints the CPU seconds of so many
// decodings or encodings, and how many bytes the message has when it is encoded again.

#include <google/protobuf/arena.h>
#include <google/protobuf/descriptor.pb.h>
#include <google/protobuf/dynamic_message.h>
#include <time.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>

#include "google_messages.pb.h"

namespace pb = google::protobuf;

static double cpu_seconds() {
    timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
}

static std::string read(const char *path) {
    std::ifstream file(path, std::ios::binary);
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
}

static int fail(const char *what) {
    std::fprintf(stderr, "%s\n", what);
    return 1;
}

int main(int count, char **arguments) {
    if (count != 7) return fail("usage: cpp-proto WHO SCHEMA TYPE FILE PASSES decode|encode");
    const std::string who = arguments[1], type = arguments[3], what = arguments[6];
    const std::string bytes = read(arguments[4]);
    const unsigned long passes = std::strtoul(arguments[5], nullptr, 10);
    // So that the linker keeps the types.
    benchmarks::SpeedMessage1::default_instance();
    benchmarks::SpeedMessage2::default_instance();
    pb::DescriptorPool pool;
    pb::DynamicMessageFactory factory;
    const pb::Message *prototype = nullptr;
    if (who == "cpp-dynamic") {
        pb::FileDescriptorSet set;
        if (!set.ParseFromString(read(arguments[2]))) return fail("no schema");
        for (const auto &file : set.file())
            if (!pool.BuildFile(file)) return fail("a bad schema");
        const auto *found = pool.FindMessageTypeByName(type);
        if (found) prototype = factory.GetPrototype(found);
    } else {
        const auto *found = pb::DescriptorPool::generated_pool()->FindMessageTypeByName(type);
        if (found) prototype = pb::MessageFactory::generated_factory()->GetPrototype(found);
    }
    if (!prototype) return fail("no such message");
    std::unique_ptr<pb::Message> message(prototype->New());
    if (!message->ParseFromString(bytes)) return fail("it does not decode");
    const size_t length = message->ByteSizeLong();
    std::string out(length, '\0');
    unsigned long good = 0;
    const double start = cpu_seconds();
    for (unsigned long pass = 0; pass < passes; pass++) {
        const char *from = bytes.data();
        __asm__ volatile("" : "+r"(from) : : "memory");
        if (what == "encode") {
            good += message->ByteSizeLong() == length &&
                    message->SerializeWithCachedSizesToArray(
                        reinterpret_cast<pb::uint8 *>(&out[0])) != nullptr;
        } else if (who == "cpp-arena") {
            pb::Arena arena;
            good += prototype->New(&arena)->ParseFromArray(from, static_cast<int>(bytes.size()));
        } else {
            good += message->ParseFromArray(from, static_cast<int>(bytes.size()));
        }
    }
    const double seconds = cpu_seconds() - start;
    if (good != passes) return fail("a pass failed");
    std::printf("%.9f %zu\n", seconds, length);
    return 0;
}
