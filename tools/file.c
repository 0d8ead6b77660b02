// Reads and writes whole files with the C library, and reports failures with the file's name.
#include "file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static void free_block(void* data, size_t length) { free(data); }

void file_failed(const char* path, TF_Status* status) {
  TF_SetStatusFromIOError(status, errno ? errno : EIO, path);
}

// Grows the buffer as it reads, because a pipe does not know its size. NULL when there is no
// memory.
static char* read_all(FILE* file, size_t* out_size) {
  size_t size = 0, capacity = 1 << 16;
  char* data = malloc(capacity);
  while (data) {
    size += fread(data + size, 1, capacity - size, file);
    if (size < capacity) break;
    capacity *= 2;
    char* grown = realloc(data, capacity);
    if (!grown) free(data);
    data = grown;
  }
  *out_size = size;
  return data;
}

TF_Buffer* file_read(const char* path, TF_Status* status) {
  struct stat about;
  FILE* file = fopen(path, "rb");
  if (!file) {
    file_failed(path, status);
    return NULL;
  }
  if (fstat(fileno(file), &about) == 0 && S_ISDIR(about.st_mode)) {
    errno = EISDIR;
    file_failed(path, status);
    fclose(file);
    return NULL;
  }
  size_t size;
  char* data = read_all(file, &size);
  TF_Buffer* buffer = data && !ferror(file) ? TF_NewBuffer() : NULL;
  if (buffer) {
    *buffer = (TF_Buffer){data, size, free_block};
  } else {
    file_failed(path, status);
    free(data);
  }
  fclose(file);
  return buffer;
}

void file_write(const char* path, const void* data, size_t size, TF_Status* status) {
  FILE* file = fopen(path, "wb");
  if (!file) {
    file_failed(path, status);
    return;
  }
  int wrote = fwrite(data, 1, size, file) == size;
  if (fclose(file) || !wrote) {
    file_failed(path, status);
    remove(path);
  }
}
