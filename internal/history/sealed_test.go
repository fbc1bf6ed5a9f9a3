package history

import (
	"bytes"
	"encoding/binary"
	"errors"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// flip stands for a cipher.
func flip(data []byte) []byte {
	out := bytes.Clone(data)
	for i := range out {
		out[i] ^= 0xff
	}
	return out
}

func sealFlipped(t *testing.T, data []byte) []byte {
	t.Helper()
	secrets, err := EventSecrets(data)
	if err != nil || secrets.Key != "" || secrets.Bytes == nil {
		t.Fatalf("%+v, %v", secrets, err)
	}
	sealed, err := SealEvent(data, Kept{Key: "k1", Bytes: flip(secrets.Bytes)})
	if err != nil {
		t.Fatal(err)
	}
	return sealed
}

// Each sample can be sealed and opened, has no value in plain meanwhile, and keeps its names, IDs and times.
func TestSealedSamples(t *testing.T) {
	found := 0
	for _, e := range samples {
		data := Encode(nil, e)
		var want [][]byte
		for _, v := range places(e.Body) {
			if value := v.get(); len(value) > 0 {
				want = append(want, value)
			}
		}
		if len(want) == 0 {
			if s, err := EventSecrets(data); err != nil || s.Bytes != nil {
				t.Errorf("%v has no values, and secrets %+v, %v", e.Body.Kind(), s, err)
			}
			continue
		}
		found++
		sealed := sealFlipped(t, data)
		for _, value := range want {
			if len(value) > 3 && bytes.Contains(sealed, value) {
				t.Errorf("%v: %q is in plain", e.Body.Kind(), value)
			}
		}
		if _, err := Decode(7, sealed); !errors.Is(err, ErrSealed) || !errors.Is(err, ErrNewer) || errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), `"k1"`) {
			t.Errorf("%v: decoding it: %v", e.Body.Kind(), err)
		}
		shown, key, err := DecodeShown(7, sealed)
		if err != nil || key != "k1" || shown.ID != 7 || shown.At != e.At || shown.Body.Kind() != e.Body.Kind() || len(Values(shown.Body)) != 0 {
			t.Errorf("%v: shown %+v, %q, %v", e.Body.Kind(), shown, key, err)
		}
		if again, err := EventSecrets(sealed); err != nil || again.Key != "k1" {
			t.Errorf("%v: %+v, %v", e.Body.Kind(), again, err)
		} else if opened, err := OpenEvent(sealed, flip(again.Bytes)); err != nil || !bytes.Equal(opened, data) {
			t.Errorf("%v: opened %x, %v, want %x", e.Body.Kind(), opened, err, data)
		}
		missing := NotedEvent(sealed, Note{Why: "another key"})
		if _, err := Decode(7, missing); !errors.Is(err, ErrNewer) || errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), "another key") {
			t.Errorf("%v: decoding it without its key: %v", e.Body.Kind(), err)
		}
		if !bytes.Equal(NotedEvent(missing, Note{}), sealed) {
			t.Errorf("%v: the note stays", e.Body.Kind())
		}
		damaged := NotedEvent(sealed, Note{Damage: "bad tag"})
		if _, err := Decode(7, damaged); !errors.Is(err, ErrSealed) || errors.Is(err, ErrNewer) || !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), "bad tag") {
			t.Errorf("%v: decoding it damaged: %v", e.Body.Kind(), err)
		}
	}
	if found < 15 {
		t.Errorf("%d samples have values, want more", found)
	}
}

// A release before level 12 finds a field that it does not know, and takes the event for one of a newer release.
func TestHazard116_OlderReleasesLeaveSealedEventsAlone(t *testing.T) {
	data := golden(t, "Sealed", sealFlipped(t, Encode(nil, Event{At: 1767322800000006, Body: &EventReceived{Name: "approval", Payload: []byte(`{"by":"ann"}`)}})))
	tag, _ := binary.Uvarint(data[2:])
	if number := tag >> 1; number != 25 || number <= lastField {
		t.Errorf("the first field has number %d, want 25", number)
	}
	whole := EncodeSealed(Kept{Key: "k1", Bytes: []byte("cipher")})
	if whole[0] <= formatVersion {
		t.Errorf("its format is %d, which older releases read", whole[0])
	}
	if _, err := DecodeOutcome(whole); !errors.Is(err, ErrSealed) || !errors.Is(err, ErrNewer) {
		t.Errorf("%v", err)
	}
	if kept, err := Secrets(whole); err != nil || kept.Key != "k1" || string(kept.Bytes) != "cipher" {
		t.Errorf("%+v, %v", kept, err)
	}
	if err := SealedIn(Noted(whole, Note{Damage: "bad"})); !errors.Is(err, ErrCorrupt) || errors.Is(err, ErrNewer) {
		t.Errorf("%v", err)
	}
	if err := SealedIn([]byte(`"plain"`)); err != nil {
		t.Error(err)
	}
}

