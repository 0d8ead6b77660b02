// The message of the kernel registry when no row serves a node, in TensorFlow's words.
#ifndef LEAT_KERNEL_REGISTRY_MESSAGE_H_
#define LEAT_KERNEL_REGISTRY_MESSAGE_H_

#include "kernel/registry.h"

// NOT_FOUND. |has_device|: rows for this kind of device exist, but their constraints refuse.
LEAT_MUST_USE leat_status_t leat_kernel_message_not_found(const leat_kernel_registry_t* registry,
                                                          const leat_op_t* op,
                                                          const leat_attr_t* attrs, int attr_count,
                                                          leat_string_view_t device_type,
                                                          bool has_device);

#endif  // LEAT_KERNEL_REGISTRY_MESSAGE_H_
