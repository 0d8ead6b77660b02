// The registry of kernels: which row serves a node on a kind of device. A row serves if op, device
// type, label and types of attributes agree; of several the highest priority wins. The placer asks
// which devices have a kernel for a node, and the worker asks for the row from which it makes the
// instance. Which rows there are is decided in src/init.c, which adds the tables of all families;
// nothing registers itself.
#ifndef LEAT_KERNEL_REGISTRY_H_
#define LEAT_KERNEL_REGISTRY_H_

#include "kernel/kernel.h"

typedef struct leat_kernel_registry_s leat_kernel_registry_t;
// An empty registry, which the caller frees. Kernels that were made from its rows do not need it.
LEAT_MUST_USE leat_status_t leat_kernel_registry_create(leat_allocator_t* allocator,
                                                        leat_kernel_registry_t** out_registry);
// NULL is allowed. The rows stay: they are their authors'.
void leat_kernel_registry_free(leat_kernel_registry_t* registry);
// Adds a table of rows that ends with a row without an op; the rows must outlive the registry. To
// be called before any look-up, by one thread.
LEAT_MUST_USE leat_status_t leat_kernel_registry_add(leat_kernel_registry_t* registry,
                                                     const leat_kernel_row_t* rows);
// Defers adding: |fill| adds rows when a row is first looked for, so that a program which only
// builds graphs does not pay for it. Deferred rows count as added before the others. When |fill|
// fails the look-up fails, and the next one tries again. To be called before any look-up.
typedef leat_status_t (*leat_kernel_fill_fn_t)(leat_kernel_registry_t* registry);
void leat_kernel_registry_defer(leat_kernel_registry_t* registry, leat_kernel_fill_fn_t fill);
// Rows of this device type serve the nodes of every other device but the CPU for which its own type
// has no row, as in TensorFlow.
#define LEAT_KERNEL_DEFAULT_DEVICE "DEFAULT"
// The row that serves a node. Thread-safe. NOT_FOUND "No registered 'X' OpKernel for 'CPU' devices
// ..." names op, device, attributes and the rows that exist; INVALID_ARGUMENT when a row constrains
// an attribute that the node lacks.
LEAT_MUST_USE leat_status_t leat_kernel_registry_find(const leat_kernel_registry_t* registry,
                                                      const leat_op_t* op,
                                                      const leat_attr_t* attrs, int attr_count,
                                                      leat_string_view_t device_type,
                                                      const leat_kernel_row_t** out_row);
// Looks for a row but makes no message, for callers that try one device after another: NULL where
// no row serves. Fails only when rows cannot be read.
LEAT_MUST_USE leat_status_t leat_kernel_registry_probe(const leat_kernel_registry_t* registry,
                                                       const leat_op_t* op,
                                                       const leat_attr_t* attrs, int attr_count,
                                                       leat_string_view_t device_type,
                                                       const leat_kernel_row_t** out_row);
// The error when no device has a kernel for a node: INVALID_ARGUMENT "No OpKernel was registered to
// support Op 'X' used by {{node n}} ...". |device_types| is "CPU" or "CPU, GPU".
LEAT_MUST_USE leat_status_t leat_kernel_registry_unserved(const leat_kernel_registry_t* registry,
                                                          const leat_op_t* op,
                                                          leat_string_view_t node_name,
                                                          const leat_attr_t* attrs, int attr_count,
                                                          leat_string_view_t device_types);
// The error of leat_kernel_registry_find where no row serves, in TensorFlow's words. |has_device|:
// rows for this kind of device exist, but their constraints refuse the node.
LEAT_MUST_USE leat_status_t leat_kernel_registry_not_found(const leat_kernel_registry_t* registry,
                                                           const leat_op_t* op,
                                                           const leat_attr_t* attrs,
                                                           int attr_count,
                                                           leat_string_view_t device_type,
                                                           bool has_device);
// Adds one row of a plugin, at any time and from any thread; it must outlive the registry. INTERNAL
// when its constraints are malformed.
LEAT_MUST_USE leat_status_t leat_kernel_registry_extend(leat_kernel_registry_t* registry,
                                                        const leat_kernel_row_t* row);
// Calls |fn| for the rows of |op|, or for all rows if it is "", in the order of registration, until
// |fn| fails.
typedef leat_status_t (*leat_kernel_row_fn_t)(void* data, const leat_kernel_row_t* row);
LEAT_MUST_USE leat_status_t leat_kernel_registry_each(const leat_kernel_registry_t* registry,
                                                      leat_string_view_t op,
                                                      leat_kernel_row_fn_t fn, void* data);

#endif  // LEAT_KERNEL_REGISTRY_H_
