// The header in which TensorFlow keeps the layout of TF_TString. Programs that are written against
// its installation (cppflow and tfjs-node are two) include it by this path; here it gives them the
// string of tensorflow/c/tf_tstring.h, and the four small functions that TensorFlow's has besides.
#ifndef TENSORFLOW_CORE_PLATFORM_CTSTRING_INTERNAL_H_
#define TENSORFLOW_CORE_PLATFORM_CTSTRING_INTERNAL_H_

#include <stddef.h>
#include <stdint.h>

#include "tensorflow/c/tf_tstring.h"

// The next multiple of 16 that is not below |size|.
static inline size_t TF_align16(size_t size) { return (size + 15) / 16 * 16; }

static inline size_t TF_max(size_t a, size_t b) { return b < a ? a : b; }
static inline size_t TF_min(size_t a, size_t b) { return b < a ? b : a; }

// |word| with its four bytes in the reverse order.
static inline uint32_t TF_swap32(uint32_t word) {
  word = (word & 0x00ff00ffu) << 8 | (word >> 8 & 0x00ff00ffu);
  return word << 16 | word >> 16;
}

#endif  // TENSORFLOW_CORE_PLATFORM_CTSTRING_INTERNAL_H_
