// The machine that this process runs on.
#ifndef LEAT_BASE_HOST_H_
#define LEAT_BASE_HOST_H_

#include <stdbool.h>
#include <stddef.h>

// Its name, NUL-terminated, cut off at |size| (> 0); "localhost" when it has none.
void leat_host_name(char* buffer, size_t size);

// Asks the system to let the threads of this process use the matrix unit's registers (8 KiB, saved
// with a thread only after it used them).
bool leat_host_permits_tiles(void);

#endif  // LEAT_BASE_HOST_H_
