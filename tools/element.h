// Elements of tensors: their types by name, and single values in and out of memory.
#ifndef LEAT_TOOLS_ELEMENT_H_
#define LEAT_TOOLS_ELEMENT_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tensorflow/c/c_api.h"

typedef struct element_type_s {
  TF_DataType dtype;
  const char* name;   // TensorFlow's
  char kind;          // f real, i integer, u unsigned, b bool, c complex, s string
  int size;           // bytes
  const char* numpy;  // "<f4"; NULL when numpy has no such type
} element_type_t;

// NULL for types without values of their own (resource, variant, four bits).
const element_type_t* element_type_of(TF_DataType dtype);
const element_type_t* element_type_of_numpy(const char* description, size_t size);
// "float"; "type 21" for a number without a name.
const char* element_type_name(TF_DataType dtype);

// Reals (bool and integers too), in double.
double element_real(const element_type_t* type, const void* element);
double element_imaginary(const element_type_t* type, const void* element);
int64_t element_integer(const element_type_t* type, const void* element);  // unsigned: the bits
// Rounds |value| into an element of kind f.
void element_set_real(const element_type_t* type, void* element, double value);
// true when |a|, read from text, is nearest to the element whose value is |b|.
bool element_reads_back(const element_type_t* type, double a, double b);

#endif  // LEAT_TOOLS_ELEMENT_H_
