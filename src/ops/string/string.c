// Definitions of the ops on tensors of strings. Most work element by element, and their output has
// the shape of their input; those that do not are
//
//   Substr, StringJoin           broadcast their inputs
//   ReduceJoin                   joins along dimensions
//   UnsortedSegmentJoin          joins what has one segment id
//   StringSplit, StringSplitV2   strings [n] -> a sparse matrix with a row of parts for each string
//   StringNGrams                 a ragged tensor -> another one, of runs of neighbours
//   StringFormat                 any tensors -> one string
//   Fingerprint                  data [rows, ...], method [] -> [rows, 8] uint8
//
// Strings are bytes; only the ops with an attribute "unit" or "encoding" look at characters. None
// has a gradient. The kernels are in text_cpu.c, join_cpu.c, string_split_cpu.c, ngrams_cpu.c,
// regex_cpu.c, regex_replace_cpu.c, hash_cpu.c, number_cpu.c, base64_cpu.c and format_cpu.c. Ops
// that change encodings are defined in unicode.c.
#include "graph/gradient.h"
#include "graph/inference/inference.h"
#include "ops/math/reduction.h"
#include "ops/op_rows.h"
#include "ops/string/format.h"

// ---- Parts, lengths and letters -----------------------------------------------------------------

// pos and len must have the same shape, against which the strings are broadcast.
static leat_status_t substr_shape(leat_inference_t* c) {
  leat_partial_shape_t pos = leat_inference_input(c, 1), len = leat_inference_input(c, 2), unused;
  if (len.rank >= 0) LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, pos, len.rank, &unused));
  for (int d = 0; d < pos.rank && len.rank >= 0; ++d) {
    if (pos.dims[d] == len.dims[d]) continue;
    return leat_make_status(LEAT_INVALID_ARGUMENT, "pos and len shapes must match: %s vs. %s",
                            LEAT_PARTIAL_SHAPE_TEXT(pos), LEAT_PARTIAL_SHAPE_TEXT(len));
  }
  return leat_shape_broadcast_binary(c);
}

#define UNIT "unit: {'BYTE', 'UTF8_CHAR'} = 'BYTE'"

// ---- Joining ------------------------------------------------------------------------------------

// Inputs that are not scalars have one shape, which is the output's; scalars count for every
// element.
static leat_status_t join_shape(leat_inference_t* c) {
  leat_partial_shape_t shape = leat_partial_shape_unknown();
  bool all_scalar = true;
  for (int i = 0; i < leat_inference_input_count(c); ++i) {
    leat_partial_shape_t input = leat_inference_input(c, i);
    if (input.rank != 0) all_scalar = false;
    if (input.rank > 0) LEAT_RETURN_IF_ERROR(leat_inference_merge(c, shape, input, &shape));
  }
  leat_inference_set_output(c, 0, all_scalar ? leat_partial_shape_scalar() : shape);
  return leat_ok_status();
}

// Output [num_segments] and the dimensions of the inputs behind those of the ids.
static leat_status_t segment_join_shape(leat_inference_t* c) {
  leat_partial_shape_t inputs = leat_inference_input(c, 0), ids = leat_inference_input(c, 1);
  leat_partial_shape_t rest, segments, output;
  leat_partial_value_t value;
  LEAT_RETURN_IF_ERROR(leat_shape_by_pattern(c));
  LEAT_RETURN_IF_ERROR(leat_inference_input_value(c, 2, &value));
  if (inputs.rank < 0 || ids.rank < 0) return leat_ok_status();
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank_at_least(c, inputs, ids.rank));
  LEAT_RETURN_IF_ERROR(leat_inference_subshape(c, inputs, 0, ids.rank, &rest));
  LEAT_RETURN_IF_ERROR(leat_inference_merge(c, rest, ids, &rest));
  LEAT_RETURN_IF_ERROR(leat_inference_subshape(c, inputs, ids.rank, INT32_MAX, &rest));
  int64_t count = value.rank == 0 && value.count == 1 && value.items[0] >= 0 ? value.items[0]
                                                                             : LEAT_DIM_UNKNOWN;
  LEAT_RETURN_IF_ERROR(leat_inference_make(c, 1, &count, &segments));
  LEAT_RETURN_IF_ERROR(leat_inference_concatenate(c, segments, rest, &output));
  leat_inference_set_output(c, 0, output);
  return leat_ok_status();
}

// ---- Splitting ----------------------------------------------------------------------------------

#define PARTS "indices: int64; values: string; shape: int64"
#define PARTS_SHAPES " -> indices[_, 2] values[_] shape[2]"

// ---- Hashes -------------------------------------------------------------------------------------
// Buckets for embedding tables, and fingerprints of rows.

