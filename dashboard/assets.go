package dashboard

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"net/http"
	"path"
	"strings"
)

//go:embed assets/*
var assetFiles embed.FS

//go:embed templates/*.html
var templateFiles embed.FS

// assets are the files that pages load. Their path has a hash of all of them, so that browsers may keep them.
type assets struct {
	hash  string // of assets and templates: the build of the pages
	files map[string][]byte
}

//nolint:gochecknoglobals // constant table
var assetKinds = map[string]string{
	".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml", ".LICENSE": "text/plain; charset=utf-8",
}

// loadAssets reads the embedded files.
func loadAssets() (assets, error) {
	a, hash := assets{files: map[string][]byte{}}, sha256.New()
	for _, dir := range []struct {
		files embed.FS
		name  string
	}{{assetFiles, "assets"}, {templateFiles, "templates"}} {
		entries, err := fs.ReadDir(dir.files, dir.name)
		if err != nil {
			return a, fmt.Errorf("%w: reading embedded files: %w", errOptions, err)
		}
		for _, e := range entries {
			data, err := fs.ReadFile(dir.files, dir.name+"/"+e.Name())
			if err != nil {
				return a, fmt.Errorf("%w: reading embedded files: %w", errOptions, err)
			}
			_, _ = fmt.Fprintf(hash, "%s %d\n%s", e.Name(), len(data), data)
			if dir.name == "assets" {
				a.files[e.Name()] = data
			}
		}
	}
	a.hash = hex.EncodeToString(hash.Sum(nil)[:8])
	return a, nil
}

// asset serves a file. A path with another hash is one of another build.
func (c *call) asset() error {
	name := c.r.PathValue("file")
	data, ok := c.s.assets.files[name]
	if !ok || c.r.PathValue("hash") != c.s.assets.hash {
		return c.notFound()
	}
	h := c.w.Header()
	h.Set("Content-Type", assetKinds[path.Ext(name)])
	h.Set("Cache-Control", "public, max-age=31536000, immutable")
	if c.r.Method != http.MethodHead {
		_, _ = c.w.Write(data) //nolint:gosec // an embedded file
	}
	return nil
}

// url returns the path of an asset.
func (a *assets) url(prefix, name string) string {
	return strings.Join([]string{prefix, "assets", a.hash, name}, "/")
}
