package main

import (
	"slices"
	"strconv"
)

// next is a generator of Lehmer's; none of its numbers comes twice.
func next(x int) int { return x * 48271 % 0x7fffffff }

// key is a number far from its neighbours.
func key(x int) int { return x*2654435761 - 40000000000 }

// maps does what the component program of this name does, case by case.
func maps(which, seed, count, rounds int) int {
	switch which {
	case 1:
		return sparse(seed, count, rounds)
	case 2:
		return words(seed, count, rounds)
	default:
		return ordered(seed, count, rounds)
	}
}

func sparse(seed, count, rounds int) int {
	m := make(map[int]int)
	x := seed
	for i := 1; i <= count; i++ {
		x = next(x)
		m[key(x)] = i
	}
	sum := 0
	for round := 0; round < rounds; round++ {
		x = seed
		for i := 1; i <= count; i++ {
			x = next(x)
			k := key(x)
			if value, there := m[k]; there {
				sum += value
			}
			if value, there := m[k+1]; there {
				sum += value
			}
		}
	}
	x = seed
	for i := 1; i <= count; i++ {
		x = next(x)
		if i%2 == 0 {
			delete(m, key(x))
		}
	}
	x = seed
	for i := 1; i <= count; i++ {
		x = next(x)
		if _, there := m[key(x)]; there {
			sum++
		}
	}
	return sum
}

func words(seed, count, rounds int) int {
	word := make([]string, count)
	x := seed
	for i := range word {
		x = next(x)
		word[i] = strconv.Itoa(key(x))
	}
	times := make(map[string]int)
	for i := 0; i < count*rounds; i++ {
		x = next(x)
		j := x % count
		j = x / 65536 % (j + 1)
		times[word[j]]++
	}
	sum := 0
	for i, word := range word {
		sum += (i%1000 + 1) * times[word]
	}
	return sum
}

// ordered visits keys in ascending order, as FOREACH does: a map of Go has none.
func ordered(seed, count, rounds int) int {
	m := make(map[int]int)
	x := seed
	for i := 1; i <= count; i++ {
		x = next(x)
		m[key(x)] = i
	}
	sum, first := 0, seed
	var keys []int
	for round := 1; round <= rounds; round++ {
		first = next(first)
		delete(m, key(first))
		x = next(x)
		m[key(x)] = count + round
		keys = keys[:0]
		for k := range m {
			keys = append(keys, k)
		}
		slices.Sort(keys)
		for place, k := range keys {
			sum = (sum + (place+1)*m[k]) % 1000000007
		}
	}
	return sum
}
