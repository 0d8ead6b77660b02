// Datasets and iterators. A dataset is an immutable value that a variant holds: its kind, the
// datasets that it reads, and the tensors and the function that it captured. An iterator is one
// pass over a dataset, used by one pull at a time (ops/dataset/pull_cpu.h).
//
// A kind extends both structs at their end: |dataset_bytes|, |iterator_bytes|, zeroed when made.
#ifndef LEAT_OPS_DATASET_DATASET_CPU_H_
#define LEAT_OPS_DATASET_DATASET_CPU_H_

#include "ops/dataset/element_spec_cpu.h"
#include "ops/dataset/pull_cpu.h"

typedef struct leat_dataset_s leat_dataset_t;
typedef struct leat_iterator_s leat_iterator_t;

enum { LEAT_CARDINALITY_INFINITE = -1, LEAT_CARDINALITY_UNKNOWN = -2 };
// Tells to choose a number; this library takes the number of processors or, for buffers, any.
enum { LEAT_DATASET_AUTOTUNE = -1 };
// Of datasets one above the other, and so of calls of |next| within each other.
#define LEAT_MAX_DATASET_DEPTH 1000

typedef struct leat_dataset_kind_s {
  const char* name;
  uint32_t dataset_bytes;
  uint32_t iterator_bytes;
  bool opens_input;  // an iterator begins with one over inputs[0] as its |input|
  // Ends what the kind added to the dataset. NULL: nothing.
  void (*destroy)(leat_dataset_t* self);
  // Makes what the kind added to an iterator. NULL: nothing. When it fails |stop| is still called.
  leat_status_t (*start)(leat_iterator_t* self);
  // The next element: |out| has room for the spec's components and is touched only when there
  // is one. Not called again after END. See leat_iterator_next.
  leat_status_t (*next)(leat_iterator_t* self, leat_pull_t* pull, leat_tensor_t* out,
                        leat_poll_t* out_poll);
  void (*stop)(leat_iterator_t* self);  // NULL: nothing
  // Of the elements; NULL: that of inputs[0].
  int64_t (*cardinality)(const leat_dataset_t* self);
} leat_dataset_kind_t;

struct leat_dataset_s {
  const leat_dataset_kind_t* kind;
  leat_reference_count_t references;
  int32_t depth;
  leat_element_spec_t* spec;
  uint64_t function;  // of kinds that call one: its handle
  int32_t input_count;
  int32_t tensor_count;
  leat_dataset_t** inputs;
  leat_tensor_t* tensors;
};

struct leat_iterator_s {
  leat_dataset_t* dataset;
  leat_iterator_t* input;  // ended with this one; NULL: none
  int32_t depth;
  bool at_end;
};

// ---- Datasets -----------------------------------------------------------------------------------

// With room for inputs (each to be set, retained) and tensors (no tensor yet). |spec| is moved
// in, also on failure.
LEAT_MUST_USE leat_status_t leat_dataset_create(const leat_dataset_kind_t* kind,
                                                leat_element_spec_t* spec, int input_count,
                                                int tensor_count, leat_dataset_t** out_dataset);
void leat_dataset_retain(leat_dataset_t* dataset);
void leat_dataset_release(leat_dataset_t* dataset);  // NULL is allowed
int64_t leat_dataset_cardinality(const leat_dataset_t* dataset);
// |cardinality| of kinds that cannot say.
int64_t leat_dataset_unknown_cardinality(const leat_dataset_t* dataset);

// The dataset that a scalar variant holds, borrowed; INVALID_ARGUMENT for anything else.
LEAT_MUST_USE leat_status_t leat_dataset_of(const leat_tensor_t* tensor,
                                            leat_dataset_t** out_dataset);
// A scalar variant that holds |dataset| (moved, also on failure).
LEAT_MUST_USE leat_status_t leat_dataset_to_tensor(leat_dataset_t* dataset,
                                                   leat_tensor_t* out_tensor);
// RESOURCE_EXHAUSTED where datasets stand too high on each other. Retains |input|.
LEAT_MUST_USE leat_status_t leat_dataset_set_input(leat_dataset_t* dataset, int index,
                                                   leat_dataset_t* input);
// Output 0 becomes |dataset| (moved, also on failure).
LEAT_MUST_USE leat_status_t leat_dataset_set_output(leat_kernel_context_t* c,
                                                    leat_dataset_t* dataset);
// A dataset that reads |input|; |spec| as above.
LEAT_MUST_USE leat_status_t leat_dataset_create_over(const leat_dataset_kind_t* kind,
                                                     leat_element_spec_t* spec,
                                                     leat_dataset_t* input, int tensor_count,
                                                     leat_dataset_t** out_dataset);
// What a kernel gives whose dataset reads the one at input 0 and has the same spec.
LEAT_MUST_USE leat_status_t leat_dataset_create_over_input(leat_kernel_context_t* c,
                                                           const leat_dataset_kind_t* kind,
                                                           leat_dataset_t** out_dataset);
