// Reads and writes numpy's .npy files, of one array each, for the values that users feed and fetch
// on the command line:
//
//     \x93NUMPY | major, minor | header size | header: a Python dict, padded to 64 bytes | elements
//
// The header size has two bytes in version 1 and four in versions 2 and 3, which are read as well;
// version 1 is written. The header is not parsed as Python: its three keys (descr, fortran_order,
// shape) are searched for, since numpy always writes them in the same form. Arrays of records and
// arrays in Fortran's order are refused. Sizes are checked against the length of the file before
// anything is allocated, so that a damaged header cannot ask for more memory than the file could
// fill.
#include "npy.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "element.h"
#include "file.h"

#define MAX_RANK 32
#define PREFIX 10  // magic, version, and the header size of version 1

static void wrong(const char* path, const char* what, TF_Status* status) {
  char message[512];
  snprintf(message, sizeof message, "%s: %s", path, what);
  TF_SetStatus(status, TF_INVALID_ARGUMENT, message);
}

// Returns what follows "'<key>':" in the header, or NULL.
static const char* find_key(const char* header, const char* key) {
  char quoted[32];
  snprintf(quoted, sizeof quoted, "'%s':", key);
  const char* at = strstr(header, quoted);
  if (!at) return NULL;
  at += strlen(quoted);
  return at + strspn(at, " ");
}

// Parses a shape such as "(2, 3)". Returns the rank, or -1.
static int parse_shape(const char* at, int64_t dims[MAX_RANK]) {
  int rank = 0;
  if (*at++ != '(') return -1;
  for (;;) {
    at += strspn(at, " ,");
    if (*at == ')') return rank;
    char* end;
    long long size = strtoll(at, &end, 10);
    if (end == at || size < 0 || rank == MAX_RANK) return -1;
    dims[rank++] = size;
    at = end + (*end == 'L');
  }
}

// Makes the tensor from the header and the |size| bytes that follow it.
static TF_Tensor* make_tensor(const char* path, const char* header, const char* data, size_t size,
                              TF_Status* status) {
  const char* descr = find_key(header, "descr");
  const char* order = find_key(header, "fortran_order");
  const char* shape = find_key(header, "shape");
  int64_t dims[MAX_RANK];
  int rank = shape ? parse_shape(shape, dims) : -1;
  if (!descr || *descr != '\'' || !order || rank < 0) {
    wrong(path, "the header is not that of an array of numbers", status);
    return NULL;
  }
  ++descr;
  const element_type_t* type = element_type_of_numpy(descr, strcspn(descr, "'"));
  if (!type || !strncmp(order, "True", 4)) {
    wrong(path, type ? "the array is in Fortran's order, must be in C's"
                     : "the type of the array is none of a tensor's", status);
    return NULL;
  }
  size_t needed = (size_t)type->size;
  for (int i = 0; i < rank; ++i) {
    if (__builtin_mul_overflow(needed, (size_t)dims[i], &needed)) needed = SIZE_MAX / 2;
  }
  if (needed > size) {
    wrong(path, "the file ends before the array does", status);
    return NULL;
  }
  TF_Tensor* tensor = TF_AllocateTensor(type->dtype, dims, rank, needed);
  if (tensor && needed) memcpy(TF_TensorData(tensor), data, needed);
  if (!tensor) TF_SetStatus(status, TF_RESOURCE_EXHAUSTED, "no memory for an array");
  return tensor;
}

TF_Tensor* npy_parse(const char* path, const void* data, size_t length, TF_Status* status) {
  const unsigned char* bytes = data;
  TF_Tensor* tensor = NULL;
  size_t begin = PREFIX, size = 0;
  if (length >= PREFIX + 2 && !memcmp(bytes, "\x93NUMPY", 6)) {
    size = bytes[8] | (size_t)bytes[9] << 8;
    if (bytes[6] > 1) {
      size |= (size_t)bytes[10] << 16 | (size_t)bytes[11] << 24;
      begin += 2;
    }
  }
  char* header = size && begin + size <= length
                     ? strndup((const char*)bytes + begin, size)
                     : NULL;
  if (header) {
    tensor = make_tensor(path, header, (const char*)bytes + begin + size,
                         length - begin - size, status);
  } else {
    wrong(path, "this is no .npy file", status);
  }
  free(header);
  return tensor;
}

TF_Tensor* npy_read(const char* path, TF_Status* status) {
  TF_Buffer* file = file_read(path, status);
  TF_Tensor* tensor = file ? npy_parse(path, file->data, file->length, status) : NULL;
  TF_DeleteBuffer(file);
  return tensor;
}

// Writes the header to |header| and returns its size. |size| is 64 less than the room, which is
// what the padding may take.
static int format_header(char* header, size_t size, const TF_Tensor* tensor, const char* descr) {
  int rank = TF_NumDims(tensor);
  int used = snprintf(header, size, "{'descr': '%s', 'fortran_order': False, 'shape': (", descr);
  for (int i = 0; i < rank && (size_t)used < size; ++i) {
    used += snprintf(header + used, size - (size_t)used, "%lld,%s", (long long)TF_Dim(tensor, i),
                     i + 1 < rank ? " " : "");
  }
  used += snprintf(header + used, size - (size_t)used, "), }");
  // The whole header is padded with blanks to a multiple of 64 and ends with a line's end.
  while ((PREFIX + used + 1) % 64) header[used++] = ' ';
  header[used++] = '\n';
  return used;
}

void npy_write(const char* path, const TF_Tensor* tensor, TF_Status* status) {
  char header[2048];
  const element_type_t* type = element_type_of(TF_TensorType(tensor));
  if (!type || !type->numpy || TF_NumDims(tensor) > MAX_RANK) {
    snprintf(header, sizeof header, "%s: numpy has no arrays of %s", path,
             element_type_name(TF_TensorType(tensor)));
    TF_SetStatus(status, TF_UNIMPLEMENTED, header);
    return;
  }
  FILE* file = fopen(path, "wb");
  if (!file) {
    file_failed(path, status);
    return;
  }
  int size = format_header(header, sizeof header - 64, tensor, type->numpy);
  unsigned char prefix[PREFIX] = {0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0,
                                  (unsigned char)(size & 255), (unsigned char)(size >> 8)};
  size_t bytes = TF_TensorByteSize(tensor);
  bool ok = fwrite(prefix, 1, PREFIX, file) == PREFIX &&
            fwrite(header, 1, (size_t)size, file) == (size_t)size &&
            (bytes == 0 || fwrite(TF_TensorData(tensor), 1, bytes, file) == bytes);
  if (fclose(file) || !ok) file_failed(path, status);
}
