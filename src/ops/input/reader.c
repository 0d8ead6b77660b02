// Definitions of the readers and of the ops that use them. A reader is a resource that turns work
// units, mostly file names, which it takes from a queue, into records, each a key and a value. Ops
// make a reader, read one or several records, ask how far it is, and save, restore and reset it.
// ReadFile, WriteFile, MatchingFiles and ImmutableConst need no reader: they read and write whole
// files, find files by patterns, and give a tensor whose bytes are in a file.
//
// An op without V2 has its reader as a reference to two strings, the way TensorFlow did before it
// had resource handles; the V2 forms have a handle, and are stateful. The kernels are in
// reader_cpu.c, reader_access_cpu.c and file_cpu.c.
#include "graph/gradient.h"
#include "graph/inference/inference.h"
#include "ops/op_rows.h"

// ---- Readers ------------------------------------------------------------------------------------

#define NAMES "container: string = ''; shared_name: string = ''"

#define READER(op_name, op_outputs, op_attrs, op_shape, words)                                \
  .name = op_name, .outputs = op_outputs, .attrs = op_attrs, .flags = LEAT_OP_STATEFUL,       \
  .shape = op_shape, .gradient = leat_gradient_none, .doc = words

#define READER_V1(op_name, op_attrs, words) \
  READER(op_name, "reader_handle: Ref(string)", op_attrs, leat_shape_two_strings, words)
#define READER_V2(op_name, op_attrs, words) \
  READER(op_name "V2", "reader_handle: resource", op_attrs, leat_shape_scalar_output, words)
#define DEPRECATED(op_name) \
  .deprecated_since = 26, .deprecation = "Use " op_name "V2"

#define FIXED_ATTRS                                                                           \
  "header_bytes: int = 0; record_bytes: int; footer_bytes: int = 0; hop_bytes: int = 0; " NAMES
#define LINE_ATTRS "skip_header_lines: int = 0; " NAMES
#define RECORD_ATTRS NAMES "; compression_type: string = ''"

#define WHOLE "A reader that makes a record of each file."
#define LINES "A reader that makes a record of each line of files."
#define FIXED "A reader that makes records of a fixed size of files."
#define RECORDS "A reader of the records in TFRecord files."
#define IDENTITY "A reader that makes its work units into records."

// ---- Reading ------------------------------------------------------------------------------------

static leat_status_t scalars_shape(leat_inference_t* c) {
  for (int i = 0; i < leat_inference_input_count(c); ++i) {
    LEAT_RETURN_IF_ERROR(leat_shape_check_scalar(c, i));
  }
  return leat_shape_scalar_output(c);
}

static leat_status_t set_vectors(leat_inference_t* c) {
  leat_partial_shape_t vector;
  LEAT_RETURN_IF_ERROR(leat_inference_unknown_of_rank(c, 1, &vector));
  leat_inference_set_output(c, 0, vector);
  leat_inference_set_output(c, 1, vector);
  return leat_ok_status();
}

static leat_status_t read_up_to_shape(leat_inference_t* c) {
  leat_partial_shape_t vector;
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, 0), 1, &vector));
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, 1), 1, &vector));
  LEAT_RETURN_IF_ERROR(leat_shape_check_scalar(c, 2));
  return set_vectors(c);
}

static leat_status_t read_up_to_v2_shape(leat_inference_t* c) {
  for (int i = 0; i < 3; ++i) LEAT_RETURN_IF_ERROR(leat_shape_check_scalar(c, i));
  return set_vectors(c);
}

static leat_status_t restore_shape(leat_inference_t* c) {
  LEAT_RETURN_IF_ERROR(leat_shape_check_two_strings(c, 0));
  return leat_shape_check_scalar(c, 1);
}

// Defines an op and its V2. The op takes the reader as a reference to strings, the V2 as a resource
// handle; |more| and |more_v2| are their other inputs.
#define BOTH(op_name, more, more_v2, op_outputs, op_shape, op_v2_shape, words)                \
  {.name = op_name,                                                                           \
   .inputs = "reader_handle: Ref(string)" more,                                               \
   .outputs = op_outputs,                                                                     \
   .shape = op_shape,                                                                         \
   .gradient = leat_gradient_none,                                                            \
   .doc = words},                                                                             \
  {                                                                                           \
    .name = op_name "V2", .inputs = "reader_handle: resource" more_v2, .outputs = op_outputs, \
    .flags = LEAT_OP_STATEFUL, .shape = op_v2_shape, .gradient = leat_gradient_none,          \
    .doc = words                                                                              \
  }

// ---- Whole files --------------------------------------------------------------------------------

static leat_status_t read_file_shape(leat_inference_t* c) {
  LEAT_RETURN_IF_ERROR(leat_shape_check_scalar(c, 0));
  return leat_shape_scalar_output(c);
}