// One that reads the datasets at all inputs; |spec| is moved in, also on failure.
LEAT_MUST_USE leat_status_t leat_dataset_create_over_all(leat_kernel_context_t* c,
                                                         const leat_dataset_kind_t* kind,
                                                         leat_element_spec_t* spec,
                                                         leat_dataset_t** out_dataset);
// Tensors |first| .. become the kernel's inputs from |first_input| on, |count| of them.
LEAT_MUST_USE leat_status_t leat_dataset_keep_inputs(leat_kernel_context_t* c, int first_input,
                                                     int first, int count, leat_dataset_t* dataset);

// Output |index| becomes what TensorFlow calls a deleter. What anonymous handles own ends with the
// last of them here, so that it stands for nothing.
LEAT_MUST_USE leat_status_t leat_dataset_set_deleter(leat_kernel_context_t* c, int index);

// A handle of nothing: the dataset makes its own resource.
bool leat_dataset_is_dummy(const leat_tensor_t* handle);

// State of kernels whose datasets call a function.
typedef struct leat_dataset_function_s {
  leat_element_spec_t* spec;
  leat_callee_t callee;
  bool preserves_cardinality;
} leat_dataset_function_t;
// |attr| names the function.
LEAT_MUST_USE leat_status_t leat_dataset_function_create(leat_kernel_creation_t* c,
                                                         const char* attr, void* state);
void leat_dataset_function_destroy(void* state);

// The same where the function, "f", takes a state before the element, and gives the next one.
typedef struct leat_dataset_fold_s {
  leat_dataset_function_t function;
  int state_count;
} leat_dataset_fold_t;
LEAT_MUST_USE leat_status_t leat_dataset_fold_create(leat_kernel_creation_t* c, void* state);

// A dataset over input 0 that calls the state's function with the node's other_arguments (inputs 1
// .. |captured_count|) as tensors. |spec| is retained; NULL: the input's.
LEAT_MUST_USE leat_status_t leat_dataset_create_calling(leat_kernel_context_t* c,
                                                        const leat_dataset_kind_t* kind,
                                                        leat_element_spec_t* spec,
                                                        int captured_count,
                                                        leat_dataset_t** out_dataset);

// Scalar inputs of kernels; |name| is the argument's.
LEAT_MUST_USE leat_status_t leat_dataset_int_input(const leat_kernel_context_t* c, int index,
                                                   const char* name, int64_t* out_value);
LEAT_MUST_USE leat_status_t leat_dataset_bool_input(const leat_kernel_context_t* c, int index,
                                                    const char* name, bool* out_value);
LEAT_MUST_USE leat_status_t leat_dataset_string_input(const leat_kernel_context_t* c, int index,
                                                      const char* name,
                                                      leat_string_view_t* out_value);

// ---- Iterators ----------------------------------------------------------------------------------

// |depth| of iterators stand above it. Retains |dataset|.
LEAT_MUST_USE leat_status_t leat_iterator_create(leat_dataset_t* dataset, int depth,
                                                 leat_iterator_t** out_iterator);
void leat_iterator_free(leat_iterator_t* iterator);  // NULL is allowed
// The next element, of the types that the spec says. After a failure the next element may be
// asked for; after END there is only END.
LEAT_MUST_USE leat_status_t leat_iterator_next(leat_iterator_t* iterator, leat_pull_t* pull,
                                               leat_tensor_t* out, leat_poll_t* out_poll);
// |iterator| reads |dataset| from its start from now on (what it read is let go of).
LEAT_MUST_USE leat_status_t leat_iterator_open_input(leat_iterator_t* iterator,
                                                     leat_dataset_t* dataset);
// One over each of the dataset's inputs; freed, as many as were made, also after a failure.
LEAT_MUST_USE leat_status_t leat_iterator_create_all(leat_iterator_t* iterator,
                                                     leat_iterator_t*** out_inputs);
void leat_iterator_free_all(leat_iterator_t* iterator, leat_iterator_t** inputs);
// Calls of the dataset's function with elements of |element_count| components before its tensors.
LEAT_MUST_USE leat_status_t leat_iterator_prepare_calls(leat_iterator_t* iterator,
                                                        int element_count, int return_count,
                                                        leat_application_t* out_application);

// What a failed call of a dataset's function means (consumes |status|): one with OUT_OF_RANGE ends
// the elements, unless as many are promised as the input has.
LEAT_MUST_USE leat_status_t leat_function_failure(leat_status_t status, bool preserves_cardinality,
                                                  leat_poll_t* out_poll);

void leat_element_release(leat_tensor_t* components, int count);
// Shares, so that both own their tensors.
void leat_element_share(const leat_tensor_t* from, leat_tensor_t* to, int count);
void leat_element_move(leat_tensor_t* from, leat_tensor_t* to, int count);
// Row |index| of a tensor of rank 1 or more, at an address as kernels want it.
LEAT_MUST_USE leat_status_t leat_element_row(const leat_tensor_t* tensor, int64_t index,
                                             leat_tensor_t* out_row);
// Row |index| of each of |count| tensors.
LEAT_MUST_USE leat_status_t leat_element_rows(const leat_tensor_t* tensors, int64_t index,
                                              leat_tensor_t* out, int count);

#endif  // LEAT_OPS_DATASET_DATASET_CPU_H_
