// Definitions of the readers: resources that turn work units, mostly file names, which they take
// from a queue, into records, each a key and a value. An op without V2 gives its reader as a
// reference to two strings, the way TensorFlow did before it had resource handles.
#include "graph/gradient.h"
#include "graph/inference/handle_shape.h"
#include "ops/op_rows.h"

#define NAMES "container: string = ''; shared_name: string = ''"

#define READER(op_name, op_outputs, op_attrs, op_shape, words)                                \
  .name = op_name, .outputs = op_outputs, .attrs = op_attrs, .flags = LEAT_OP_STATEFUL,       \
  .shape = op_shape, .gradient = leat_gradient_none, .doc = words

#define V1(op_name, op_attrs, words) \
  READER(op_name, "reader_handle: Ref(string)", op_attrs, leat_shape_two_strings, words)
#define V2(op_name, op_attrs, words) \
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

const leat_op_row_t leat_reader_ops[] = {
    {V1("WholeFileReader", NAMES, WHOLE)},
    {V2("WholeFileReader", NAMES, WHOLE)},
    {V1("TextLineReader", LINE_ATTRS, LINES), DEPRECATED("TextLineReader")},
    {V2("TextLineReader", LINE_ATTRS, LINES)},
    {V1("FixedLengthRecordReader", FIXED_ATTRS, FIXED), DEPRECATED("FixedLengthRecordReader")},
    {V2("FixedLengthRecordReader", FIXED_ATTRS "; encoding: string = ''", FIXED)},
    {V1("TFRecordReader", RECORD_ATTRS, RECORDS), DEPRECATED("TFRecordReader")},
    {V2("TFRecordReader", RECORD_ATTRS, RECORDS)},
    {V1("IdentityReader", NAMES, IDENTITY), DEPRECATED("IdentityReader")},
    {V2("IdentityReader", NAMES, IDENTITY)},
    {V1("LMDBReader", NAMES, "Was removed from TensorFlow; only its name is left.")},
    LEAT_OP_ROWS_END,
};
