// Datasets as graphs: each can be written as the nodes that made it and those below it, with the
// functions that they call, so that another process can make an equal one.
#ifndef LEAT_OPS_DATASET_DATASET_GRAPH_CPU_H_
#define LEAT_OPS_DATASET_DATASET_GRAPH_CPU_H_

#include "ops/dataset/dataset_cpu.h"

// What to do with a pipeline that another process may run otherwise, since its functions use what
// is outside them: variables, tables, random numbers. The numbers are TensorFlow's
// (ExternalStatePolicy).
typedef enum leat_external_state_e {
  LEAT_EXTERNAL_STATE_WARN,  // to the log
  LEAT_EXTERNAL_STATE_IGNORE,
  LEAT_EXTERNAL_STATE_FAIL,
} leat_external_state_t;

// Appends an encoded GraphDef of |dataset|, as TensorFlow writes it: the node "dataset", of the op
// _Retval, takes the variant that holds the dataset. Variables and tables that its functions
// captured are written with what they hold now. |c| is of the kernel that writes.
// FAILED_PRECONDITION outside a session, for functions of another session, and for those that use
// what is outside them where |external_state| is FAIL; UNIMPLEMENTED for an input that cannot be
// written (a variant that is no dataset) and for a dataset that no node made.
LEAT_MUST_USE leat_status_t leat_dataset_to_graph(leat_kernel_context_t* c, leat_dataset_t* dataset,
                                                  leat_external_state_t external_state,
                                                  leat_string_builder_t* out_graph_def);

#endif  // LEAT_OPS_DATASET_DATASET_GRAPH_CPU_H_
