// Datasets of a function of each element, for the kernels that have one.
#ifndef LEAT_OPS_DATASET_MAP_DATASET_CPU_H_
#define LEAT_OPS_DATASET_MAP_DATASET_CPU_H_

#include "ops/dataset/dataset_cpu.h"

// |create| of kernels with a function "f": the state is a leat_dataset_function_t.
LEAT_MUST_USE leat_status_t leat_map_dataset_kernel_create(leat_kernel_creation_t* c, void* state);
// The function of each element of input 0 (leat_dataset_create_calling).
LEAT_MUST_USE leat_status_t leat_map_dataset_create(leat_kernel_context_t* c,
                                                    leat_element_spec_t* spec, int captured_count,
                                                    leat_dataset_t** out_dataset);

#endif  // LEAT_OPS_DATASET_MAP_DATASET_CPU_H_
