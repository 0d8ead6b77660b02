// A dataset of elements that lie in memory, for the kernels that collect elements and for those
// whose inputs are the only element.
#ifndef LEAT_OPS_DATASET_WINDOW_DATASET_CPU_H_
#define LEAT_OPS_DATASET_WINDOW_DATASET_CPU_H_

#include "ops/dataset/dataset_cpu.h"

// Makes a dataset of |count| elements. The caller sets its |tensors|: the components of one element
// after those of the other, as |spec| says. |spec| is moved in, also on failure. RESOURCE_EXHAUSTED
// when there are more tensors than an int can count.
LEAT_MUST_USE leat_status_t leat_window_create(leat_element_spec_t* spec, int64_t count,
                                               leat_dataset_t** out_dataset);

#endif  // LEAT_OPS_DATASET_WINDOW_DATASET_CPU_H_
