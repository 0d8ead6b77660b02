// Definitions of the ops on characters of Unicode, in encodings that attributes name; their kernels
// are in unicode_cpu.c and unicode_script_cpu.c. A ragged tensor is two outputs here: the
// characters of all strings in one vector, and row_splits [n + 1], which says where those of each
// string begin. How many characters there are is known only when the op runs, so inference gives
// the rank alone.
//
//   UnicodeTranscode            strings -> the same texts in another encoding
//   UnicodeDecode               strings [n] -> the characters of each as numbers, a ragged tensor
//   UnicodeDecodeWithOffsets    the same, and at which byte of its string each character begins
//   UnicodeEncode               the numbers of a ragged tensor -> a string for each row
//   UnicodeScript               characters as numbers -> the numbers of their scripts
//
// What is no character is an error ("strict"), replaced by a character, or left out ("ignore").
#include "graph/inference/inference.h"
#include "ops/op_rows.h"

// row_splits [n + 1], a vector of the characters.
static leat_status_t decode_shape(leat_inference_t* c) {
  leat_partial_shape_t splits, characters, input = leat_inference_input(c, 0);
  int64_t count = input.rank < 0 ? LEAT_DIM_UNKNOWN : 1;
  for (int d = 0; d < input.rank && count != LEAT_DIM_UNKNOWN; ++d) {
    int64_t size = input.dims[d];
    if (size == LEAT_DIM_UNKNOWN || __builtin_mul_overflow(count, size, &count)) {
      count = LEAT_DIM_UNKNOWN;
    }
  }
  int64_t rows = count == LEAT_DIM_UNKNOWN ? count : count + 1;
  LEAT_RETURN_IF_ERROR(leat_inference_make(c, 1, &rows, &splits));
  leat_inference_set_output(c, 0, splits);
  LEAT_RETURN_IF_ERROR(leat_inference_unknown_of_rank(c, 1, &characters));
  leat_inference_set_output(c, 1, characters);
  return leat_ok_status();
}

// The same, and a vector of where the characters begin.
static leat_status_t decode_with_offsets_shape(leat_inference_t* c) {
  leat_partial_shape_t starts;
  LEAT_RETURN_IF_ERROR(leat_inference_unknown_of_rank(c, 1, &starts));
  leat_inference_set_output(c, 2, starts);
  return decode_shape(c);
}

static leat_status_t encode_shape(leat_inference_t* c) {
  leat_partial_shape_t output;
  LEAT_RETURN_IF_ERROR(leat_shape_by_pattern(c));
  int64_t splits = leat_partial_shape_dim(leat_inference_input(c, 1), 0);
  if (splits == LEAT_DIM_UNKNOWN) return leat_ok_status();
  if (splits == 0) {
    return leat_make_status(LEAT_INVALID_ARGUMENT, "input_splits is empty, must have an element");
  }
  LEAT_RETURN_IF_ERROR(leat_inference_make(c, 1, (int64_t[]){splits - 1}, &output));
  leat_inference_set_output(c, 0, output);
  return leat_ok_status();
}

#define ERRORS "errors: {'strict', 'replace', 'ignore'} = 'replace'; replacement_char: int = 65533"
#define CONTROLS "; replace_control_characters: bool = false"
#define OUTPUT "output_encoding: {'UTF-8', 'UTF-16-BE', 'UTF-32-BE'}; "
#define SPLITS "; Tsplits: {int32, int64} = int64"

#define NOT_VECTORS "Both the input_tensor and input_splits should be of rank 1."

const leat_op_row_t leat_unicode_ops[] = {
    {.name = "UnicodeTranscode",
     .inputs = "input: string",
     .outputs = "output: string",
     .attrs = "input_encoding: string; " OUTPUT ERRORS CONTROLS,
     .shape = leat_shape_unchanged,
     .doc = "Each text in another encoding."},
    {.name = "UnicodeDecode",
     .inputs = "input: string",
     .outputs = "row_splits: Tsplits; char_values: int32",
     .attrs = "input_encoding: string; " ERRORS CONTROLS SPLITS,
     .shape = decode_shape,
     .doc = "The characters of each text as numbers."},
    {.name = "UnicodeDecodeWithOffsets",
     .inputs = "input: string",
     .outputs = "row_splits: Tsplits; char_values: int32; char_to_byte_starts: int64",
     .attrs = "input_encoding: string; " ERRORS CONTROLS SPLITS,
     .shape = decode_with_offsets_shape,
     .doc = "The characters of each text as numbers, and the byte at which each begins."},
    {.name = "UnicodeEncode",
     .inputs = "input_values: int32; input_splits: Tsplits",
     .outputs = "output: string",
     .attrs = "errors: {'ignore', 'replace', 'strict'} = 'replace'; " OUTPUT
              "replacement_char: int = 65533" SPLITS,
     .shapes = "input_values[_] input_splits[_] -> output[_]",
     .misfits = "input_values: " NOT_VECTORS "; input_splits: " NOT_VECTORS,
     .shape = encode_shape,
     .doc = "A text of the characters in each row."},
    {.name = "UnicodeScript",
     .inputs = "input: int32",
     .outputs = "output: int32",
     .shape = leat_shape_unchanged,
     .doc = "The script of each character, by the numbers of ICU; -1 for what is none."},
    LEAT_OP_ROWS_END,
};
