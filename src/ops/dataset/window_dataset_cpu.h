// Datasets of elements that were read already.
#ifndef LEAT_OPS_DATASET_WINDOW_DATASET_CPU_H_
#define LEAT_OPS_DATASET_WINDOW_DATASET_CPU_H_

#include "ops/dataset/dataset_cpu.h"

// |count| elements; their components, |spec|'s each, are for the caller to set in |tensors|. |spec|
// is moved in, also on failure.
LEAT_MUST_USE leat_status_t leat_window_create(leat_element_spec_t* spec, int64_t count,
                                               leat_dataset_t** out_dataset);

#endif  // LEAT_OPS_DATASET_WINDOW_DATASET_CPU_H_
