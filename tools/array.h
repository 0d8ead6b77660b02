// Prints tensors for people and for programs.
#ifndef LEAT_TOOLS_ARRAY_H_
#define LEAT_TOOLS_ARRAY_H_

#include <stdio.h>

#include "tensorflow/c/c_api.h"

// Prints the tensor as numpy prints arrays, and a line's end: aligned, wrapped at 75 columns, with
// the middle of more than 1,000 elements left out.
void array_print(FILE* out, const TF_Tensor* tensor);
// Prints {"dtype": "float", "shape": [2], "value": [1, 2]}; numbers that are not finite are null.
void array_print_json(FILE* out, const TF_Tensor* tensor);
// Prints the type and shape: "float (2, 3)".
void array_print_type(FILE* out, const TF_Tensor* tensor);

#endif  // LEAT_TOOLS_ARRAY_H_
