// Values as they are written on a command line.
#ifndef LEAT_TOOLS_LITERAL_H_
#define LEAT_TOOLS_LITERAL_H_

#include "tensorflow/c/c_api.h"

// "3.5", "[[1, 2], [3, 4]]", "true", "1+2j", "\"text\"" (quotes may be left out where no bracket,
// comma or blank is in it) as a tensor of |dtype|. NULL with |status| set when it is none.
TF_Tensor* literal_parse(const char* text, TF_DataType dtype, TF_Status* status);

#endif  // LEAT_TOOLS_LITERAL_H_
