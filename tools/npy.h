// Reads and writes numpy's .npy files.
#ifndef LEAT_TOOLS_NPY_H_
#define LEAT_TOOLS_NPY_H_

#include "tensorflow/c/c_api.h"

// Returns NULL with |status| set: NOT_FOUND, or INVALID_ARGUMENT where the file is no .npy file, is
// in Fortran order, or has a type that tensors do not have.
TF_Tensor* npy_read(const char* path, TF_Status* status);
// The same of |length| bytes that are such a file; |path| is for messages.
TF_Tensor* npy_parse(const char* path, const void* data, size_t length, TF_Status* status);
// Writes the tensor. UNIMPLEMENTED for types that numpy does not have: strings, bfloat16, quantized
// types.
void npy_write(const char* path, const TF_Tensor* tensor, TF_Status* status);

#endif  // LEAT_TOOLS_NPY_H_
