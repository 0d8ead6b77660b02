// Encodings whose byte order is the order of the values: keys of slices in checkpoints.
//
//   uint64  u8 size, then the bytes, most significant first, without leading zeros
//   string  its bytes, 00 as 00 ff and ff as ff 00, then 00 01
//   int64   1 to 10 bytes, most significant first; as many leading bits equal to the inverted sign
//           bit as bytes, as in UTF-8
#ifndef LEAT_FORMATS_CHECKPOINT_ORDERED_CODE_H_
#define LEAT_FORMATS_CHECKPOINT_ORDERED_CODE_H_

#include "base/string_builder.h"

void leat_ordered_code_append_uint64(leat_string_builder_t* out, uint64_t value);
void leat_ordered_code_append_string(leat_string_builder_t* out, leat_string_view_t string);
void leat_ordered_code_append_int64(leat_string_builder_t* out, int64_t value);

// Each takes one value from the front of |*inout_code|; false when there is none.
bool leat_ordered_code_read_uint64(leat_string_view_t* inout_code, uint64_t* out_value);
// Appends the string to |out|.
bool leat_ordered_code_read_string(leat_string_view_t* inout_code, leat_string_builder_t* out);
bool leat_ordered_code_read_int64(leat_string_view_t* inout_code, int64_t* out_value);

#endif  // LEAT_FORMATS_CHECKPOINT_ORDERED_CODE_H_
