// Decides with porcupine whether histories are linearizable: each a line with the model, then one
// operation a line, fields between blanks: NAME KEY VALUE RESULT INVOKED RETURNED, with -1 for what is
// not there (RETURNED: pending). Prints 1 or 0 for each, and the CPU time that the check took.
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

// Of cas the key is the old value, and the result 1 or 0.
var register = porcupine.Model{
	Init: func() interface{} { return int64(-1) },
	Step: func(state, input, output interface{}) (bool, interface{}) {
		call, result, value := input.(call), output.(result), state.(int64)
		switch call.name {
		case "write":
			return true, call.value
		case "cas":
			swaps := value == call.key
			agrees := result.pending || (result.value == 1) == swaps
			if swaps {
				return agrees, call.value
			}
			return agrees, value
		}
		return result.pending || result.value == value, value
	},
	Equal: func(one, other interface{}) bool { return one == other },
}

// The state has a bit for each element.
var set = porcupine.Model{
	Init: func() interface{} { return int64(0) },
	Step: func(state, input, output interface{}) (bool, interface{}) {
		call, result, elements := input.(call), output.(result), state.(int64)
		bit := int64(1) << call.value
		has := elements&bit != 0
		expected := has
		after := elements
		switch call.name {
		case "add":
			expected, after = !has, elements|bit
		case "remove":
			after = elements &^ bit
		}
		return result.pending || (result.value == 1) == expected, after
	},
	Equal: func(one, other interface{}) bool { return one == other },
}

// Each operation gives the new value.
var counter = porcupine.Model{
	Init: func() interface{} { return int64(0) },
	Step: func(state, input, output interface{}) (bool, interface{}) {
		call, result, value := input.(call), output.(result), state.(int64)
		switch call.name {
		case "add":
			value += call.value
		case "increment":
			value++
		case "decrement":
			value--
		}
		return result.pending || result.value == value, value
	},
	Equal: func(one, other interface{}) bool { return one == other },
}

var models = map[string]porcupine.Model{
	"kv": kv, "queue": queue, "register": register, "set": set, "counter": counter,
}

func cpuSeconds() float64 {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		panic(err)
	}
	of := func(part syscall.Timeval) float64 { return time.Duration(part.Nano()).Seconds() }
	return of(usage.Utime) + of(usage.Stime)
}

func operation(line string, client int) porcupine.Operation {
	var name string
	var key, value, got, invoked, returned int64
	if _, err := fmt.Sscan(line, &name, &key, &value, &got, &invoked, &returned); err != nil {
		panic(err)
	}
	pending := returned == -1
	if pending {
		returned = math.MaxInt64
	}
	return porcupine.Operation{
		ClientId: client,
		Input:    call{name, key, value},
		Call:     invoked,
		Output:   result{got, pending},
		Return:   returned,
	}
}

type history struct {
	model      porcupine.Model
	operations []porcupine.Operation
}

func main() {
	lines := bufio.NewScanner(os.Stdin)
	var histories []history
	for lines.Scan() {
		if model, found := models[lines.Text()]; found {
			histories = append(histories, history{model, nil})
			continue
		}
		last := &histories[len(histories)-1]
		last.operations = append(last.operations, operation(lines.Text(), len(last.operations)))
	}
	for _, history := range histories {
		before := cpuSeconds()
		verdict := 0
		if porcupine.CheckOperations(history.model, history.operations) {
			verdict = 1
		}
		fmt.Println(verdict, cpuSeconds()-before)
	}
}
