// Features of Example messages as they lie in the encoded bytes: nothing is unpacked but values.
#ifndef LEAT_OPS_INPUT_FEATURE_CPU_H_
#define LEAT_OPS_INPUT_FEATURE_CPU_H_

#include "base/status.h"
#include "base/string_view.h"

typedef struct leat_feature_s {
  int dtype;                // string, float or int64; 0: none was set
  leat_string_view_t list;  // its encoded values
} leat_feature_t;

// Takes the next field of |*rest| that has bytes (a string, a message): its |*out_number| is 0 at
// the end. false when the bytes break a rule.
bool leat_field_next(leat_string_view_t* rest, uint32_t* out_number, leat_string_view_t* out_bytes);
// A Feature message. false when it is none.
bool leat_feature_read(leat_string_view_t bytes, leat_feature_t* out_feature);
// false when the values are malformed.
bool leat_feature_count(const leat_feature_t* feature, int64_t* out_count);
// Writes the values that were counted to |out_values|, elements of a tensor.
LEAT_MUST_USE leat_status_t leat_feature_copy(const leat_feature_t* feature, void* out_values);

#endif  // LEAT_OPS_INPUT_FEATURE_CPU_H_
