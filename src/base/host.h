// The machine that this process runs on.
#ifndef LEAT_BASE_HOST_H_
#define LEAT_BASE_HOST_H_

#include <stddef.h>

// Its name, NUL-terminated, cut off at |size| (> 0); "localhost" when it has none.
void leat_host_name(char* buffer, size_t size);

#endif  // LEAT_BASE_HOST_H_
