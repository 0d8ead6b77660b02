// Values as they are written on a command line.
#ifndef LEAT_TOOLS_LITERAL_H_
#define LEAT_TOOLS_LITERAL_H_

#include "tensorflow/c/c_api.h"

// Parses "3.5", "[[1, 2], [3, 4]]", "true", "1+2j" or "\"text\"" into a tensor of |dtype|. Quotes
// may be left out where a text has no bracket, comma or blank. Returns NULL with |status| set where
// |text| is not such a value.
TF_Tensor* literal_parse(const char* text, TF_DataType dtype, TF_Status* status);

#endif  // LEAT_TOOLS_LITERAL_H_
