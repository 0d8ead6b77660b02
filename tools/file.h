// Whole files.
#ifndef LEAT_TOOLS_FILE_H_
#define LEAT_TOOLS_FILE_H_

#include "tensorflow/c/c_api.h"

// The bytes of a file; the caller deletes the buffer. NULL with |status| set (it names the file).
TF_Buffer* file_read(const char* path, TF_Status* status);
// Writes a file whole; what was begun and failed is removed.
void file_write(const char* path, const void* data, size_t size, TF_Status* status);
// Sets |status| from errno, "<path>; <what the system says>".
void file_failed(const char* path, TF_Status* status);

#endif  // LEAT_TOOLS_FILE_H_
