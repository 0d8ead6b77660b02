// The sources of a dataset that can be divided into splits, for dynamic sharding. A dispatcher
// counts the splits of each and hands them out; a worker has its sources ask for them. Both find
// the same sources in the same order, TensorFlow's, so that the index names a source.
#ifndef LEAT_DATA_SERVICE_DATASET_SOURCES_H_
#define LEAT_DATA_SERVICE_DATASET_SOURCES_H_

#include "data_service/dataset_graph.h"
#include "graph/op/op.h"

// A dataset that reads another one in many ways has many sources.
#define LEAT_MAX_DATASET_SOURCES 4096

typedef enum leat_dataset_source_kind_e {
  LEAT_SOURCE_NUMBERS,  // RangeDataset: inputs start, stop and step
  LEAT_SOURCE_ROWS,     // TensorSliceDataset: inputs are the components
  LEAT_SOURCE_TENSORS,  // TensorDataset
} leat_dataset_source_kind_t;

typedef struct leat_dataset_source_s {
  leat_dataset_source_kind_t kind;
  const leat_pb_string_list_t* inputs;  // of its node
} leat_dataset_source_t;

typedef struct leat_dataset_sources_s {
  leat_dataset_source_t items[LEAT_MAX_DATASET_SOURCES];
  size_t count;
} leat_dataset_sources_t;

// The name, in a session's resources, of the split source of source |index|.
#define LEAT_SPLIT_SOURCE_NAME_BYTES 32
void leat_split_source_print_name(size_t index, char out_name[LEAT_SPLIT_SOURCE_NAME_BYTES]);

// Finds the sources, which lie in the graph. With |rewrites| each gives way to a _SplitDataset,
// and what reads it to a copy that reads that; what captures one of these datasets, rather than
// read it, keeps the whole. UNIMPLEMENTED, naming the node, for a dataset that cannot be divided,
// as in TensorFlow.
LEAT_MUST_USE leat_status_t leat_dataset_graph_find_sources(leat_dataset_graph_t* graph,
                                                            leat_op_registry_t* ops, bool rewrites,
                                                            leat_dataset_sources_t* out_sources);

#endif  // LEAT_DATA_SERVICE_DATASET_SOURCES_H_
