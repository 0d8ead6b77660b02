// Reads and writes whole files.
#ifndef LEAT_TOOLS_FILE_H_
#define LEAT_TOOLS_FILE_H_

#include "tensorflow/c/c_api.h"

// Returns the bytes of a file, which the caller deletes; NULL with |status| set, which names the
// file.
TF_Buffer* file_read(const char* path, TF_Status* status);
// Writes a file as a whole. A file that could not be written completely is removed.
void file_write(const char* path, const void* data, size_t size, TF_Status* status);
// Sets |status| from errno to "<path>; <what the system says>".
void file_failed(const char* path, TF_Status* status);

#endif  // LEAT_TOOLS_FILE_H_
