// TensorFlow's other path to TF_TString, for programs that name it. The string and its functions
// are declared in tensorflow/c/tf_tstring.h, and nowhere else.
#ifndef TENSORFLOW_CORE_PLATFORM_CTSTRING_H_
#define TENSORFLOW_CORE_PLATFORM_CTSTRING_H_

#include "tensorflow/c/tf_tstring.h"

#endif  // TENSORFLOW_CORE_PLATFORM_CTSTRING_H_
