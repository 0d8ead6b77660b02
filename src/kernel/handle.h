// Handles of resources: how the op that makes a resource (a queue, a table, a reader) names it for
// the ops that use it. Two forms, of TensorFlow's two ages:
//   by reference   a Ref(string) output that names the vector [container, name]
//   by value       a scalar resource handle; one without a name owns its resource
#ifndef LEAT_KERNEL_HANDLE_H_
#define LEAT_KERNEL_HANDLE_H_

#include "kernel/kernel.h"
#include "kernel/resource.h"

// What a kernel that makes a resource keeps: the name, from the attributes container and
// shared_name, and the handle in the form of its output 0. Without a shared_name the resource is
// the node's own: its name is the node's (|node_name_is_shared|, as variables do it) or one that no
// other session has.
typedef struct leat_handle_s {
  leat_allocator_t* allocator;
  leat_string_view_t container;
  leat_string_view_t name;
  leat_cell_t* reference;  // by reference: holds the two strings
  leat_tensor_t value;     // by value
} leat_handle_t;

// INVALID_ARGUMENT when the names are not as they must be. Deinitialize also after a failure.
LEAT_MUST_USE leat_status_t leat_handle_initialize(leat_kernel_creation_t* c,
                                                   const leat_resource_kind_t* kind,
                                                   bool node_name_is_shared,
                                                   leat_handle_t* out_handle);
void leat_handle_deinitialize(leat_handle_t* handle);
// Output 0 becomes the handle.
void leat_handle_set_output(leat_kernel_context_t* c, const leat_handle_t* handle);
// Finds the resource that |handle| names or makes it (leat_resource_manager_find_or_make);
// retained.
LEAT_MUST_USE leat_status_t leat_handle_find_or_make(leat_kernel_context_t* c,
                                                     const leat_handle_t* handle,
                                                     const leat_resource_kind_t* kind,
                                                     leat_resource_make_fn_t make, void* data,
                                                     leat_resource_t** out_resource);
// Output |output| becomes a handle that owns |resource| (moved, also on failure).
LEAT_MUST_USE leat_status_t leat_handle_own_resource(leat_kernel_context_t* c, int output,
                                                     leat_resource_t* resource);
// Output |output| becomes a handle of a resource of this step (moved, also on failure). By value it
// owns it; as two strings it names it in the step's container.
LEAT_MUST_USE leat_status_t leat_handle_make_of_step(leat_kernel_context_t* c, int output,
                                                     leat_resource_t* resource);
// What such a handle at input |index| names, retained.
LEAT_MUST_USE leat_status_t leat_handle_find_of_step(const leat_kernel_context_t* c, int index,
                                                     const leat_resource_kind_t* kind,
                                                     leat_resource_t** out_resource);

// The resource that input |index| names in either form, retained. NOT_FOUND when there is none,
// INVALID_ARGUMENT when the input is no handle of that kind or of another device.
LEAT_MUST_USE leat_status_t leat_handle_find(const leat_kernel_context_t* c, int index,
                                             const leat_resource_kind_t* kind,
                                             leat_resource_t** out_resource);
// The two strings of input |index| by reference (or a plain string tensor of two elements). Shares
// |out_strings|, into which the views point.
LEAT_MUST_USE leat_status_t leat_handle_strings(const leat_kernel_context_t* c, int index,
                                                leat_tensor_t* out_strings,
                                                leat_string_view_t* out_container,
                                                leat_string_view_t* out_name);
// A reference to the strings [container, name], for an output of type Ref(string).
LEAT_MUST_USE leat_status_t leat_handle_make_reference(leat_string_view_t container,
                                                       leat_string_view_t name,
                                                       leat_cell_t** out_cell);

#endif  // LEAT_KERNEL_HANDLE_H_