static leat_status_t write_file_shape(leat_inference_t* c) {
  LEAT_RETURN_IF_ERROR(leat_shape_check_scalar(c, 0));
  return leat_shape_check_scalar(c, 1);
}

static leat_status_t match_shape(leat_inference_t* c) {
  leat_partial_shape_t vector;
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank_at_most(c, leat_inference_input(c, 0), 1));
  LEAT_RETURN_IF_ERROR(leat_inference_unknown_of_rank(c, 1, &vector));
  leat_inference_set_output(c, 0, vector);
  return leat_ok_status();
}

const leat_op_row_t leat_reader_ops[] = {
    {READER_V1("WholeFileReader", NAMES, WHOLE)},
    {READER_V2("WholeFileReader", NAMES, WHOLE)},
    {READER_V1("TextLineReader", LINE_ATTRS, LINES), DEPRECATED("TextLineReader")},
    {READER_V2("TextLineReader", LINE_ATTRS, LINES)},
    {READER_V1("FixedLengthRecordReader", FIXED_ATTRS, FIXED),
     DEPRECATED("FixedLengthRecordReader")},
    {READER_V2("FixedLengthRecordReader", FIXED_ATTRS "; encoding: string = ''", FIXED)},
    {READER_V1("TFRecordReader", RECORD_ATTRS, RECORDS), DEPRECATED("TFRecordReader")},
    {READER_V2("TFRecordReader", RECORD_ATTRS, RECORDS)},
    {READER_V1("IdentityReader", NAMES, IDENTITY), DEPRECATED("IdentityReader")},
    {READER_V2("IdentityReader", NAMES, IDENTITY)},
    {READER_V1("LMDBReader", NAMES, "Was removed from TensorFlow; only its name is left.")},
    BOTH("ReaderRead", "; queue_handle: Ref(string)", "; queue_handle: resource",
         "key: string; value: string", leat_shape_of_two_strings, scalars_shape,
         "The next record; the queue gives more work where it is needed."),
    BOTH("ReaderReadUpTo", "; queue_handle: Ref(string); num_records: int64",
         "; queue_handle: resource; num_records: int64", "keys: string; values: string",
         read_up_to_shape, read_up_to_v2_shape,
         "The next records, but none of a second work unit once there is one."),
    BOTH("ReaderNumRecordsProduced", "", "", "records_produced: int64", leat_shape_of_two_strings,
         scalars_shape, "How many records were read."),
    BOTH("ReaderNumWorkUnitsCompleted", "", "", "units_completed: int64",
         leat_shape_of_two_strings, scalars_shape, "How many work units were read to the end."),
    BOTH("ReaderSerializeState", "", "", "state: string", leat_shape_of_two_strings,
         scalars_shape, "The reader's state, for ReaderRestoreState."),
    BOTH("ReaderRestoreState", "; state: string", "; state: string", NULL, restore_shape,
         scalars_shape, "The reader goes on from that state."),
    BOTH("ReaderReset", "", "", NULL, leat_shape_of_two_strings, scalars_shape,
         "The reader starts anew."),
    {.name = "RecordInput",
     .outputs = "records: string",
     .attrs = "file_pattern: string; file_random_seed: int = 301; "
              "file_shuffle_shift_ratio: float = 0; file_buffer_size: int = 10000; "
              "file_parallelism: int = 16; batch_size: int = 32; compression_type: string = ''",
     .flags = LEAT_OP_STATEFUL,
     .shape = leat_shape_unknown,
     .doc = "The next records of files, in random order, epoch after epoch."},
    {.name = "ReadFile",
     .inputs = "filename: string",
     .outputs = "contents: string",
     .shape = read_file_shape,
     .gradient = leat_gradient_none,
     .doc = "All bytes of a file."},
    {.name = "WriteFile",
     .inputs = "filename: string; contents: string",
     .flags = LEAT_OP_STATEFUL,
     .shape = write_file_shape,
     .gradient = leat_gradient_none,
     .doc = "Makes a file, and its directories, of these bytes."},
    {.name = "MatchingFiles",
     .inputs = "pattern: string",
     .outputs = "filenames: string",
     .shape = match_shape,
     .gradient = leat_gradient_none,
     .doc = "The names of the files that match one of the patterns, sorted."},
    {.name = "FileSystemSetConfiguration",
     .inputs = "scheme: string; key: string; value: string",
     .flags = LEAT_OP_STATEFUL,
     .shape = leat_shape_none,
     .contract = LEAT_RULES(LEAT_RULE_SCALAR(0), LEAT_RULE_SCALAR(1), LEAT_RULE_SCALAR(2)),
     .doc = "Sets an option of the file system that serves a scheme."},
    {.name = "ImmutableConst",
     .outputs = "tensor: dtype",
     .attrs = "dtype: type; shape: shape; memory_region_name: string",
     .shape = leat_shape_from_attr,
     .doc = "The tensor whose bytes a file begins with."},
    LEAT_OP_ROWS_END,
};