// Values that do not fit the event are refused, whatever they are.
func TestOpenEventRefuses(t *testing.T) {
	body := &ActivityFailed{Scheduled: 3, Failure: Failure{Causes: []Failure{{}, {Message: "why"}}}, Attempts: []Attempt{{Number: 1}}}
	data := Encode(nil, Event{Body: body})
	secrets, _ := EventSecrets(data)
	sealed := sealFlipped(t, data)
	for _, bad := range [][]byte{nil, secrets.Bytes[1:], append(bytes.Clone(secrets.Bytes), 0), bytes.Repeat([]byte{0xff}, 20)} {
		if got, err := OpenEvent(sealed, bad); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%x: %x, %v", bad, got, err)
		}
	}
	opened, err := OpenEvent(sealed, secrets.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	if e, err := Decode(0, opened); err != nil || !reflect.DeepEqual(e.Body, body) {
		t.Errorf("%+v, %v", e.Body, err)
	}
}

// A task's payload has the caller behind the event, in plain, as it has names only.
func TestSealedTaskKeepsCaller(t *testing.T) {
	call := Event{ID: 3, At: 5, Body: &ActivityScheduled{Name: "a", Queue: "q", Input: []byte(`"secret"`)}}
	data := AppendOrigin(Encode(nil, call), EncodeCaller(Caller{Name: "order", CodeVersion: "2"}))
	sealed := sealFlipped(t, data)
	shown, _, err := DecodeShown(3, sealed)
	scheduled, ok := shown.Body.(*ActivityScheduled)
	if err != nil || !ok || DecodeCaller(scheduled.Caller).Name != "order" || scheduled.Input != nil {
		t.Errorf("%+v, %v", shown.Body, err)
	}
	kept, _ := EventSecrets(sealed)
	if opened, err := OpenEvent(sealed, flip(kept.Bytes)); err != nil || !bytes.Equal(opened, data) {
		t.Errorf("%x, %v", opened, err)
	}
}

// plainTexts are the fields of texts that stay plain: names, IDs and what the engine itself says.
var plainTexts = []string{
	"Name", "CodeVersion", "ID", "RequestID", "Queue", "FairnessKey", "Session", "EndEvent", "Type", "Code", "Node", "LimitKey",
	"Text", // of an attribute
}

// Each text of an event is sealed, or is one of those that docs/how-to/encrypt-payloads.md says stay plain.
func TestHazard82_NoTextOfAnEventIsForgotten(t *testing.T) {
	for _, e := range samples {
		var sealed []string
		for _, v := range places(e.Body) {
			if v.Text != nil {
				sealed = append(sealed, *v.Text)
			}
		}
		for name, text := range texts(reflect.ValueOf(e.Body).Elem()) {
			if !slices.Contains(plainTexts, name) && text != "" && !slices.Contains(sealed, text) {
				t.Errorf("%v: text %s, %q, is not sealed", e.Body.Kind(), name, text)
			}
		}
	}
}

// texts returns the texts of a struct by the name of their field.
func texts(v reflect.Value) map[string]string {
	out := map[string]string{}
	for i := range v.NumField() {
		field, name := v.Field(i), v.Type().Field(i).Name
		for field.Kind() == reflect.Pointer && !field.IsNil() {
			field = field.Elem()
		}
		switch {
		case field.Kind() == reflect.String:
			out[name] = field.String()
		case field.Kind() == reflect.Struct:
			maps.Copy(out, texts(field))
		case field.Kind() == reflect.Slice && field.Type().Elem().Kind() == reflect.Struct:
			for n := range field.Len() {
				maps.Copy(out, texts(field.Index(n)))
			}
		}
	}
	return out
}
