// Which kernel serves a node on a kind of device.
#ifndef LEAT_KERNEL_REGISTRY_H_
#define LEAT_KERNEL_REGISTRY_H_

#include "kernel/kernel.h"

typedef struct leat_kernel_registry_s leat_kernel_registry_t;
LEAT_MUST_USE leat_status_t leat_kernel_registry_create(leat_allocator_t* allocator,
                                                        leat_kernel_registry_t** out_registry);
void leat_kernel_registry_free(leat_kernel_registry_t* registry);
// Rows up to one without an op; they must outlive the registry. Before any look-up.
LEAT_MUST_USE leat_status_t leat_kernel_registry_add(leat_kernel_registry_t* registry,
                                                     const leat_kernel_row_t* rows);
// |fill| adds rows, to a registry that stands before this one, when a row is first looked for, so
// that a program which only builds graphs does without. Where it fails the look-up does, and the
// next one tries again. Before any look-up.
typedef leat_status_t (*leat_kernel_fill_fn_t)(leat_kernel_registry_t* registry);
void leat_kernel_registry_defer(leat_kernel_registry_t* registry, leat_kernel_fill_fn_t fill);
// Thread-safe. NOT_FOUND as TensorFlow words it ("No registered 'X' OpKernel for 'CPU' devices
// ...") names op, device, attributes and the rows there are; INVALID_ARGUMENT when a row constrains
// an attribute that the node lacks.
LEAT_MUST_USE leat_status_t leat_kernel_registry_find(const leat_kernel_registry_t* registry,
                                                      const leat_op_t* op,
                                                      const leat_attr_t* attrs, int attr_count,
                                                      leat_string_view_t device_type,
                                                      const leat_kernel_row_t** out_row);
// The same without the words, for whoever tries one device after another: NULL where none serves.
// It fails only where memory is gone.
LEAT_MUST_USE leat_status_t leat_kernel_registry_probe(const leat_kernel_registry_t* registry,
                                                       const leat_op_t* op,
                                                       const leat_attr_t* attrs, int attr_count,
                                                       leat_string_view_t device_type,
                                                       const leat_kernel_row_t** out_row);
// What to say when no device has a kernel for a node: INVALID_ARGUMENT "No OpKernel was registered
// to support Op 'X' used by {{node n}} ...". |device_types|: "CPU" or "CPU, GPU".
LEAT_MUST_USE leat_status_t leat_kernel_registry_unserved(const leat_kernel_registry_t* registry,
                                                          const leat_op_t* op,
                                                          leat_string_view_t node_name,
                                                          const leat_attr_t* attrs, int attr_count,
                                                          leat_string_view_t device_types);
// One row more, at any time, from any thread; it must outlive the registry. Parsed at once:
// INTERNAL when its constraints are malformed.
LEAT_MUST_USE leat_status_t leat_kernel_registry_extend(leat_kernel_registry_t* registry,
                                                        const leat_kernel_row_t* row);
// Rows of one op ("" = all), in registration order: calls |fn| for each.
typedef leat_status_t (*leat_kernel_row_fn_t)(void* data, const leat_kernel_row_t* row);
LEAT_MUST_USE leat_status_t leat_kernel_registry_each(const leat_kernel_registry_t* registry,
                                                      leat_string_view_t op,
                                                      leat_kernel_row_fn_t fn, void* data);

#endif  // LEAT_KERNEL_REGISTRY_H_
