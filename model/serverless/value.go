package serverless

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/big"
	"strings"

	"github.com/itchyny/gojq"
)

// decode reads JSON into the types that jq works on: nil, bool, int, *big.Int, float64, string, []any and map[string]any. An integer
// stays exact.
func decode(data []byte) (any, error) {
	if len(bytes.TrimSpace(data)) == 0 {
		return nil, nil //nolint:nilnil // no JSON at all is null
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, fmt.Errorf("reading JSON: %w", err)
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, fmt.Errorf("reading JSON: there is more after the value")
	}
	return exact(v)
}

// exact replaces each json.Number by a number that jq reckons with.
func exact(v any) (_ any, err error) {
	switch v := v.(type) {
	case json.Number:
		return number(v.String())
	case []any:
		for i := range v {
			if v[i], err = exact(v[i]); err != nil {
				return nil, err
			}
		}
	case map[string]any:
		for k := range v {
			if v[k], err = exact(v[k]); err != nil {
				return nil, err
			}
		}
	}
	return v, nil
}

// number reads a number of JSON.
func number(text string) (any, error) {
	n := json.Number(text)
	if !strings.ContainsAny(text, ".eE") {
		if i, err := n.Int64(); err == nil {
			return int(i), nil
		}
		if i, ok := new(big.Int).SetString(text, 10); ok && i.BitLen() <= maxBits {
			return i, nil
		}
	}
	f, err := n.Float64()
	if err != nil {
		return nil, fmt.Errorf("the number %s is no float64", gojq.Preview(text))
	}
	return f, nil
}

// encode writes a value that decode or an expression has made. As in jq, NaN is null and infinities are the largest float64.
func encode(v any) json.RawMessage {
	data, err := gojq.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("serverless: encoding a value: %v", err))
	}
	return data
}

// truth says whether a condition holds: as in jq, all but null and false is true.
func truth(v any) bool { return v != nil && v != false }