// The only method has eight bytes; the output's width is known once the method is.
static leat_status_t fingerprint_shape(leat_inference_t* c) {
  leat_partial_shape_t output;
  LEAT_RETURN_IF_ERROR(leat_shape_by_pattern(c));
  const leat_tensor_t* method = leat_inference_input_tensor(c, 1);
  if (!method) return leat_ok_status();
  if (!leat_string_view_equals(leat_tensor_string_at(method, 0), "farmhash64")) {
    return leat_make_status(LEAT_INVALID_ARGUMENT, "Unsupported method: %.*s",
                            LEAT_SV_ARG(leat_tensor_string_at(method, 0)));
  }
  int64_t dims[] = {leat_partial_shape_dim(leat_inference_input(c, 0), 0), 8};
  LEAT_RETURN_IF_ERROR(leat_inference_make(c, 2, dims, &output));
  leat_inference_set_output(c, 0, output);
  return leat_ok_status();
}

#define BUCKETS "num_buckets: int >= 1"

// ---- Templates ----------------------------------------------------------------------------------
// Tensors as text, put into the places of a template.

static leat_status_t format_shape(leat_inference_t* c) {
  int places = leat_format_count(leat_node_attr_string(c->node, "template"),
                                 leat_node_attr_string(c->node, "placeholder"));
  if (places == leat_inference_input_count(c)) return leat_shape_scalar_output(c);
  return leat_make_status(LEAT_INVALID_ARGUMENT,
                          "num placeholders in template and num inputs must match: %d vs. %d",
                          places, leat_inference_input_count(c));
}

