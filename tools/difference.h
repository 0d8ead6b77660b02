// How two tensors differ.
#ifndef LEAT_TOOLS_DIFFERENCE_H_
#define LEAT_TOOLS_DIFFERENCE_H_

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "tensorflow/c/c_api.h"

typedef enum difference_kind_e {
  DIFFERENCE_NONE,
  DIFFERENCE_TYPE,
  DIFFERENCE_SHAPE,
  DIFFERENCE_VALUE,
} difference_kind_t;

// Two elements a and b are equal where |a - b| <= relative * max(|a|, |b|) + absolute. A negative
// number is a choice by the type: 1e-2 for numbers of 16 bits and less, 1e-4 for float, 1e-8 for
// double, and a hundredth of that for the absolute one. Integers, bools and strings must be the
// same. NaN equals NaN, and an infinity itself.
typedef struct tolerance_s {
  double relative, absolute;
} tolerance_t;

typedef struct difference_s {
  difference_kind_t kind;
  double largest;    // |a - b|, infinite where only one of them is NaN; 0 for strings
  int64_t place;     // the element where it is, or the first string that differs
  int64_t count;     // of the elements that are not equal
  int64_t elements;
} difference_t;

// Compares tensors of any types. Types without values that can be looked at are never equal.
difference_t difference_between(const TF_Tensor* a, const TF_Tensor* b, tolerance_t tolerance);
// Prints element |place| of a tensor, and its indices: "[2, 0]".
void difference_print_element(FILE* out, const TF_Tensor* tensor, int64_t place);
void difference_print_place(FILE* out, const TF_Tensor* tensor, int64_t place);

#endif  // LEAT_TOOLS_DIFFERENCE_H_
