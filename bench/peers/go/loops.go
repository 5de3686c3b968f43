package main

import "math"

// loops does what the component programs of this name do, case by case; those from 11 on are those
// from 1 on, again.
func loops(which, size, rounds int) int {
	switch which % 10 {
	case 1:
		return fannkuch(size)
	case 2:
		return bodies(rounds)
	case 3:
		return product(size, rounds)
	case 4:
		return spectral(size, rounds)
	default:
		sum := 0
		for round := 0; round < rounds; round++ {
			sum += fibonacci(size)
		}
		return sum
	}
}

func fibonacci(n int) int {
	if n < 2 {
		return n
	}
	return fibonacci(n-1) + fibonacci(n-2)
}

func fannkuch(n int) int {
	p, q, s := make([]int, n), make([]int, n), make([]int, n)
	for i := range p {
		p[i], s[i] = i, i
	}
	sign, most, sum := 1, 0, 0
	for {
		if first := p[0]; first != 0 {
			copy(q[1:], p[1:])
			flips := 1
			for next := q[first]; next != 0; next = q[first] {
				q[first] = first
				for i, j := 1, first-1; i < j; i, j = i+1, j-1 {
					q[i], q[j] = q[j], q[i]
				}
				first = next
				flips++
			}
			sum += sign * flips
			if flips > most {
				most = flips
			}
		}
		if sign == 1 {
			p[0], p[1] = p[1], p[0]
			sign = -1
			continue
		}
		p[1], p[2] = p[2], p[1]
		sign = 1
		for i := 2; ; {
			if s[i] != 0 {
				s[i]--
				break
			}
			if i == n-1 {
				return sum*100 + most
			}
			s[i] = i
			t := p[0]
			for j := 0; j <= i; j++ {
				p[j] = p[j+1]
			}
			i++
			p[i] = t
		}
	}
}

const (
	sun   = 39.47841760435743
	year  = 365.24
	count = 5
)

func bodies(steps int) int {
	x, y, z, mass := make([]float64, count), make([]float64, count), make([]float64, count), make([]float64, count)
	vx, vy, vz := make([]float64, count), make([]float64, count), make([]float64, count)
	body := func(i int, px, py, pz, ux, uy, uz, m float64) {
		x[i], y[i], z[i] = px, py, pz
		vx[i], vy[i], vz[i], mass[i] = ux*year, uy*year, uz*year, m*sun
	}
	body(0, 0, 0, 0, 0, 0, 0, 1)
	body(1, 4.84143144246472090, -1.16032004402742839, -0.103622044471123109,
		0.00166007664274403694, 0.00769901118419740425, -0.0000690460016972063023,
		0.000954791938424326609)
	body(2, 8.34336671824457987, 4.12479856412430479, -0.403523417114321381,
		-0.00276742510726411899, 0.00499852801234917238, 0.0000230417297573763929,
		0.000285885980666130812)
	body(3, 12.8943695621391310, -15.1111514016986312, -0.223307578892655734,
		0.00296460137564761618, 0.00237847173959480950, -0.0000296589568540237556,
		0.0000436624404335156298)
	body(4, 15.3796971148509165, -25.9193146099879641, 0.179258772950371181,
		0.00268067772490389322, 0.00162824170038242295, -0.0000951592254519715870,
		0.0000515138902046611451)
	px, py, pz := 0.0, 0.0, 0.0
	for i := range x {
		px += vx[i] * mass[i]
		py += vy[i] * mass[i]
		pz += vz[i] * mass[i]
	}
	vx[0], vy[0], vz[0] = -px/sun, -py/sun, -pz/sun
	for step := 0; step < steps; step++ {
		for i := 0; i < count; i++ {
			for j := i + 1; j < count; j++ {
				dx, dy, dz := x[i]-x[j], y[i]-y[j], z[i]-z[j]
				square := dx*dx + dy*dy + dz*dz
				force := 0.01 / (square * math.Sqrt(square))
				vx[i] -= dx * mass[j] * force
				vy[i] -= dy * mass[j] * force
				vz[i] -= dz * mass[j] * force
				vx[j] += dx * mass[i] * force
				vy[j] += dy * mass[i] * force
				vz[j] += dz * mass[i] * force
			}
		}
		for i := range x {
			x[i] += 0.01 * vx[i]
			y[i] += 0.01 * vy[i]
			z[i] += 0.01 * vz[i]
		}
	}
	energy := 0.0
	for i := range x {
		energy += 0.5 * mass[i] * (vx[i]*vx[i] + vy[i]*vy[i] + vz[i]*vz[i])
		for j := i + 1; j < count; j++ {
			dx, dy, dz := x[i]-x[j], y[i]-y[j], z[i]-z[j]
			energy -= mass[i] * mass[j] / math.Sqrt(dx*dx+dy*dy+dz*dz)
		}
	}
	return int(math.Floor(-energy * 1000000000))
}

func matrix(n int) [][]float64 {
	rows := make([][]float64, n)
	for i := range rows {
		rows[i] = make([]float64, n)
	}
	return rows
}

func product(n, rounds int) int {
	a, b, c := matrix(n), matrix(n), matrix(n)
	for i := 0; i < n; i++ {
		for j := 0; j < n; j++ {
			a[i][j], b[i][j] = float64(i+2*j), float64(i-j)
		}
	}
	for round := 0; round < rounds; round++ {
		for i := 0; i < n; i++ {
			for j := 0; j < n; j++ {
				sum := 0.0
				for k := 0; k < n; k++ {
					sum += a[i][k] * b[k][j]
				}
				c[i][j] = sum
			}
		}
		a[0][0]++
	}
	sum := 0.0
	for _, row := range c {
		for _, one := range row {
			sum += one * one
		}
	}
	return int(math.Floor(math.Sqrt(sum)))
}

func entry(i, j int) float64 { return 1 / float64((i+j)*(i+j+1)/2+i+1) }

func times(from, to []float64) {
	for i := range to {
		sum := 0.0
		for j := range from {
			sum += entry(i, j) * from[j]
		}
		to[i] = sum
	}
}

func timesTransposed(from, to []float64) {
	for i := range to {
		sum := 0.0
		for j := range from {
			sum += entry(j, i) * from[j]
		}
		to[i] = sum
	}
}

func spectral(n, rounds int) int {
	u, v, w := make([]float64, n), make([]float64, n), make([]float64, n)
	for i := range u {
		u[i] = 1
	}
	for round := 0; round < rounds; round++ {
		times(u, w)
		timesTransposed(w, v)
		times(v, w)
		timesTransposed(w, u)
	}
	product, square := 0.0, 0.0
	for i := range u {
		product += u[i] * v[i]
		square += v[i] * v[i]
	}
	return int(math.Floor(math.Sqrt(product/square) * 1000000000))
}
