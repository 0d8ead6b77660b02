// Features of Example messages as they lie in the serialized bytes: a feature is a view of its
// encoded list, and only its values are ever decoded.
#ifndef LEAT_OPS_INPUT_FEATURE_CPU_H_
#define LEAT_OPS_INPUT_FEATURE_CPU_H_

#include "base/status.h"
#include "base/string_view.h"

typedef struct leat_feature_s {
  int dtype;                // string, float or int64; 0: the feature has no list
  leat_string_view_t list;  // the encoded list message
} leat_feature_t;

// Takes the next field of |*rest| that holds bytes, a string or a message; other fields are
// skipped. |*out_number| is 0 at the end. Returns false where the bytes are malformed.
bool leat_field_next(leat_string_view_t* rest, uint32_t* out_number, leat_string_view_t* out_bytes);
// Reads a Feature message. Returns false where |bytes| are not one.
bool leat_feature_read(leat_string_view_t bytes, leat_feature_t* out_feature);
// Counts the values of |feature|. Returns false where they are malformed.
bool leat_feature_count(const leat_feature_t* feature, int64_t* out_count);
// Copies the values, which leat_feature_count has counted and checked, to the elements of a tensor
// from |out_values| on. Strings are copied, so that this may fail for want of memory.
LEAT_MUST_USE leat_status_t leat_feature_copy(const leat_feature_t* feature, void* out_values);

#endif  // LEAT_OPS_INPUT_FEATURE_CPU_H_
