// Resources: what lives longer than a step (section 4.7 of the white paper). A device has a
// resource manager; its containers hold resources by name and kind, and handles or references in
// the graph name them:
//
//   manager ─▶ container "localhost" ─▶ ("w", Var) ─▶ leat_cell_t
//                                       ("queue", FIFOQueue) ─▶ leat_queue_t
//           ─▶ container "experiment" ─▶ ...
//
// A variable is a resource of kind cell, which this header declares as well. Everything is
// reference counted and thread-safe. A kind's own struct begins with leat_resource_t. The manager
// holds one reference, and so does each kernel for as long as it works with the resource; a
// resource that is removed from its container therefore lives until the last of them is done.
#ifndef LEAT_KERNEL_RESOURCE_H_
#define LEAT_KERNEL_RESOURCE_H_

#include "base/sync.h"
#include "tensor/tensor.h"

typedef struct leat_resource_s leat_resource_t;
// A kind of resource: its name in handles, and how to end one.
typedef struct leat_resource_kind_s {
  const char* name;  // "Var", "FIFOQueue"
  // Frees it when the last reference is gone, on any thread and with no lock of the manager held.
  void (*destroy)(leat_resource_t* resource);
  // Writes one line for messages and logs into |buffer|. NULL: the name stands for it.
  void (*describe)(leat_resource_t* resource, char* buffer, size_t size);
} leat_resource_kind_t;
// The base of a resource, at offset 0 of the kind's own struct.
struct leat_resource_s {
  const leat_resource_kind_t* kind;
  leat_reference_count_t references;
};
static inline void leat_resource_retain(leat_resource_t* resource) {
  leat_reference_count_retain(&resource->references);
}
// Destroys the resource with its last reference. NULL is allowed.
void leat_resource_release(leat_resource_t* resource);

typedef struct leat_resource_manager_s leat_resource_manager_t;
// A manager without containers. The caller frees it.
LEAT_MUST_USE leat_status_t leat_resource_manager_create(leat_allocator_t* allocator,
                                                         leat_resource_manager_t** out_manager);
// Releases the manager's references. NULL is allowed; nobody may use the manager meanwhile.
void leat_resource_manager_free(leat_resource_manager_t* manager);
// The container of resources whose op states none. It is each session's own.
#define LEAT_DEFAULT_CONTAINER "localhost"
// Gives the default container another name, as tasks of a cluster do, whose default container is
// called after their job. To be called before first use; |name| is borrowed.
void leat_resource_manager_name_default(leat_resource_manager_t* manager, leat_string_view_t name);
// The name of the default container of |manager|, which may be NULL.
leat_string_view_t leat_resource_manager_default(const leat_resource_manager_t* manager);
// From now on named containers (all but the default one) are those of |shared|, which must outlive
// the manager, so that sessions see each other's. To be called before first use.
void leat_resource_manager_share_named(leat_resource_manager_t* manager,
                                       leat_resource_manager_t* shared);
// The collectives in which the devices take part whose managers have the same ones
// (kernel/collective.h). They are retained, and released with the manager. To be called before
// first use; NULL, as at first, where there are none.
struct leat_collectives_s;
void leat_resource_manager_set_collectives(leat_resource_manager_t* manager,
                                           struct leat_collectives_s* collectives);
struct leat_collectives_s* leat_resource_manager_collectives(
    const leat_resource_manager_t* manager);

// Makes a resource with one reference.
typedef leat_status_t (*leat_resource_make_fn_t)(void* data, leat_resource_t** out_resource);
// Finds a resource, or makes it by |make| under the manager's lock, so that it is made once.
// |out_resource| is retained. The container "" is the default one. What |make| makes has one
// reference, which becomes the manager's; |make| must not call the manager.
LEAT_MUST_USE leat_status_t leat_resource_manager_find_or_make(
    leat_resource_manager_t* manager, leat_string_view_t container, leat_string_view_t name,
    const leat_resource_kind_t* kind, leat_resource_make_fn_t make, void* data,
    leat_resource_t** out_resource);
// Finds a resource and retains it. NOT_FOUND: "Resource C/N/K does not exist."
LEAT_MUST_USE leat_status_t leat_resource_manager_find(leat_resource_manager_t* manager,
                                                       leat_string_view_t container,
                                                       leat_string_view_t name,
                                                       const leat_resource_kind_t* kind,
                                                       leat_resource_t** out_resource);
