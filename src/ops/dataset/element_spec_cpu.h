// What the elements of a dataset are like: a type and as much of a shape as is known for each
// component. Made once, then shared and only read.
#ifndef LEAT_OPS_DATASET_ELEMENT_SPEC_CPU_H_
#define LEAT_OPS_DATASET_ELEMENT_SPEC_CPU_H_

#include "kernel/kernel.h"

typedef struct leat_element_spec_s {
  leat_reference_count_t references;
  leat_arena_t arena;
  int count;
  uint8_t* types;
  leat_partial_shape_t* shapes;
} leat_element_spec_t;

// |count| components, to be set before anybody else sees it.
LEAT_MUST_USE leat_status_t leat_element_spec_create(int count, leat_element_spec_t** out_spec);
LEAT_MUST_USE leat_status_t leat_element_spec_set(leat_element_spec_t* spec, int index, int dtype,
                                                  leat_partial_shape_t shape);
LEAT_MUST_USE leat_status_t leat_element_spec_of_scalar(int dtype, leat_element_spec_t** out_spec);
// Of a node's attributes |types_name| and output_shapes; the shapes are unknown where a list that
// may be empty is.
LEAT_MUST_USE leat_status_t leat_element_spec_of_attrs(leat_kernel_creation_t* c,
                                                       const char* types_name,
                                                       leat_element_spec_t** out_spec);
// Of elements of either of two kinds, of the same types (INVALID_ARGUMENT otherwise).
LEAT_MUST_USE leat_status_t leat_element_spec_common(const leat_element_spec_t* a,
                                                     const leat_element_spec_t* b,
                                                     leat_element_spec_t** out_spec);
leat_element_spec_t* leat_element_spec_retain(leat_element_spec_t* spec);
void leat_element_spec_release(leat_element_spec_t* spec);  // NULL is allowed

// What is known of a row of a tensor of that shape.
leat_partial_shape_t leat_element_row_shape(leat_partial_shape_t shape);
// Of the rows of such elements.
LEAT_MUST_USE leat_status_t leat_element_spec_of_rows(const leat_element_spec_t* batches,
                                                      leat_element_spec_t** out_spec);

// INVALID_ARGUMENT where |received| cannot be what |expected| states.
LEAT_MUST_USE leat_status_t leat_element_spec_check_types(const leat_element_spec_t* expected,
                                                          const leat_element_spec_t* received);
LEAT_MUST_USE leat_status_t leat_element_spec_check_shapes(const leat_element_spec_t* expected,
                                                           const leat_element_spec_t* received);
LEAT_MUST_USE leat_status_t leat_element_spec_check(const leat_element_spec_t* expected,
                                                    const leat_element_spec_t* received);
// The same for an element's |count| tensors.
LEAT_MUST_USE leat_status_t leat_element_spec_check_element(const leat_element_spec_t* expected,
                                                            const leat_tensor_t* tensors,
                                                            int count);

// State of kernels that need nothing else.
typedef struct leat_element_spec_state_s {
  leat_element_spec_t* spec;
} leat_element_spec_state_t;
LEAT_MUST_USE leat_status_t leat_element_spec_state_create(leat_kernel_creation_t* c, void* state);
void leat_element_spec_state_destroy(void* state);

#endif  // LEAT_OPS_DATASET_ELEMENT_SPEC_CPU_H_
