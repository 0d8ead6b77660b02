// Lists the sources of the dataset family: tf.data's input pipelines as values in the graph, and
// the iterators over them.
#include "ops/family.h"

#define LEAT_DATASET_SOURCES(X) \
  X(tensor_dataset)             \
  X(sequence_dataset)           \
  X(map_dataset)                \
  X(interleave_dataset)         \
  X(batch_dataset)              \
  X(window_dataset)             \
  X(group_dataset)              \
  X(scan_dataset)               \
  X(choice_dataset)             \
  X(random_dataset)             \
  X(seed_generator)             \
  X(shuffle_dataset)            \
  X(cache_dataset)              \
  X(file_dataset)               \
  X(parse_dataset)              \
  X(iterator)                   \
  X(one_shot_iterator)          \
  X(dataset_reader)

LEAT_OP_FAMILY(dataset, LEAT_DATASET_SOURCES)
