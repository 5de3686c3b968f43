package main

import (
	"fmt"
	"os"
	"runtime/debug"
)

// spawn starts goroutines that wait for a message on a channel of their own. It returns how many
// answered when they got it, and how many bytes each had cost.
func spawn(count int) (int, float64) {
	inboxes, outbox := make([]chan int, count), make(chan int, slots)
	for i := range inboxes {
		inboxes[i] = nil // The list of the clients does not count: it is in memory before.
	}
	debug.FreeOSMemory()
	before := resident()
	for i := range inboxes {
		inboxes[i] = make(chan int, slots)
		go func(inbox <-chan int) {
			outbox <- 0
			outbox <- <-inbox
		}(inboxes[i])
		<-outbox
	}
	debug.FreeOSMemory()
	bytes := float64(resident()-before) / float64(count)
	alive := 0
	for _, inbox := range inboxes {
		inbox <- 1
		alive += <-outbox
	}
	return alive, bytes
}

// resident is the memory of the process in bytes.
func resident() int {
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		panic(err)
	}
	var size, pages int
	if _, err := fmt.Sscan(string(text), &size, &pages); err != nil {
		panic(err)
	}
	return pages * os.Getpagesize()
}
