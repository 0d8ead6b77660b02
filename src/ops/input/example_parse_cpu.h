// Parses Example and SequenceExample messages into tensors, a batch at a time. Two passes go over
// the examples, each in parallel on the step's pool. The scan finds where each wanted feature lies
// in the serialized bytes and counts its values; then the tensors are allocated, and the second
// pass copies the values. Two passes are faster than growing buffers, because a message is read
// without decoding it into structs:
//
//     serialized ──scan──▶ slots [examples][features] ──sum──▶ tensors ──fill──▶ values
//
// A caller (example_cpu.c, parse_dataset_cpu.c) sets the inputs of a leat_example_parse_t and of
// one spec for each wanted feature, calls leat_example_parse, which blocks until all examples are
// done, and moves the results out of the specs.
#ifndef LEAT_OPS_INPUT_EXAMPLE_PARSE_CPU_H_
#define LEAT_OPS_INPUT_EXAMPLE_PARSE_CPU_H_

#include "base/arena.h"
#include "base/thread_pool.h"
#include "tensor/tensor.h"

// How a feature becomes tensors. Dense: one tensor, in which every example has equally many values.
// Sparse: a SparseTensor, for numbers of values that differ. Ragged: the values of all examples in
// a row, and the places where each begins.
typedef enum leat_feature_kind_e {
  LEAT_FEATURE_DENSE,
  LEAT_FEATURE_SPARSE,
  LEAT_FEATURE_RAGGED,
} leat_feature_kind_t;

// A wanted feature, by its name, and what comes of it. The fields up to |may_be_missing| are set by
// the caller and borrowed.
typedef struct leat_feature_spec_s {
  leat_string_view_t key;
  leat_feature_kind_t kind;
  int dtype;         // string, float or int64
  int splits_dtype;  // ragged: int32 or int64
  // Dense: the shape of an example's values (in feature lists: of a row's values). The first size
  // may be unknown, and then |fallback| is one value, which pads shorter examples.
  leat_partial_shape_t shape;
  // dense: for examples that lack the feature; empty: no example may lack it
  const leat_tensor_t* fallback;
  // dense feature lists: an example that lacks the list has an empty one
  bool may_be_missing;

  // The results, which the parser allocates.
  leat_tensor_t values;
  leat_tensor_t indices;       // sparse: [values, 2 or 3] int64
  // sparse: the dense shape; ragged: row splits; dense feature lists: their lengths
  leat_tensor_t extent;
  leat_tensor_t inner_splits;  // ragged feature lists: the splits of rows
} leat_feature_spec_t;

// What an Example message has: how many features, wanted or not, and how many values of those that
// are wanted.
typedef struct leat_example_counts_s {
  int64_t features, values;
} leat_example_counts_t;

// One call. Everything is the caller's and must live until the call returns. Of a batch with
// several errors, the earliest example's is reported.
typedef struct leat_example_parse_s {
  const leat_tensor_t* serialized;  // scalar or vector of strings
  const leat_tensor_t* names;       // of the messages, for errors; NULL or empty: none
  bool is_sequence;  // SequenceExample messages, else Example
  leat_feature_spec_t* features;  // those of an Example, or of a SequenceExample's context
  int feature_count;
  leat_feature_spec_t* lists;  // feature lists of a SequenceExample
  int list_count;
  leat_example_counts_t* counts;  // [messages] zeroed, to be counted; NULL: nobody asks
  leat_buffer_source_t* memory;
  leat_thread_pool_t* pool;  // NULL: everything runs on the caller's thread
} leat_example_parse_t;

// Fills the results of |features| and |lists|; after a failure some may be filled. INVALID_ARGUMENT
// where a message is malformed or a feature is not as wanted; the first such example in the batch
// is reported. The results are moved out or freed with leat_example_parse_release.
LEAT_MUST_USE leat_status_t leat_example_parse(leat_example_parse_t* parse);
// Frees the results that were not moved out of the specs.
void leat_example_parse_release(leat_example_parse_t* parse);

// ---- Between the scan and the fill --------------------------------------------------------------

// What the scan found of one feature in one example.
typedef struct leat_feature_slot_s {
  leat_string_view_t bytes;  // the encoded Feature or FeatureList message
  int64_t count;             // values
  int64_t rows;              // rows of a feature list
  int64_t columns;           // values in its longest row
  int64_t offset;            // values of this feature in the examples before this one
  int64_t row_offset;  // rows of this feature list in the examples before this one
  bool present;
} leat_feature_slot_t;

// The state of one call, between the two passes.
typedef struct leat_example_slots_s {
  leat_example_parse_t* parse;
  int64_t example_count;
  bool is_batch;  // the serialized messages are a vector
  int width;                   // wanted features and lists; the features come first
  leat_feature_slot_t* slots;  // [example_count][width]
  leat_mutex_t mutex;          // guards the fields below
  leat_status_t status;        // of the earliest example that failed so far
  int64_t failed;  // the number of that example
} leat_example_slots_t;

static inline leat_feature_slot_t* leat_example_slot(const leat_example_slots_t* s, int64_t example,
                                                     int index) {
  return &s->slots[example * s->width + index];
}
// Records |status| if it is an error of an earlier example than the one recorded; takes |status|.
// Thread-safe. The result does not depend on which thread fails first.
void leat_example_fail(leat_example_slots_t* s, int64_t example, leat_status_t status);
// The name of an example in errors.
leat_string_view_t leat_example_name(const leat_example_slots_t* s, int64_t example);
// Sets all slots but for the offsets.
LEAT_MUST_USE leat_status_t leat_example_scan(leat_example_slots_t* s);
// Sets the offsets, makes the results and copies the values into them.
LEAT_MUST_USE leat_status_t leat_example_fill(leat_example_slots_t* s);

#endif  // LEAT_OPS_INPUT_EXAMPLE_PARSE_CPU_H_
