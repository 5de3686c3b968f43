// Decoders of Go on the messages of the Protocol Buffers benchmark.
//
//	go-proto WHO SCHEMA TYPE FILE PASSES decode|encode
//
// WHO is `hyperpb` or `protobuf-go` (its dynamic messages). Prints the CPU seconds, of all threads,
// of so many decodings or encodings, and how many bytes the message has when it is encoded again.
package main

import (
	"fmt"
	"os"
	"strconv"
	"syscall"

	"buf.build/go/hyperpb"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"
)

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func cpuSeconds() float64 {
	var usage syscall.Rusage
	must(syscall.Getrusage(syscall.RUSAGE_SELF, &usage))
	seconds := func(time syscall.Timeval) float64 {
		return float64(time.Sec) + float64(time.Usec)/1e6
	}
	return seconds(usage.Utime) + seconds(usage.Stime)
}

func main() {
	if len(os.Args) != 7 {
		must(fmt.Errorf("usage: go-proto WHO SCHEMA TYPE FILE PASSES decode|encode"))
	}
	who, name, what := os.Args[1], os.Args[3], os.Args[6]
	schema, err := os.ReadFile(os.Args[2])
	must(err)
	bytes, err := os.ReadFile(os.Args[4])
	must(err)
	passes, err := strconv.Atoi(os.Args[5])
	must(err)
	set := &descriptorpb.FileDescriptorSet{}
	must(proto.Unmarshal(schema, set))
	files, err := protodesc.NewFiles(set)
	must(err)
	found, err := files.FindDescriptorByName(protoreflect.FullName(name))
	must(err)
	descriptor := found.(protoreflect.MessageDescriptor)
	decode := func() proto.Message {
		message := dynamicpb.NewMessage(descriptor)
		must(proto.Unmarshal(bytes, message))
		return message
	}
	if who == "hyperpb" {
		ty := hyperpb.CompileMessageDescriptor(descriptor)
		shared := new(hyperpb.Shared)
		used := false
		decode = func() proto.Message {
			// Memory is used again; one that was never used cannot be freed.
			if used {
				shared.Free()
			}
			used = true
			message := shared.NewMessage(ty)
			must(message.Unmarshal(bytes))
			return message
		}
	}
	message := decode()
	length := proto.Size(message)
	var out []byte
	start := cpuSeconds()
	for pass := 0; pass < passes; pass++ {
		if what == "encode" {
			out, err = proto.MarshalOptions{}.MarshalAppend(out[:0], message)
			must(err)
		} else {
			decode()
		}
	}
	fmt.Printf("%.9f %d\n", cpuSeconds()-start, length)
}
