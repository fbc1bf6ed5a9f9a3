package payload

import (
	"encoding/json"
	"strings"
	"testing"
)

type unexported struct {
	ID     int64
	Number json.Number
	Loose  any
}

type embeds struct {
	unexported
	Name string
}

// A struct may embed one whose type is not exported. JSON writes its fields, and the look for places reads them.
func TestEncodeExactReadsEmbeddedStructs(t *testing.T) {
	whole := embeds{unexported{ID: 1764272006123456789, Number: "1764272006123456789"}, "n"}
	data, err := EncodeExact(whole)
	if err != nil {
		t.Fatal(err)
	}
	var back embeds
	if err := Decode(data, &back); err != nil || back != whole {
		t.Errorf("read back as %+v, %v", back, err)
	}
	for _, loose := range []any{int64(1<<53 + 1), json.Number("9007199254740993")} {
		_, err := EncodeExact(embeds{unexported: unexported{Number: "0", Loose: loose}})
		if err == nil || !strings.Contains(err.Error(), "unexported.Loose is 9007199254740993") {
			t.Errorf("%T: %v", loose, err)
		}
	}
}
