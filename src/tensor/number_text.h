// Reads numbers from text, for the ops that parse strings and CSV files.
#ifndef LEAT_TENSOR_NUMBER_TEXT_H_
#define LEAT_TENSOR_NUMBER_TEXT_H_

#include "base/string_view.h"

// Reads the whole of |text|, but for spaces around it, as a number of a type among float, double,
// int32, int64, uint32 and uint64. Integers are decimal; floats may be all that C reads: "1.5e3",
// "0x1F", "inf". false when it is none or does not fit; a fraction that is too large is
// infinite.
bool leat_number_parse(leat_string_view_t text, int dtype, void* out_value);

#endif  // LEAT_TENSOR_NUMBER_TEXT_H_
