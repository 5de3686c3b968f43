// The cases of the component benchmarks as a Go programmer writes them: a goroutine for each
// activity, channels between them.
//
// Usage: peer ring NODES ROUNDS | prodcons PRODUCERS CONSUMERS ITEMS | sieve LIMIT |
// spin ACTIVITIES LOOPS | spawn COUNT | maps CASE SEED COUNT ROUNDS |
// loops CASE SIZE ROUNDS. Prints one JSON object: what was measured, and the result.
package main

import (
	"fmt"
	"os"
	"strconv"
	"syscall"
	"time"
)

// slots is how many messages wait in a channel between two activities: as many as in ours.
const slots = 4

var cases = map[string]struct {
	parameters int
	run        func(parameters []int) int
}{
	"ring":     {2, func(p []int) int { return ring(p[0], p[1]) }},
	"prodcons": {3, func(p []int) int { return prodcons(p[0], p[1], p[2]) }},
	"sieve":    {1, func(p []int) int { return sieve(p[0]) }},
	"spin":     {2, func(p []int) int { return spin(p[0], p[1]) }},
	"loops":    {3, func(p []int) int { return loops(p[0], p[1], p[2]) }},
	"maps":     {4, func(p []int) int { return maps(p[0], p[1], p[2], p[3]) }},
}

func main() {
	name, parameters := arguments()
	if name == "spawn" && len(parameters) == 1 {
		alive, bytes := spawn(parameters[0])
		fmt.Printf("{\"result\":%d,\"bytes\":%g}\n", alive, bytes)
		return
	}
	one, known := cases[name]
	if !known || len(parameters) != one.parameters {
		fmt.Fprintln(os.Stderr, "no such case, or other parameters:", os.Args[1:])
		os.Exit(2)
	}
	cpu, wall := cpuSeconds(), time.Now()
	result, bytes := risen(func() int { return one.run(parameters) })
	cpuTaken, wallTaken := cpuSeconds()-cpu, time.Since(wall).Seconds()
	fmt.Printf("{\"cpu_s\":%.9f,\"wall_s\":%.9f,\"peak_bytes\":%d,\"result\":%d}\n", cpuTaken, wallTaken,
		bytes, result)
}

func arguments() (string, []int) {
	if len(os.Args) < 2 {
		return "", nil
	}
	var numbers []int
	for _, text := range os.Args[2:] {
		number, err := strconv.Atoi(text)
		if err != nil {
			fmt.Fprintln(os.Stderr, "not a number:", text)
			os.Exit(2)
		}
		numbers = append(numbers, number)
	}
	return os.Args[1], numbers
}

// cpuSeconds is the user and system time of all threads so far.
func cpuSeconds() float64 {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		panic(err)
	}
	seconds := func(t syscall.Timeval) float64 { return float64(t.Sec) + float64(t.Usec)/1e6 }
	return seconds(usage.Utime) + seconds(usage.Stime)
}
