package main

// spin runs hot loops and adds up what they come to.
func spin(activities, loops int) int {
	results := make(chan int, activities)
	for seed := 1; seed <= activities; seed++ {
		go func(x int) {
			for i := 1; i <= loops; i++ {
				x = (x*5 + i) & 8191
			}
			results <- x
		}(seed)
	}
	sum := 0
	for i := 0; i < activities; i++ {
		sum += <-results
	}
	return sum
}
