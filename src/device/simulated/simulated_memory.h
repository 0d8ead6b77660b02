// Memory of a simulated device: an address space of its own with a limit. Every byte has two
// addresses: the device's, which the host cannot touch (a fault, so that a test sees it), and the
// one that the device's own threads compute with.
//
//   device address   what tensors on edges carry; its pages are forbidden
//        │ + distance
//        ▼
//   inner address    what kernels see on the device's streams
//
// Freed blocks are filled with a pattern. The memory lives as long as its owner or a buffer in it.
#ifndef LEAT_DEVICE_SIMULATED_SIMULATED_MEMORY_H_
#define LEAT_DEVICE_SIMULATED_SIMULATED_MEMORY_H_

#include "tensor/tensor.h"

typedef struct leat_simulated_memory_s leat_simulated_memory_t;
LEAT_MUST_USE leat_status_t leat_simulated_memory_create(size_t limit_bytes,
                                                         leat_allocator_t* allocator,
                                                         leat_simulated_memory_t** out_memory);
void leat_simulated_memory_release(leat_simulated_memory_t* memory);  // NULL is allowed
// RESOURCE_EXHAUSTED beyond the limit. Buffers with device addresses; with inner ones.
leat_buffer_source_t* leat_simulated_memory_outer(leat_simulated_memory_t* memory);
leat_buffer_source_t* leat_simulated_memory_inner(leat_simulated_memory_t* memory);
// The tensor's address as the other side sees it; one of other memory stays as it is.
void leat_simulated_memory_enter(const leat_simulated_memory_t* memory, leat_tensor_t* tensor);
void leat_simulated_memory_leave(const leat_simulated_memory_t* memory, leat_tensor_t* tensor);
size_t leat_simulated_memory_used(leat_simulated_memory_t* memory);

#endif  // LEAT_DEVICE_SIMULATED_SIMULATED_MEMORY_H_
