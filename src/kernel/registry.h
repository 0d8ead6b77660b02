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
// Thread-safe. NOT_FOUND / INVALID_ARGUMENT ("No OpKernel was registered to support Op ...") names
// op, device and types.
LEAT_MUST_USE leat_status_t leat_kernel_registry_find(const leat_kernel_registry_t* registry,
                                                      const leat_op_t* op,
                                                      const leat_attr_t* attrs, int attr_count,
                                                      leat_string_view_t device_type,
                                                      const leat_kernel_row_t** out_row);
// Rows of one op ("" = all), in registration order: calls |fn| for each.
typedef leat_status_t (*leat_kernel_row_fn_t)(void* data, const leat_kernel_row_t* row);
LEAT_MUST_USE leat_status_t leat_kernel_registry_each(const leat_kernel_registry_t* registry,
                                                      leat_string_view_t op,
                                                      leat_kernel_row_fn_t fn, void* data);

#endif  // LEAT_KERNEL_REGISTRY_H_
