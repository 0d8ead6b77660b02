// Prints the elements of a tensor for messages to people: "1 2 3...", "[1 2][3 4]".
#ifndef LEAT_TENSOR_TENSOR_PRINT_H_
#define LEAT_TENSOR_TENSOR_PRINT_H_

#include "base/string_builder.h"
#include "tensor/tensor.h"

// Appends up to |max_elements| (all when negative), as TensorFlow's Assert and Print do: floats
// with as few digits as tell them apart, bools as 1 and 0, strings escaped.
void leat_tensor_print_elements(const leat_tensor_t* tensor, int64_t max_elements,
                                leat_string_builder_t* out);
// All dimensions in brackets, of each the first and last |ends| items (all when negative) with
// "..." between them, as TensorFlow's StringFormat does it; strings in quotes.
void leat_tensor_print_ends(const leat_tensor_t* tensor, int64_t ends, leat_string_builder_t* out);

#endif  // LEAT_TENSOR_TENSOR_PRINT_H_