// Adds |resource|, which is retained. ALREADY_EXISTS when there is one of that kind and name.
LEAT_MUST_USE leat_status_t leat_resource_manager_add(leat_resource_manager_t* manager,
                                                      leat_string_view_t container,
                                                      leat_string_view_t name,
                                                      leat_resource_t* resource);
// Removes a resource; who holds it keeps it. NOT_FOUND when there is none.
LEAT_MUST_USE leat_status_t leat_resource_manager_remove(leat_resource_manager_t* manager,
                                                         leat_string_view_t container,
                                                         leat_string_view_t name,
                                                         const leat_resource_kind_t* kind);
// Removes a resource whose kind is known by name only, as in a handle.
LEAT_MUST_USE leat_status_t leat_resource_manager_remove_named(leat_resource_manager_t* manager,
                                                               leat_string_view_t container,
                                                               leat_string_view_t name,
                                                               leat_string_view_t kind_name);
// Private resources have names that begin with a number of the session that made them, which is
// that of its own manager: "_<number>_". When a session ends whose other resources outlive it, its
// private ones in |manager| end too. NULL of either is allowed.
#define LEAT_PRIVATE_PREFIX_BYTES 24
void leat_resource_manager_print_private(const leat_resource_manager_t* session,
                                         char out_prefix[LEAT_PRIVATE_PREFIX_BYTES]);
void leat_resource_manager_end_session(leat_resource_manager_t* manager,
                                       const leat_resource_manager_t* session);
// Removes all resources of a container (TF_Reset); who holds one keeps it.
void leat_resource_manager_clear(leat_resource_manager_t* manager, leat_string_view_t container);

// A variable: its value, under its lock. A reader shares the buffer and keeps the value that it
// read: an update writes in place only while the cell is the sole owner of the buffer, and else
// works on a copy.
typedef struct leat_cell_s {
  leat_resource_t resource;  // kind leat_cell_kind
  // Guards |tensor| and what may change of the rest. It is held for as long as an update in place
  // takes.
  leat_mutex_t mutex;
  leat_tensor_t tensor;  // the value; "no tensor" until it is initialised
  const char* name;    // of the node that made it, for messages; never NULL
  int32_t dtype;       // of every value; 0 until a node or the first value sets it
  leat_shape_t shape;  // what a first value must have, when |has_shape|
  bool has_shape;
} leat_cell_t;
extern const leat_resource_kind_t leat_cell_kind;
// A cell without a value, whose one reference is the caller's. |name| is copied and |shape|, which
// may be NULL for any, is shared.
LEAT_MUST_USE leat_status_t leat_cell_create(leat_string_view_t name, const leat_shape_t* shape,
                                             leat_cell_t** out_cell);
static inline void leat_cell_retain(leat_cell_t* cell) { leat_resource_retain(&cell->resource); }
static inline void leat_cell_release(leat_cell_t* cell) {
  if (cell) leat_resource_release(&cell->resource);
}
// Shares the value, which the caller releases and which no later update changes. False when there
// is none, which the caller reports as FAILED_PRECONDITION "Attempting to use uninitialized value".
static inline bool leat_cell_read(leat_cell_t* cell, leat_tensor_t* out_tensor) {
  leat_mutex_lock(&cell->mutex);
  bool initialized = cell->tensor.dtype != 0;
  if (initialized) *out_tensor = leat_tensor_share(&cell->tensor);
  leat_mutex_unlock(&cell->mutex);
  return initialized;
}
// To be called with the lock held before a write: makes the cell the sole owner of its buffer, by a
// copy from |source| if others share it.
LEAT_MUST_USE leat_status_t leat_cell_make_exclusive(leat_cell_t* cell,
                                                     leat_buffer_source_t* source);
// To be called with the lock held: the value becomes |tensor|, which is taken; "no tensor" makes
// the cell uninitialised. The memory must not be a step's.
void leat_cell_set(leat_cell_t* cell, leat_tensor_t tensor);

// The cell that the resource handle |handle| names (input of ReadVariableOp), retained.
// INVALID_ARGUMENT when it is not the handle of a variable; NOT_FOUND when there is no such
// variable, which a kernel that only reads reports as FAILED_PRECONDITION, as TensorFlow does.
LEAT_MUST_USE leat_status_t leat_cell_of_handle(leat_resource_manager_t* manager,
                                                const leat_tensor_t* handle,
                                                leat_cell_t** out_cell);

#endif  // LEAT_KERNEL_RESOURCE_H_
