// What the elements of a dataset are like: for each component a type, and a shape as far as it is
// known. Every dataset has a spec; batches, iterators and functions are checked against it. A spec
// is filled once, by whoever makes it, and then shared by reference counts and only read, from any
// thread.
//
//   leat_element_spec_create(1, &spec);
//   leat_element_spec_set(spec, 0, LEAT_DTYPE_INT64, shape);
//   ... leat_element_spec_release(spec);
//
// Each function that makes a spec returns it with one reference, which is the caller's, and makes
// nothing when it fails.
#ifndef LEAT_OPS_DATASET_ELEMENT_SPEC_CPU_H_
#define LEAT_OPS_DATASET_ELEMENT_SPEC_CPU_H_

#include "kernel/kernel.h"

typedef struct leat_element_spec_s {
  leat_reference_count_t references;
  leat_arena_t arena;
  int count;
  uint8_t* types;  // [count], base types
  leat_partial_shape_t* shapes;  // [count], in |arena|
} leat_element_spec_t;

// Makes a spec of |count| components; each is set with leat_element_spec_set before it is shared.
LEAT_MUST_USE leat_status_t leat_element_spec_create(int count, leat_element_spec_t** out_spec);
// Sets component |index|; the shape's sizes are copied.
LEAT_MUST_USE leat_status_t leat_element_spec_set(leat_element_spec_t* spec, int index, int dtype,
                                                  leat_partial_shape_t shape);
// Makes a spec of one scalar.
LEAT_MUST_USE leat_status_t leat_element_spec_of_scalar(int dtype, leat_element_spec_t** out_spec);
// Makes a spec from a node's attributes |types_name| and output_shapes. Where output_shapes is
// empty, which some ops allow, the shapes are unknown.
LEAT_MUST_USE leat_status_t leat_element_spec_of_attrs(leat_kernel_creation_t* c,
                                                       const char* types_name,
                                                       leat_element_spec_t** out_spec);
// INVALID_ARGUMENT where the node has an attribute "metadata" that is no encoded message; it serves
// no other purpose. The |create| of kernels that read nothing else; leat_element_spec_of_attrs
// calls it too.
LEAT_MUST_USE leat_status_t leat_element_metadata_create(leat_kernel_creation_t* c, void* state);
// Makes the spec that the elements of both |a| and |b| satisfy. INVALID_ARGUMENT when their types
// differ.
LEAT_MUST_USE leat_status_t leat_element_spec_common(const leat_element_spec_t* a,
                                                     const leat_element_spec_t* b,
                                                     leat_element_spec_t** out_spec);
leat_element_spec_t* leat_element_spec_retain(leat_element_spec_t* spec);
void leat_element_spec_release(leat_element_spec_t* spec);  // NULL is allowed

// The shape of a row of a tensor of shape |shape|, which is |shape| without its first dimension;
// unknown where |shape| has none. The result borrows |shape|'s sizes.
leat_partial_shape_t leat_element_row_shape(leat_partial_shape_t shape);
// Makes the spec of the rows of elements that are as |batches| says.
LEAT_MUST_USE leat_status_t leat_element_spec_of_rows(const leat_element_spec_t* batches,
                                                      leat_element_spec_t** out_spec);

// Return INVALID_ARGUMENT, in TensorFlow's words, where |received| contradicts |expected|: in the
// number of components, in a type, in a known size. An unknown rank or size contradicts none. The
// third function makes both checks.
LEAT_MUST_USE leat_status_t leat_element_spec_check_types(const leat_element_spec_t* expected,
                                                          const leat_element_spec_t* received);
LEAT_MUST_USE leat_status_t leat_element_spec_check_shapes(const leat_element_spec_t* expected,
                                                           const leat_element_spec_t* received);
LEAT_MUST_USE leat_status_t leat_element_spec_check(const leat_element_spec_t* expected,
                                                    const leat_element_spec_t* received);
// Checks the |count| tensors of an element against |expected|.
LEAT_MUST_USE leat_status_t leat_element_spec_check_element(const leat_element_spec_t* expected,
                                                            const leat_tensor_t* tensors,
                                                            int count);

// The state of kernels that need nothing but the spec of their attributes output_types and
// output_shapes, with the create and destroy functions of their rows.
typedef struct leat_element_spec_state_s {
  leat_element_spec_t* spec;
} leat_element_spec_state_t;
LEAT_MUST_USE leat_status_t leat_element_spec_state_create(leat_kernel_creation_t* c, void* state);
void leat_element_spec_state_destroy(void* state);

#endif  // LEAT_OPS_DATASET_ELEMENT_SPEC_CPU_H_
