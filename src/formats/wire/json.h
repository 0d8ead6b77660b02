// JSON written piece by piece into a string builder; the caller puts the braces and commas. The
// descriptions that the library gives of itself (ops, placements, the doctor's report) are written
// with it. A failure stays in the builder until it is finished.
#ifndef LEAT_FORMATS_WIRE_JSON_H_
#define LEAT_FORMATS_WIRE_JSON_H_

#include "base/string_builder.h"

// |text| in quotes. Bytes that are no UTF-8 become \u0080 to \u00ff, one each.
void leat_json_append_string(leat_string_builder_t* out, leat_string_view_t text);
// null when not finite: JSON has no such numbers.
void leat_json_append_number(leat_string_builder_t* out, double value);

#endif  // LEAT_FORMATS_WIRE_JSON_H_
