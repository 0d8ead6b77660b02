// Handles of resources: how the op that makes a resource (a queue, a table, a reader) names it for
// the ops that use it. TensorFlow has two forms, an older and a newer one:
//
//   by reference   a Ref(string) output that names the vector [container, name]
//   by value       a scalar of type resource; one without a container owns its resource
//
// The functions here serve both, so that one kernel implements both versions of an op. A kernel
// that makes a resource keeps a leat_handle_t in its state, finds or makes the resource in each
// run, and sets the handle as output 0; a kernel that uses one calls leat_handle_find() and
// releases what it got.
#ifndef LEAT_KERNEL_HANDLE_H_
#define LEAT_KERNEL_HANDLE_H_

#include "kernel/kernel.h"
#include "kernel/resource.h"

// What a kernel that makes a named resource keeps: the name, from the attributes "container" and
// "shared_name", and the handle in the form of its output 0. Without a shared_name the resource is
// the node's own: then the name is the node's, as for variables (|node_name_is_shared|), or one
// that no other session can have.
typedef struct leat_handle_s {
  leat_allocator_t* allocator;
  leat_string_view_t container;
  leat_string_view_t name;
  leat_cell_t* reference;  // the form by reference: holds the two strings
  leat_tensor_t value;     // the form by value
} leat_handle_t;

// The shared_name by which TensorFlow asks for a resource that no other op finds.
#define LEAT_ANONYMOUS_NAME "cd2c89b7-88b7-44c8-ad83-06c2a9158347"
static inline bool leat_handle_is_anonymous(leat_string_view_t name) {
  return leat_string_view_equals(name, LEAT_ANONYMOUS_NAME);
}

// INVALID_ARGUMENT when the names are not allowed. To be deinitialized after a failure too.
LEAT_MUST_USE leat_status_t leat_handle_initialize(leat_kernel_creation_t* c,
                                                   const leat_resource_kind_t* kind,
                                                   bool node_name_is_shared,
                                                   leat_handle_t* out_handle);
// Accepts a zeroed handle. Gives up the handle, not the resource, which stays in its container.
void leat_handle_deinitialize(leat_handle_t* handle);
// Makes the handle output 0.
void leat_handle_set_output(leat_kernel_context_t* c, const leat_handle_t* handle);
// Finds the resource that |handle| names, or makes it; retained.
LEAT_MUST_USE leat_status_t leat_handle_find_or_make(leat_kernel_context_t* c,
                                                     const leat_handle_t* handle,
                                                     const leat_resource_kind_t* kind,
                                                     leat_resource_make_fn_t make, void* data,
                                                     leat_resource_t** out_resource);
// Makes output |output| a handle by value that owns |resource|, which is taken, on failure too. It
// ends with the last copy of the handle.
LEAT_MUST_USE leat_status_t leat_handle_own_resource(leat_kernel_context_t* c, int output,
                                                     leat_resource_t* resource);
// Makes output |output| a handle of a resource of this step, which is taken, on failure too. A
// handle by value owns it; two strings name it in the step's container.
LEAT_MUST_USE leat_status_t leat_handle_make_of_step(leat_kernel_context_t* c, int output,
                                                     leat_resource_t* resource);
// The resource that such a handle at input |index| names, retained.
LEAT_MUST_USE leat_status_t leat_handle_find_of_step(const leat_kernel_context_t* c, int index,
                                                     const leat_resource_kind_t* kind,
                                                     leat_resource_t** out_resource);

// The resource that input |index| names in either form, retained. NOT_FOUND when there is none;
// INVALID_ARGUMENT when the input is not a handle of that kind, or is one of another device.
LEAT_MUST_USE leat_status_t leat_handle_find(const leat_kernel_context_t* c, int index,
                                             const leat_resource_kind_t* kind,
                                             leat_resource_t** out_resource);
// The resource of |kind| that the handle by value |handle| names, retained; NULL where it names
// none, or one of another kind.
leat_resource_t* leat_handle_look_up(leat_resource_manager_t* manager, const leat_tensor_t* handle,
                                     const leat_resource_kind_t* kind);
// The two strings of input |index|, a reference or a plain tensor of two strings. |out_strings|
// shares the tensor into which the views point; the caller releases it.
LEAT_MUST_USE leat_status_t leat_handle_strings(const leat_kernel_context_t* c, int index,
                                                leat_tensor_t* out_strings,
                                                leat_string_view_t* out_container,
                                                leat_string_view_t* out_name);
// A cell that holds [container, name], for an output of type Ref(string).
LEAT_MUST_USE leat_status_t leat_handle_make_reference(leat_string_view_t container,
                                                       leat_string_view_t name,
                                                       leat_cell_t** out_cell);

#endif  // LEAT_KERNEL_HANDLE_H_
