// Definitions of the ops that use a reader: reading one or several records, asking how far it is,
// and saving, restoring and resetting it.
#include "graph/gradient.h"
#include "graph/inference/handle_shape.h"
#include "ops/op_rows.h"

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

const leat_op_row_t leat_reader_access_ops[] = {
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
    LEAT_OP_ROWS_END,
};