const leat_op_row_t leat_string_ops[] = {
    {.name = "Substr",
     .inputs = "input: string; pos: T; len: T",
     .outputs = "output: string",
     .attrs = "T: {int32, int64}; " UNIT,
     .shapes = "pos[...] len[...]",
     .misfits = "len: | pos and len should have the same shape",
     .shape = substr_shape,
     .doc = "Part of each string; a negative position counts from its end."},
    {.name = "StringLength",
     .inputs = "input: string",
     .outputs = "output: int32",
     .attrs = UNIT,
     .shape = leat_shape_unchanged,
     .doc = "The length of each string in bytes or characters."},
    {.name = "StringLower",
     .inputs = "input: string",
     .outputs = "output: string",
     .attrs = "encoding: string = ''",
     .shape = leat_shape_unchanged,
     .doc = "Each string in small letters."},
    {.name = "StringUpper",
     .inputs = "input: string",
     .outputs = "output: string",
     .attrs = "encoding: string = ''",
     .shape = leat_shape_unchanged,
     .doc = "Each string in capital letters."},
    {.name = "StringStrip",
     .inputs = "input: string",
     .outputs = "output: string",
     .shape = leat_shape_unchanged,
     .doc = "Each string without white space at its ends."},
    {.name = "StringJoin",
     .inputs = "inputs: N * string",
     .outputs = "output: string",
     .attrs = "N: int >= 0; separator: string = ''",
     .shape = join_shape,
     .gradient = leat_gradient_none,
     .doc = "Joins strings element by element, with a separator between."},
    {.name = "ReduceJoin",
     .inputs = "inputs: string; reduction_indices: int32",
     .outputs = "output: string",
     .attrs = "keep_dims: bool = false; separator: string = ''",
     .shape = leat_reduction_infer,
     .gradient = leat_gradient_none,
     .doc = "Joins the strings along dimensions, of which the first named runs fastest."},
    {.name = "UnsortedSegmentJoin",
     .inputs = "inputs: string; segment_ids: Tindices; num_segments: Tnumsegments",
     .outputs = "output: string",
     .attrs = "separator: string = ''; Tindices: {int32, int64}; "
              "Tnumsegments: {int32, int64} = int32",
     .shapes = "num_segments[]",
     .misfits = "num_segments: Number of segments must be a scalar",
     .shape = segment_join_shape,
     .doc = "Joins the strings of each segment, in their order."},
    {.name = "StringSplit",
     .inputs = "input: string; delimiter: string",
     .outputs = PARTS,
     .attrs = "skip_empty: bool = true",
     .shapes = "input[_] delimiter[]" PARTS_SHAPES,
     .misfits = "input: input must be a vector, got shape: %; "
                "delimiter: delimiter must be a scalar, got shape: %",
     .gradient = leat_gradient_none,
     .doc = "Each string cut at any byte of the delimiter; an empty one cuts between all bytes."},
    {.name = "StringSplitV2",
     .inputs = "input: string; sep: string",
     .outputs = PARTS,
     .attrs = "maxsplit: int = -1",
     .shapes = "input[_] sep[]" PARTS_SHAPES,
     .misfits = "input: input must be a vector, got shape: %; "
                "sep: sep must be a scalar, got shape: %",
     .doc = "Each string cut at the separator, or at white space when that is empty, as by "
            "Python's str.split."},
    {.name = "StringNGrams",
     .inputs = "data: string; data_splits: Tsplits",
     .outputs = "ngrams: string; ngrams_splits: Tsplits",
     .attrs = "separator: string; ngram_widths: list(int) >= 0; left_pad: string; "
              "right_pad: string; pad_width: int; preserve_short_sequences: bool; "
              "Tsplits: {int32, int64} = int64",
     .shapes = "data[_] data_splits[s] -> ngrams[_] ngrams_splits[s]",
     .doc = "Of each row of a ragged tensor the runs of so many strings, joined by the separator; "
            "beyond its ends lie pads."},
    {.name = "RegexFullMatch",
     .inputs = "input: string; pattern: string",
     .outputs = "output: bool",
     .shapes = "input[...] pattern[] -> output[...]",
     .misfits = "pattern: Pattern must be scalar, but received %",
     .doc = "Whether the pattern matches each whole string."},
    {.name = "StaticRegexFullMatch",
     .inputs = "input: string",
     .outputs = "output: bool",
     .attrs = "pattern: string",
     .shape = leat_shape_unchanged,
     .doc = "Whether the pattern, an attribute, matches each whole string."},
    {.name = "RegexReplace",
     .inputs = "input: string; pattern: string; rewrite: string",
     .outputs = "output: string",
     .attrs = "replace_global: bool = true",
     .shapes = "input[...] pattern[] rewrite[] -> output[...]",
     .misfits = "pattern: Pattern must be scalar, but received %; "
                "rewrite: Rewrite must be scalar, but received %",
     .gradient = leat_gradient_none,
     .doc = "Strings in which what the pattern matches is replaced, everywhere or once."},
    {.name = "StaticRegexReplace",
     .inputs = "input: string",
     .outputs = "output: string",
     .attrs = "pattern: string; rewrite: string; replace_global: bool = true",
     .shape = leat_shape_unchanged,
     .doc = "The same with pattern and rewrite as attributes."},
    {.name = "StringToHashBucketFast",
     .inputs = "input: string",
     .outputs = "output: int64",
     .attrs = BUCKETS,
     .shape = leat_shape_unchanged,
     .gradient = leat_gradient_none,
     .doc = "The bucket of each string's fingerprint."},
    {.name = "StringToHashBucketStrong",
     .inputs = "input: string",
     .outputs = "output: int64",
     .attrs = BUCKETS "; key: list(int)",
     .shape = leat_shape_unchanged,
     .gradient = leat_gradient_none,
     .doc = "The bucket of each string's hash under a secret key."},
    {.name = "StringToHashBucket",
     .inputs = "string_tensor: string",
     .outputs = "output: int64",
     .attrs = BUCKETS,
     .shape = leat_shape_unchanged,
     .gradient = leat_gradient_none,
     .doc = "The bucket of each string's older fingerprint."},
    {.name = "_TensorToHashBucketFast",
     .inputs = "input: T",
     .outputs = "output: int64",
     .attrs = "T: {int8, uint8, int16, uint16, int32, uint32, int64, uint64}; " BUCKETS,
     .shape = leat_shape_unchanged,
     .doc = "The bucket of the fingerprint of each integer's decimal digits."},
    {.name = "Fingerprint",
     .inputs = "data: T; method: string",
     .outputs = "fingerprint: uint8",
     .attrs = "T: type",
     .shapes = "data[n, ...] method[] -> fingerprint[n, _]",
     .misfits = "data: `data` should have at least one dimension: %; "
                "method: `method` should be a scalar string: %",
     .shape = fingerprint_shape,
     .doc = "The eight bytes of the fingerprint of each row."},
    // Numbers as text and text as numbers.
    {.name = "AsString",
     .inputs = "input: T",
     .outputs = "output: string",
     .attrs = "T: {float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, "
              "uint32, uint64, complex64, complex128, bool, variant, string}; "
              "precision: int = -1; scientific: bool = false; shortest: bool = false; "
              "width: int = -1; fill: string = ''",
     .shape = leat_shape_unchanged,
     .gradient = leat_gradient_none,
     .doc = "Each element in decimal, as C's printf writes it."},
    {.name = "StringToNumber",
     .inputs = "string_tensor: string",
     .outputs = "output: out_type",
     .attrs = "out_type: {float, double, int32, int64, uint32, uint64} = float",
     .shape = leat_shape_unchanged,
     .gradient = leat_gradient_none,
     .doc = "The number that each string states, in decimal."},
    {.name = "EncodeBase64",
     .inputs = "input: string",
     .outputs = "output: string",
     .attrs = "pad: bool = false",
     .shape = leat_shape_unchanged,
     .gradient = leat_gradient_none,
     .doc = "The bytes of each string in base64, in the alphabet for file names."},
    {.name = "DecodeBase64",
     .inputs = "input: string",
     .outputs = "output: string",
     .shape = leat_shape_unchanged,
     .gradient = leat_gradient_none,
     .doc = "The bytes that each string in base64 stands for."},
    {.name = "StringFormat",
     .inputs = "inputs: T",
     .outputs = "output: string",
     .attrs = "T: list(type) >= 0; template: string = '%s'; placeholder: string = '%s'; "
              "summarize: int = 3",
     .shape = format_shape,
     .doc = "A template with tensors in words in its places."},
    LEAT_OP_ROWS_END,
};
