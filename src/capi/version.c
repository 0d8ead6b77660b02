// Which TensorFlow this library stands in for.
#include "tensorflow/c/c_api.h"

const char* TF_Version(void) { return "2.21.0"; }
