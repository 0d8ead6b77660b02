// The resource behind TensorArray: slots, each of which is written once and mostly read once. The
// gradient of an array is another array of the same length, one for each source (each call that
// builds gradients); writing to one of its slots a second time adds, and a slot that was never
// written reads as zeros. The resource is reference-counted and lives as long as its step. All
// functions may be called from any thread; they hold the array's mutex for their whole length and
// never wait for another kernel. They fail with INVALID_ARGUMENT, or RESOURCE_EXHAUSTED without
// memory.
#ifndef LEAT_OPS_LIST_TENSOR_SLOTS_CPU_H_
#define LEAT_OPS_LIST_TENSOR_SLOTS_CPU_H_

#include "kernel/kernel.h"
#include "kernel/resource.h"

// The attributes of a TensorArray; leat_slots_create copies the shape and the texts.
typedef struct leat_slots_options_s {
  // Statuses name an array as TensorFlow does, <name>_<number>, and a gradient of it with @<source>
  // behind that. The number tells the arrays of one node apart.
  leat_string_view_t name, source;
  uint64_t number;
  int dtype;
  leat_partial_shape_t element_shape;
  bool dynamic_size;
  bool clear_after_read;
  bool identical_element_shapes;
} leat_slots_options_t;

typedef struct leat_slots_s leat_slots_t;
extern const leat_resource_kind_t leat_slots_kind;

// Makes an array of |size| slots, none of which is written. The caller has one reference.
LEAT_MUST_USE leat_status_t leat_slots_create(const leat_slots_options_t* options, int64_t size,
                                              leat_slots_t** out_slots);
// Returns the gradient of |slots| for |source|, retained. It is made on the first call, which also
// ends the growing of |slots|. |prepended| (may be NULL) are sizes that the gradient's elements
// have before those of the slots' elements.
LEAT_MUST_USE leat_status_t leat_slots_gradient(leat_slots_t* slots, leat_string_view_t source,
                                                const leat_shape_t* prepended,
                                                leat_slots_t** out_gradient);
int leat_slots_dtype(const leat_slots_t* slots);  // never changes

// ---- Access: each call is atomic ----------------------------------------------------------------

// Writes |values[i]| to slot |indices[i]|. The values are moved from, also on failure; those before
// the one that failed stay written.
LEAT_MUST_USE leat_status_t leat_slots_write(leat_slots_t* slots, const leat_kernel_context_t* c,
                                             const int32_t* indices, int64_t count,
                                             leat_tensor_t* values);
// Reads slot |indices[i]| into |out_values[i]|, which belong to the caller; on failure there are
// none.
LEAT_MUST_USE leat_status_t leat_slots_read(leat_slots_t* slots, const leat_kernel_context_t* c,
                                            const int32_t* indices, int64_t count,
                                            leat_tensor_t* out_values);
// |out_dynamic|: whether a write behind the last slot makes the array grow.
LEAT_MUST_USE leat_status_t leat_slots_size(leat_slots_t* slots, int64_t* out_size,
                                            bool* out_dynamic);
// How many slots an op that reads the whole array takes: its size, or for a gradient the size that
// an op which wrote the whole array had marked when the gradient was made.
LEAT_MUST_USE leat_status_t leat_slots_whole_size(leat_slots_t* slots, int64_t* out_size);
// Remembers that an op writes the whole array as |size| slots. Has no effect on a gradient.
LEAT_MUST_USE leat_status_t leat_slots_mark_size(leat_slots_t* slots, int64_t size);
// Adds |shape| to what is known of the elements' shape; INVALID_ARGUMENT when they contradict.
LEAT_MUST_USE leat_status_t leat_slots_merge_shape(leat_slots_t* slots, leat_partial_shape_t shape);
// Releases all tensors; every later access fails.
void leat_slots_close(leat_slots_t* slots);

// ---- For the kernels of one slot and those of many ----------------------------------------------

// Finds the array that input 0 names, whichever of the three forms the handle has (a reference to
// two strings, two strings, a resource). The result is retained.
LEAT_MUST_USE leat_status_t leat_slots_find(leat_kernel_context_t* c, leat_slots_t** out_slots);
// INVALID_ARGUMENT unless the array's elements are of |dtype|.
// |what| is what the op does with the type, for the message.
LEAT_MUST_USE leat_status_t leat_slots_check_dtype(const leat_kernel_context_t* c,
                                                   const leat_slots_t* slots, int dtype,
                                                   const char* what);

// The types that the elements of an array may have.
#define LEAT_SLOTS_TYPES                                                                      \
  "bfloat16, bool, complex128, complex64, double, float, half, int16, int32, int64, int8, "   \
  "string, uint16, uint32, uint64, uint8"

#endif  // LEAT_OPS_LIST_TENSOR_SLOTS_CPU_H_
