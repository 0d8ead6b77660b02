// The types of tensors' elements by name, and single elements in and out of memory.
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

// NULL for types without values that can be written: resources, variants, four-bit integers,
// references.
const element_type_t* element_type_of(TF_DataType dtype);
// |description| is numpy's, such as "<f4", of |size| characters. NULL where no type fits.
const element_type_t* element_type_of_numpy(const char* description, size_t size);
// The type's name, "float"; "type 21" for a number without one. Such a text lies in a buffer of the
// thread, until the next call.
const char* element_type_name(TF_DataType dtype);

// The element as a double; booleans and integers too. Of a complex number, its real part.
double element_real(const element_type_t* type, const void* element);
double element_imaginary(const element_type_t* type, const void* element);
// extended to 64 bits; of uint64, its bits
int64_t element_integer(const element_type_t* type, const void* element);
// Writes |value|, rounded, to an element of kind 'f'.
void element_set_real(const element_type_t* type, void* element, double value);
// True when |a|, which was read from text, is rounded to the same element as |b|.
bool element_reads_back(const element_type_t* type, double a, double b);

#endif  // LEAT_TOOLS_ELEMENT_H_
