// Batches of consecutive elements, as the datasets of batch_dataset_cpu.c describe them. The
// iterators are in batch_iterator_cpu.c. A dataset does not change once it is made, but for one
// flag, so that any number of iterators may read it, on any thread.
#ifndef LEAT_OPS_DATASET_BATCH_CPU_H_
#define LEAT_OPS_DATASET_BATCH_CPU_H_

#include "base/sync.h"
#include "ops/dataset/dataset_cpu.h"

typedef struct leat_batch_dataset_s {
  leat_dataset_t base;
  int64_t span;  // elements from the first to the last of a batch
  int64_t stride, shift;
  bool drop_remainder;
  bool keeps_elements;  // a failure takes none of the elements that were collected before
  bool takes_turns;     // tensors[0] holds the sizes of the batches, which are used in turn
  bool padded;  // |tensors| hold one padding value and |padded_shapes| one shape for each component
  leat_element_spec_t* padded_shapes;
  // Whether a full batch was given before, by any iterator, so that there is memory for one.
  _Atomic bool has_been_full;
} leat_batch_dataset_t;

// The kind of these datasets, whose memory is a leat_batch_dataset_t.
extern const leat_dataset_kind_t leat_batch_kind;

#endif  // LEAT_OPS_DATASET_BATCH_CPU_H_
