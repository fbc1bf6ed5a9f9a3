package payload

import (
	"reflect"
	"testing"
	"time"
)

func sampleOrder() order {
	return order{ID: "o-1", Items: []item{{"sku-1", 1}, {"sku-2", 2}}, At: time.Unix(1767322800, 0).UTC()}
}

func BenchmarkEncode(b *testing.B) {
	for name, v := range map[string]any{"none": none{}, "int": 42, "item": item{"sku-1", 1}, "order": sampleOrder()} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Encode(v); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkDecode(b *testing.B) {
	for name, v := range map[string]any{"none": none{}, "int": 42, "item": item{"sku-1", 1}, "order": sampleOrder()} {
		b.Run(name, func(b *testing.B) {
			data, err := Encode(v)
			if err != nil {
				b.Fatal(err)
			}
			into := reflect.New(reflect.TypeOf(v)).Interface()
			b.ReportAllocs()
			for b.Loop() {
				if err := Decode(data, into); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkCheck(b *testing.B) {
	t := reflect.TypeFor[order]()
	b.ReportAllocs()
	for b.Loop() {
		if err := Check(t); err != nil {
			b.Fatal(err)
		}
	}
}
