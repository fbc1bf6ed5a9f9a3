package serverless

// guard says what an allowed builtin needs before it may run.
type guard int

const (
	// free builtins only take steps, which the budget counts, and keep paths. So nothing may stand before them.
	free guard = iota + 1
	// measured builtins work through their input in one step. Their filters are measured, too.
	measured
	// valued builtins also take all their arguments as values, in one step.
	valued
	// replacing builtins take all arguments but the second as values: that one is a filter.
	replacing
	// pathed builtins are measured, and their arguments are paths, which a measure would break.
	pathed
	// looked builtins take a path as a value and return a path.
	looked
	// iterating builtins iterate over their input, and take filters.
	iterating
	// indexing builtins take the index of an element.
	indexing
)

// allowed are the builtins of jq that expressions may call, by name and number of arguments.
//
//nolint:gochecknoglobals // constant table
var allowed = map[string]guard{
	"empty/0": free, "not/0": free, "select/1": free, "type/0": free,
	"recurse/1": free, "recurse/2": free,
	"first/0": free, "first/1": free, "last/0": free, "last/1": free, "nth/2": free, "limit/2": free, "skip/2": free,
	"until/2": free, "while/2": free, "repeat/1": free, "range/1": free, "range/2": free, "range/3": free,
	"isempty/1": free, "any/2": free, "all/2": free,
	"arrays/0": free, "objects/0": free, "iterables/0": free, "booleans/0": free, "numbers/0": free, "strings/0": free,
	"nulls/0": free, "values/0": free, "scalars/0": free, "has/1": free, "in/1": free, "path/1": free,
	"floor/0": free, "ceil/0": free, "round/0": free, "trunc/0": free, "fabs/0": free, "abs/0": free, "sqrt/0": free,

	"keys/0": measured, "length/0": measured, "utf8bytelength/0": measured, "add/0": measured, "reverse/0": measured,
	"tostring/0": measured, "toboolean/0": measured, "tojson/0": measured, "fromjson/0": measured,
	"trim/0": measured, "ltrim/0": measured, "rtrim/0": measured, "explode/0": measured, "implode/0": measured,
	"ascii_downcase/0": measured, "ascii_upcase/0": measured,
	"to_entries/0": measured, "from_entries/0": measured, "with_entries/1": measured, "flatten/0": measured, "walk/1": measured,
	"min/0": measured, "max/0": measured, "sort/0": measured, "unique/0": measured,
	"min_by/1": measured, "max_by/1": measured, "sort_by/1": measured, "group_by/1": measured, "unique_by/1": measured,
	"error/0": measured, "combinations/0": measured, "IN/1": measured, "IN/2": measured,
	"gmtime/0": measured, "mktime/0": measured, "todate/0": measured, "fromdate/0": measured,
	"todateiso8601/0": measured, "fromdateiso8601/0": measured,

	"error/1": valued, "tonumber/0": valued, "transpose/0": valued,
	"join/1": valued, "split/1": valued, "split/2": valued, "splits/1": valued, "splits/2": valued,
	"contains/1": valued, "inside/1": valued, "index/1": valued, "rindex/1": valued, "indices/1": valued,
	"startswith/1": valued, "endswith/1": valued, "ltrimstr/1": valued, "rtrimstr/1": valued, "trimstr/1": valued,
	"test/1": valued, "test/2": valued, "match/1": valued, "match/2": valued, "capture/1": valued, "capture/2": valued,
	"scan/1": valued, "scan/2": valued, "flatten/1": valued, "bsearch/1": valued,
	"strftime/1": valued, "strptime/1": valued, "setpath/2": valued, "delpaths/1": valued,

	"sub/2": replacing, "sub/3": replacing, "gsub/2": replacing, "gsub/3": replacing,

	"map_values/1": pathed, "del/1": pathed, "pick/1": pathed, "paths/0": pathed, "paths/1": pathed,
	"getpath/1": looked,

	"recurse/0": iterating, "map/1": iterating, "any/0": iterating, "any/1": iterating, "all/0": iterating, "all/1": iterating,
	"nth/1": indexing,
}

// textual are the measured builtins that make a text of their input.
//
//nolint:gochecknoglobals // constant table
var textual = map[string]bool{"add": true, "tostring": true, "tojson": true, "implode": true}

// formats are the allowed formats of texts.
//
//nolint:gochecknoglobals // constant table
var formats = map[string]bool{
	"@text": true, "@json": true, "@html": true, "@uri": true, "@csv": true, "@tsv": true, "@sh": true, "@base64": true, "@base64d": true,
}

// refusedFunctions says why a builtin is not allowed that authors may look for. All that stands in neither table is refused, too.
//
//nolint:gochecknoglobals // constant table
var refusedFunctions = map[string]string{
	"localtime": inZone, "strflocaltime": inZone, "date": "use todate",
	"env": ofNode, "$ENV": ofNode, "input": ofNode, "inputs": ofNode, "input_filename": ofNode, "input_line_number": ofNode,
	"debug": ofNode, "stderr": ofNode, "halt": ofNode, "halt_error": ofNode, "modulemeta": ofNode, "get_search_list": ofNode,
	"builtins": ofNode, "$__loc__": ofNode, "$__prog_args": ofNode,
	"nan": noJSON, "infinite": noJSON, "isnan": noJSON, "isinfinite": noJSON,
	"pow": byProcessor, "log": byProcessor, "log2": byProcessor, "log10": byProcessor, "exp": byProcessor, "exp2": byProcessor,
	"exp10": byProcessor, "sin": byProcessor, "cos": byProcessor, "tan": byProcessor,
}

const (
	inZone      = "it uses the time zone of the node"
	ofNode      = "it reaches what belongs to the node"
	noJSON      = "its values have no JSON"
	byProcessor = "its last digit differs between processors"
)
