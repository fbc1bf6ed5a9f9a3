// Command generate writes the code that reads and writes the columns of instances.
package main

import (
	"log"
	"os"
	"path/filepath"

	"github.com/perdure/perdure/provider/internal/columns"
)

func main() {
	files, err := columns.Files()
	if err != nil {
		log.Fatal(err)
	}
	for path, source := range files {
		if err := os.WriteFile(filepath.Join("..", "..", filepath.FromSlash(path)), source, 0o600); err != nil {
			log.Fatal(err)
		}
	}
}
