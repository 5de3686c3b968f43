package main

// sieve counts the primes up to a limit: each has a filter, which starts the next one. The numbers
// end with a 0; then the count comes from the last filter.
func sieve(limit int) int {
	first, primes := make(chan int, slots), make(chan int)
	go filter(first, 1, primes)
	for n := 2; n <= limit; n++ {
		first <- n
	}
	first <- 0
	return <-primes
}

func filter(in <-chan int, position int, primes chan<- int) {
	prime := <-in
	var next chan int
	for n := <-in; n != 0; n = <-in {
		if n%prime == 0 {
			continue
		}
		if next == nil {
			next = make(chan int, slots)
			go filter(next, position+1, primes)
		}
		next <- n
	}
	if next == nil {
		primes <- position
	} else {
		next <- 0
	}
}
