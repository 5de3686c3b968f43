package main

import "sync"

// prodcons adds up what producers send consumers through a buffer of 10.
func prodcons(producers, consumers, items int) int {
	buffer := make(chan int, 10)
	var producing sync.WaitGroup
	producing.Add(producers)
	for i := 0; i < producers; i++ {
		go func() {
			for x := 1; x <= items; x++ {
				buffer <- x
			}
			producing.Done()
		}()
	}
	sums := make(chan int, consumers)
	for i := 0; i < consumers; i++ {
		go func() {
			sum := 0
			for x := range buffer {
				sum += x
			}
			sums <- sum
		}()
	}
	producing.Wait()
	close(buffer)
	total := 0
	for i := 0; i < consumers; i++ {
		total += <-sums
	}
	return total
}
