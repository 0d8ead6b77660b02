// A compiled signature, as master.c makes it and step.c runs it. It is immutable once it is made,
// so that any number of steps may read it at once.
#ifndef LEAT_MASTER_COMPILED_H_
#define LEAT_MASTER_COMPILED_H_

#include "master/compile_record.h"

typedef struct leat_compiled_partition_s {
  leat_worker_t* worker;
  uint64_t handle;
  bool registered;
  int* feed_indices;  // places in the signature's feeds; NULL: all of them, in order
  int feed_count;
  int* fetch_indices;  // places in the signature's fetches; NULL: all of them, in order
  int fetch_count;
  leat_rewrite_t kept;  // a copy of the graph for those who look on; no graph: none was kept
  leat_string_view_t device;
} leat_compiled_partition_t;

struct leat_compiled_s {
  leat_allocator_t* allocator;
  leat_worker_t** workers;  // those that have partitions, each once
  int worker_count;
  leat_compiled_partition_t* partitions;
  int partition_count;
  leat_compile_record_t record;  // holds nothing unless the options keep partitions
  int feed_count;
  int fetch_count;
  bool has_flow;       // has control flow, so values may be dead
  bool spans_tasks;    // has partitions on other tasks than the master's own
  int64_t graph_key;   // by which steps are numbered: a hash of the keys of its collectives, which
                       // is TensorFlow's; 0: it has none, or the master's options have no numbers
  leat_worker_t* keeps_collectives;  // has all of them, and is the master's own; or NULL
  bool keeps_state;    // has ops that put resources into the step's container, calls, or
                       // collectives: the workers must clean up after every step, as they must
                       // where it spans tasks
};

#endif  // LEAT_MASTER_COMPILED_H_
