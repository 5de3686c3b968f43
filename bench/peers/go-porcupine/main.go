// Decides with porcupine whether histories are linearizable: one operation a line, fields between
// blanks: NAME KEY VALUE RESULT INVOKED RETURNED, with -1 for what is not there (RETURNED: pending),
// after a line with the model, kv or queue. Prints 1 or 0, and the CPU time that the check took.
package main

import (
	"bufio"
	"fmt"
	"math"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/anishathalye/porcupine"
)

type call struct {
	name       string
	key, value int64
}

// What a call returned; `pending`: nothing is known.
type result struct {
	value   int64
	pending bool
}

func byKey(history []porcupine.Operation) [][]porcupine.Operation {
	parts := map[int64][]porcupine.Operation{}
	for _, operation := range history {
		key := operation.Input.(call).key
		parts[key] = append(parts[key], operation)
	}
	all := make([][]porcupine.Operation, 0, len(parts))
	for _, part := range parts {
		all = append(all, part)
	}
	return all
}

var kv = porcupine.Model{
	Partition: byKey,
	Init:      func() interface{} { return int64(-1) },
	Step: func(state, input, output interface{}) (bool, interface{}) {
		call, result := input.(call), output.(result)
		if call.name == "put" {
			return true, call.value
		}
		return result.pending || result.value == state.(int64), state
	},
	Equal: func(one, other interface{}) bool { return one == other },
}

// The state is the values with a comma behind each, so that equal states are equal texts.
var queue = porcupine.Model{
	Init: func() interface{} { return "" },
	Step: func(state, input, output interface{}) (bool, interface{}) {
		call, result, values := input.(call), output.(result), state.(string)
		if call.name == "enqueue" {
			return true, fmt.Sprintf("%s%d,", values, call.value)
		}
		first, rest, found := strings.Cut(values, ",")
		if !found {
			return result.pending || result.value == -1, values
		}
		return result.pending || fmt.Sprint(result.value) == first, rest
	},
}

func cpuSeconds() float64 {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		panic(err)
	}
	of := func(part syscall.Timeval) float64 { return time.Duration(part.Nano()).Seconds() }
	return of(usage.Utime) + of(usage.Stime)
}

func main() {
	lines := bufio.NewScanner(os.Stdin)
	lines.Scan()
	model := kv
	if lines.Text() == "queue" {
		model = queue
	}
	var history []porcupine.Operation
	for client := 0; lines.Scan(); client++ {
		var name string
		var key, value, got, invoked, returned int64
		if _, err := fmt.Sscan(lines.Text(), &name, &key, &value, &got, &invoked, &returned); err != nil {
			panic(err)
		}
		pending := returned == -1
		if pending {
			returned = math.MaxInt64
		}
		history = append(history, porcupine.Operation{
			ClientId: client,
			Input:    call{name, key, value},
			Call:     invoked,
			Output:   result{got, pending},
			Return:   returned,
		})
	}
	before := cpuSeconds()
	verdict := 0
	if porcupine.CheckOperations(model, history) {
		verdict = 1
	}
	fmt.Println(verdict, cpuSeconds()-before)
}
