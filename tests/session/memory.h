// CPU devices that each have memory of their own, counted and limited, as accelerators have: what
// kernels of a device allocate comes from there, and a value that is received is copied into it.
#ifndef LEAT_TESTS_SESSION_MEMORY_H_
#define LEAT_TESTS_SESSION_MEMORY_H_

#include "session/scene.h"

enum { kMemoryDevices = 8 };

// Before the first session of |scene|; forgets what was counted before.
void memory_open(scene_t* scene);
void memory_limit(int device, size_t bytes);  // 0: none
size_t memory_peak(int device);               // since the last call, or since memory_open
size_t memory_used(int device);

#endif  // LEAT_TESTS_SESSION_MEMORY_H_
