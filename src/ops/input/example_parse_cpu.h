// Parsing Example and SequenceExample messages into tensors, many at a time. First all are scanned:
// where each wanted feature lies and how many values it has; then tensors of the right size are
// filled. Both go over the examples in parallel.
#ifndef LEAT_OPS_INPUT_EXAMPLE_PARSE_CPU_H_
#define LEAT_OPS_INPUT_EXAMPLE_PARSE_CPU_H_

#include "base/arena.h"
#include "base/thread_pool.h"
#include "tensor/tensor.h"

typedef enum leat_feature_kind_e {
  LEAT_FEATURE_DENSE,
  LEAT_FEATURE_SPARSE,
  LEAT_FEATURE_RAGGED,
} leat_feature_kind_t;

// A feature that is wanted, by its name.
typedef struct leat_feature_spec_s {
  leat_string_view_t key;
  leat_feature_kind_t kind;
  int dtype;         // string, float or int64
  int splits_dtype;  // ragged: int32 or int64
  // Dense: the shape of an example's values (of a row, in feature lists). Its first dim may be
  // unknown: then |fallback|, one value, fills what examples leave.
  leat_partial_shape_t shape;
  const leat_tensor_t* fallback;  // dense: for examples without the feature; empty: none may be
  bool may_be_missing;            // dense feature lists

  // What comes out.
  leat_tensor_t values;
  leat_tensor_t indices;       // sparse
  leat_tensor_t extent;        // sparse: shape; ragged: splits; dense feature lists: row counts
  leat_tensor_t inner_splits;  // ragged feature lists
} leat_feature_spec_t;

typedef struct leat_example_parse_s {
  const leat_tensor_t* serialized;  // strings, a scalar or a vector
  const leat_tensor_t* names;       // for messages; NULL or empty: none
  bool is_sequence;
  leat_feature_spec_t* features;  // of Example, of SequenceExample's context
  int feature_count;
  leat_feature_spec_t* lists;  // of SequenceExample
  int list_count;
  leat_buffer_source_t* memory;
  leat_thread_pool_t* pool;  // NULL: none
} leat_example_parse_t;

// Sets what comes out, also in part when it fails. INVALID_ARGUMENT where a message is malformed or
// not as it is wanted.
LEAT_MUST_USE leat_status_t leat_example_parse(leat_example_parse_t* parse);
void leat_example_parse_release(leat_example_parse_t* parse);  // what came out

// ---- Between scanning and filling ---------------------------------------------------------------

// What one example has of one feature.
typedef struct leat_feature_slot_s {
  leat_string_view_t bytes;  // the Feature or FeatureList message
  int64_t count;             // of values
  int64_t rows;              // of a feature list
  int64_t columns;           // of its longest row
  int64_t offset;            // of the first value and row among all examples'
  int64_t row_offset;
  bool present;
} leat_feature_slot_t;

typedef struct leat_example_slots_s {
  leat_example_parse_t* parse;
  int64_t example_count;
  bool is_batch;
  int width;                   // features, then lists
  leat_feature_slot_t* slots;  // [example_count][width]
  leat_mutex_t mutex;          // keeps what follows
  leat_status_t status;        // of the first example that failed
  int64_t failed;
} leat_example_slots_t;

static inline leat_feature_slot_t* leat_example_slot(const leat_example_slots_t* s, int64_t example,
                                                     int index) {
  return &s->slots[example * s->width + index];
}
// Keeps |status|, if it is an error of an earlier example than those known.
void leat_example_fail(leat_example_slots_t* s, int64_t example, leat_status_t status);
// "Name: x" of an example, for messages.
leat_string_view_t leat_example_name(const leat_example_slots_t* s, int64_t example);
LEAT_MUST_USE leat_status_t leat_example_scan(leat_example_slots_t* s);
LEAT_MUST_USE leat_status_t leat_example_fill(leat_example_slots_t* s);

#endif  // LEAT_OPS_INPUT_EXAMPLE_PARSE_CPU_H_
