package client

import (
	"encoding/json"
	"errors"

	"github.com/perdure/perdure/internal/history"
)

// Failure is a stored error in a readable form. Wait returns it as an error instead.
type Failure struct {
	Type         string          `json:"type,omitempty"` // registered name, or that of the Go type
	Message      string          `json:"message"`
	Code         string          `json:"code,omitempty"`    // of an error of the engine, such as "cancelled"
	Details      json.RawMessage `json:"details,omitempty"` // of a registered type
	NonRetryable bool            `json:"nonRetryable,omitempty"`
	Causes       []Failure       `json:"causes,omitempty"`
}

func describeFailure(f *history.Failure) *Failure {
	if f == nil {
		return nil
	}
	shown := &Failure{Type: f.Type, Message: f.Message, Code: f.Code, Details: rawJSON(f.Details), NonRetryable: f.NonRetryable}
	for i := range f.Causes {
		shown.Causes = append(shown.Causes, *describeFailure(&f.Causes[i]))
	}
	return shown
}

// rawJSON returns a stored payload. One that is not JSON, as it came from elsewhere, becomes a string in base 64, so that one
// payload does not spoil a page.
func rawJSON(data []byte) json.RawMessage {
	if len(data) == 0 {
		return nil
	}
	if err, sealed := errors.AsType[*history.SealedError](history.SealedIn(data)); sealed {
		return sealedJSON(err.Key)
	}
	if !json.Valid(data) {
		data, _ = json.Marshal(data) //nolint:errchkjson // bytes can always be encoded
	}
	return data
}

// sealedJSON stands in place of a value that is encrypted with a key.
func sealedJSON(key string) json.RawMessage {
	data, _ := json.Marshal(map[string]string{"encryptedWith": key}) //nolint:errchkjson // a text can always be encoded
	return data
}
