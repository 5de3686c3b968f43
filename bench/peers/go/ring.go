package main

// ring passes a token, which counts its hops, round a ring of nodes.
func ring(nodes, rounds int) int {
	first := make(chan int, slots)
	in := first
	for i := 1; i < nodes; i++ {
		out := make(chan int, slots)
		go node(in, out, rounds)
		in = out
	}
	ended := make(chan int)
	go head(in, first, rounds, ended)
	return <-ended
}

func node(in <-chan int, out chan<- int, rounds int) {
	for i := 0; i < rounds; i++ {
		out <- <-in + 1
	}
}

func head(in <-chan int, out chan<- int, rounds int, ended chan<- int) {
	hops := 0
	for i := 0; i < rounds; i++ {
		out <- hops + 1
		hops = <-in
	}
	ended <- hops
}
