// What lives longer than a step (section 4.7): containers of a device hold named resources of a
// kind; a variable is a cell. Everything is reference counted and thread-safe.
#ifndef LEAT_KERNEL_RESOURCE_H_
#define LEAT_KERNEL_RESOURCE_H_

#include "base/sync.h"
#include "tensor/tensor.h"

typedef struct leat_resource_s leat_resource_t;
typedef struct leat_resource_kind_s {
  const char* name;  // "Var", "FIFOQueue"
  void (*destroy)(leat_resource_t* resource);
  // One line for people and logs; NULL prints the name.
  void (*describe)(leat_resource_t* resource, char* buffer, size_t size);
} leat_resource_kind_t;
struct leat_resource_s {
  const leat_resource_kind_t* kind;
  leat_reference_count_t references;
};
static inline void leat_resource_retain(leat_resource_t* resource) {
  leat_reference_count_retain(&resource->references);
}
void leat_resource_release(leat_resource_t* resource);  // NULL is allowed

typedef struct leat_resource_manager_s leat_resource_manager_t;
LEAT_MUST_USE leat_status_t leat_resource_manager_create(leat_allocator_t* allocator,
                                                         leat_resource_manager_t** out_manager);
void leat_resource_manager_free(leat_resource_manager_t* manager);
#define LEAT_DEFAULT_CONTAINER "localhost"
// From now on named containers (all but the default one) are those of |shared|, which must outlive
// the manager: sessions see each other's. Before first use.
void leat_resource_manager_share_named(leat_resource_manager_t* manager,
                                       leat_resource_manager_t* shared);

typedef leat_status_t (*leat_resource_make_fn_t)(void* data, leat_resource_t** out_resource);
// Finds or makes (under the manager's lock) and retains. "" container is the default one. What
// |make| makes has one reference, which becomes the manager's; |make| must not call the manager.
LEAT_MUST_USE leat_status_t leat_resource_manager_find_or_make(
    leat_resource_manager_t* manager, leat_string_view_t container, leat_string_view_t name,
    const leat_resource_kind_t* kind, leat_resource_make_fn_t make, void* data,
    leat_resource_t** out_resource);
// NOT_FOUND: "Resource C/N/K does not exist."
LEAT_MUST_USE leat_status_t leat_resource_manager_find(leat_resource_manager_t* manager,
                                                       leat_string_view_t container,
                                                       leat_string_view_t name,
                                                       const leat_resource_kind_t* kind,
                                                       leat_resource_t** out_resource);
// Retains |resource|. ALREADY_EXISTS when there is one of that kind and name.
LEAT_MUST_USE leat_status_t leat_resource_manager_add(leat_resource_manager_t* manager,
                                                      leat_string_view_t container,
                                                      leat_string_view_t name,
                                                      leat_resource_t* resource);
// NOT_FOUND when absent.
LEAT_MUST_USE leat_status_t leat_resource_manager_remove(leat_resource_manager_t* manager,
                                                         leat_string_view_t container,
                                                         leat_string_view_t name,
                                                         const leat_resource_kind_t* kind);
// The same for a kind that is known by name only, as in a handle. NOT_FOUND when absent.
LEAT_MUST_USE leat_status_t leat_resource_manager_remove_named(leat_resource_manager_t* manager,
                                                               leat_string_view_t container,
                                                               leat_string_view_t name,
                                                               leat_string_view_t kind_name);
// Forgets a whole container (TF_Reset).
void leat_resource_manager_clear(leat_resource_manager_t* manager, leat_string_view_t container);

// A variable's value under its lock. An update works in place when the cell is the sole owner of
// the buffer, else on a copy, so that readers of an earlier value keep it.
typedef struct leat_cell_s {
  leat_resource_t resource;  // kind leat_cell_kind
  leat_mutex_t mutex;
  leat_tensor_t tensor;      // "no tensor" until initialised
  const char* name;          // of the node that made it, for messages; never NULL
  int32_t dtype;             // of every value; 0 until a node declares it or the first value comes
  leat_shape_t shape;        // what a first value must have, when |has_shape|
  bool has_shape;
} leat_cell_t;
extern const leat_resource_kind_t leat_cell_kind;
// |name| is the node's, for messages; |shape| may be NULL: any. Both are copied.
LEAT_MUST_USE leat_status_t leat_cell_create(leat_string_view_t name, const leat_shape_t* shape,
                                             leat_cell_t** out_cell);
static inline void leat_cell_retain(leat_cell_t* cell) { leat_resource_retain(&cell->resource); }
static inline void leat_cell_release(leat_cell_t* cell) {
  if (cell) leat_resource_release(&cell->resource);
}
// Shares the value; FAILED_PRECONDITION "Attempting to use uninitialized value" is the caller's.
static inline bool leat_cell_read(leat_cell_t* cell, leat_tensor_t* out_tensor) {
  leat_mutex_lock(&cell->mutex);
  bool initialized = cell->tensor.dtype != 0;
  if (initialized) *out_tensor = leat_tensor_share(&cell->tensor);
  leat_mutex_unlock(&cell->mutex);
  return initialized;
}
// With the lock held: makes the cell the sole owner of writable bytes (copying when shared).
LEAT_MUST_USE leat_status_t leat_cell_make_exclusive(leat_cell_t* cell,
                                                     leat_buffer_source_t* source);
// With the lock held: the value becomes |tensor| (moved).
void leat_cell_set(leat_cell_t* cell, leat_tensor_t tensor);

// The cell behind a resource handle (input of ReadVariableOp and its kin), retained. The handle's
// type name is leat_cell_kind.name (INVALID_ARGUMENT otherwise). NOT_FOUND when there is none; who
// only reads says FAILED_PRECONDITION instead, as in TensorFlow.
LEAT_MUST_USE leat_status_t leat_cell_of_handle(leat_resource_manager_t* manager,
                                                const leat_tensor_t* handle,
                                                leat_cell_t** out_cell);

#endif  // LEAT_KERNEL_RESOURCE_H_
