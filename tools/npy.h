// numpy's .npy files: a magic, a header that is a Python dictionary, the elements.
#ifndef LEAT_TOOLS_NPY_H_
#define LEAT_TOOLS_NPY_H_

#include "tensorflow/c/c_api.h"

// NULL with |status| set: NOT_FOUND, INVALID_ARGUMENT for what is no such file, is in Fortran's
// order or of a type that tensors do not have.
TF_Tensor* npy_read(const char* path, TF_Status* status);
// UNIMPLEMENTED for types that numpy does not have (string, bfloat16, quantised).
void npy_write(const char* path, const TF_Tensor* tensor, TF_Status* status);

#endif  // LEAT_TOOLS_NPY_H_
