package analyze_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/farread/farread/analyze"
)

// A job of one's own: the words of some texts, each of which is a part.
func ExampleRun() {
	texts := []string{"the cat and the dog", "the end"}
	total := map[string]int{}
	job := &analyze.Job[map[string]int]{
		ID: "words of two texts", Parts: len(texts),
		Map: func(_ context.Context, part int) (map[string]int, error) {
			words := map[string]int{}
			for w := range strings.FieldsSeq(texts[part]) {
				words[w]++
			}
			return words, nil
		},
		Merge: func(_ int, words map[string]int) error {
			for w, n := range words {
				total[w] += n
			}
			return nil
		},
		// For a checkpoint.
		Encode: func(words map[string]int) ([]byte, error) { return json.Marshal(words) },
		Decode: func(line []byte) (words map[string]int, err error) { return words, json.Unmarshal(line, &words) },
	}
	if err := analyze.Run(context.Background(), job, analyze.Options{Jobs: 2}); err != nil {
		panic(err)
	}
	fmt.Println(total)
	// Output: map[and:1 cat:1 dog:1 end:1 the:3]
}
