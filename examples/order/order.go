package order

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"unicode"
)

// ApprovalLimit is the total, in cents, at which the demo's manager starts to refuse orders.
const ApprovalLimit = 1_000_000

// Order is the input of [Process].
type Order struct {
	ID       string `json:"id"`
	Customer string `json:"customer"`
	Items    []Item `json:"items"`
	Decline  bool   `json:"decline,omitempty"` // the bank declines the card
}

// Item is a line of an order.
type Item struct {
	SKU       string `json:"sku"`
	Quantity  int    `json:"quantity"`
	UnitCents int64  `json:"unit_cents"`
}

// Approval is the event named "approval" that [Process] waits for.
type Approval struct {
	By       string `json:"by"`
	Approved bool   `json:"approved"`
	Reason   string `json:"reason,omitempty"`
}

// Receipt is the output of [Process].
type Receipt struct {
	Order      string   `json:"order"`
	Status     string   `json:"status"` // "shipped" or "refused"
	Reason     string   `json:"reason,omitempty"`
	TotalCents int64    `json:"total_cents"`
	Payment    string   `json:"payment,omitempty"`
	Tracking   string   `json:"tracking,omitempty"`
	Undone     []string `json:"undone,omitempty"` // compensations, in the order in which they ran
}

// The values of Receipt.Status.
const (
	Shipped = "shipped"
	Refused = "refused"
)

// Total returns the sum of all lines in cents.
func (o Order) Total() int64 {
	total := int64(0)
	for _, item := range o.Items {
		total += int64(item.Quantity) * item.UnitCents
	}
	return total
}

// Bounds that keep totals far from overflow and IDs short enough for instance IDs.
const (
	maxItems    = 1_000
	maxQuantity = 10_000
	maxCents    = 100_000_000
	maxText     = 100
)

// Validate returns an error that names every invalid field.
func (o Order) Validate() error {
	problems := []error{checkText("id", o.ID), checkText("customer", o.Customer)}
	if len(o.Items) == 0 || len(o.Items) > maxItems {
		problems = append(problems, fmt.Errorf("items: there are %d, must be 1 to %d", len(o.Items), maxItems))
	}
	for i, item := range o.Items {
		at := fmt.Sprintf("items[%d].", i)
		problems = append(problems, checkText(at+"sku", item.SKU))
		if item.Quantity < 1 || item.Quantity > maxQuantity {
			problems = append(problems, fmt.Errorf("%squantity: is %d, must be 1 to %d", at, item.Quantity, maxQuantity))
		}
		if item.UnitCents < 1 || item.UnitCents > maxCents {
			problems = append(problems, fmt.Errorf("%sunit_cents: is %d, must be 1 to %d", at, item.UnitCents, maxCents))
		}
	}
	return errors.Join(problems...)
}

func checkText(field, s string) error {
	switch {
	case strings.TrimSpace(s) == "":
		return fmt.Errorf("%s: is empty", field)
	case len(s) > maxText:
		return fmt.Errorf("%s: has %d bytes, the limit is %d", field, len(s), maxText)
	case strings.ContainsFunc(s, unicode.IsControl):
		return fmt.Errorf("%s: %q has control characters", field, s)
	}
	return nil
}

// Parse parses a JSON order and validates it. It refuses unknown fields, so that a misspelt field is not silently
// missing.
func Parse(data []byte) (Order, error) {
	var o Order
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&o); err != nil {
		return o, explain(err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return o, fmt.Errorf("text follows the order's closing brace (byte %d)", d.InputOffset())
	}
	return o, o.Validate()
}

// explain puts the name of the field, if there is one, in front of a JSON error.
func explain(err error) error {
	if mismatch, ok := errors.AsType[*json.UnmarshalTypeError](err); ok && mismatch.Field != "" {
		return fmt.Errorf("%s: is a JSON %s, must be %s", mismatch.Field, mismatch.Value, inWords(mismatch.Type.Kind()))
	}
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		return fmt.Errorf("not valid JSON at byte %d: %w", syntax.Offset, err)
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("not valid JSON: unexpected end")
	}
	return fmt.Errorf("not an order: %s", strings.TrimPrefix(err.Error(), "json: "))
}

func inWords(k reflect.Kind) string {
	switch k {
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "true or false"
	case reflect.Slice:
		return "a list"
	case reflect.Struct:
		return "an object"
	default:
		return "a whole number"
	}
}
