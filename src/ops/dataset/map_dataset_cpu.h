// The map dataset, for the kernels that are built on it: map_dataset_cpu.c and batch_dataset_cpu.c.
#ifndef LEAT_OPS_DATASET_MAP_DATASET_CPU_H_
#define LEAT_OPS_DATASET_MAP_DATASET_CPU_H_

#include "ops/dataset/dataset_cpu.h"

// The |create| of kernels with a function "f"; the kernel's state is a leat_dataset_function_t.
LEAT_MUST_USE leat_status_t leat_map_dataset_kernel_create(leat_kernel_creation_t* c, void* state);
// Makes the dataset of what the kernel's function returns for each element of the dataset at input
// 0. The arguments are those of leat_dataset_create_calling.
LEAT_MUST_USE leat_status_t leat_map_dataset_create(leat_kernel_context_t* c,
                                                    leat_element_spec_t* spec, int captured_count,
                                                    leat_dataset_t** out_dataset);

#endif  // LEAT_OPS_DATASET_MAP_DATASET_CPU_H_
