// What the master keeps of a compiled signature: made by master.c, run by step.c.
#ifndef LEAT_MASTER_COMPILED_H_
#define LEAT_MASTER_COMPILED_H_

#include "master/master.h"

typedef struct leat_compiled_partition_s {
  uint64_t handle;
  bool registered;
  int* feed_indices;  // NULL: all, in order
  int feed_count;
  int* fetch_indices;
  int fetch_count;
  leat_rewrite_t kept;  // a copy of its graph, or none
  leat_string_view_t device;
} leat_compiled_partition_t;

struct leat_compiled_s {
  leat_allocator_t* allocator;
  leat_worker_t* worker;
  leat_compiled_partition_t* partitions;
  int partition_count;
  int feed_count;
  int fetch_count;
  bool has_flow;       // control flow: values may be dead
  bool leaves_traces;  // in the step's container: every step is cleaned up after
};

#endif  // LEAT_MASTER_COMPILED_H_
